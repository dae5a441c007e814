#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/vdla/vdla_isa.h"

namespace tcc {

// The micro-ops of a program. Equal lists share their place.
class MicroOpLists {
 public:
  // Returns the number of the first micro-op of a list.
  uint32_t Place(const std::vector<VdlaMicroOp>& list);
  std::vector<VdlaMicroOp> Take() && { return std::move(all_); }

 private:
  std::vector<VdlaMicroOp> all_;
  std::map<std::vector<std::array<uint32_t, 3>>, uint32_t> first_;
};

// The micro-ops that a nest of loops runs, each with the values of the loops that enclose all.
struct LoopedMicroOps {
  size_t loops = 0;
  std::vector<int64_t> values;  // `loops` for each micro-op
  std::vector<VdlaMicroOp> micro_ops;
};

// Returns an instruction that runs the micro-ops, at least one, in any order. The two loops with
// the most iterations for which that works become the hardware's, so that few micro-ops are left.
VdlaGemm FoldGemm(const LoopedMicroOps& nest, MicroOpLists& lists);

}  // namespace tcc
