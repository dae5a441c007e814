#pragma once

#include <vector>

#include "ir/expr/function.h"
#include "tests/fuzz/fuzz.h"

namespace tcc {

// The first functions of a run, whose text NVRTC compiles in the end for every GPU that can have
// them.
class NvrtcSample {
 public:
  explicit NvrtcSample(size_t most) : most_(most) {}

  // A scheduled function that the emulator has run.
  void Add(const Function& scheduled);

  // Compiles them, and counts the kernels for each target in the histogram; a text that NVRTC
  // refuses is a failure, and so is a target that none of a full sample fits. Where there is no
  // NVRTC, or a smaller sample has nothing for a target, a line says so.
  void Check(FuzzResult& result) const;

 private:
  size_t most_;
  std::vector<Function> lowered_;
};

}  // namespace tcc
