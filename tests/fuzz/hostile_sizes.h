#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/tcc_c.h"
#include "runtime/executor/executor.h"
#include "support/random.h"

namespace tcc {

// Artefacts with free dimensions, run on inputs whose sizes are nothing that a run may have.
class HostileSizes {
 public:
  static StatusOr<HostileSizes> Make();

  // Runs one of them by the executor or by the C API. The refusal; OK if the sizes happen to be
  // ones that fit. Error DataLoss: a refused run wrote to an output.
  Status Try(Random& random);

 private:
  std::vector<Executor> executors_;
  std::vector<uint8_t> file_;  // of `module_`
  std::shared_ptr<tcc_module> module_;
};

}  // namespace tcc
