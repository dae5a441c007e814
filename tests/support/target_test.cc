#include "support/target.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace tcc {

TEST_CASE("The largest shared memory of a GPU target is CUDA's limit", "[support]") {
  int64_t most = 0;
  for (const Target& target : AllTargets()) {
    CHECK((target.kind == TargetKind::kGpu) == (target.limits.max_threads > 0));
    most = std::max(most, target.shared_bytes);
  }
  CHECK(most == kCudaLimits.max_shared_bytes);
}

}  // namespace tcc
