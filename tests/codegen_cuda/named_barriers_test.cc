#include "codegen_cuda/text/named_barriers.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/codegen_cuda/as_interpreted.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// Two warps turn a row round through shared memory, another copies its part.
std::string Roles(const std::string& barrier, const std::string& of_other = "") {
  return fmt::format(R"(
fn turn(X: f32[96], Y: f32[96]) lowered {{
  for b in 0..1 blockIdx.x {{
    alloc T: f32[64] shared
    for t in 0..96 threadIdx.x {{
      role(0, 2) {{
        T[t] = X[t]
        {}
        Y[t] = T[63 - t]
      }}
      role(2, 1) {{
        Y[t] = X[t]
        {}
      }}
    }}
  }}
}})",
                     barrier, of_other);
}

std::string TextOf(const std::string& function) {
  return SourceOf({MustParse(function)}).text;
}

std::string RefusalOf(const std::string& function) {
  Function fn = MustParse(function);
  StatusOr<CudaSource> source = EmitCuda({&fn, 1}, GpuTarget("sm_86"));
  REQUIRE_FALSE(source.ok());
  CHECK(source.status().code() == absl::StatusCode::kUnimplemented);
  return Message(source.status());
}

}  // namespace

// They waited for all threads of the block, some of which never came.
TEST_CASE("a named barrier in a role is of the role's warps", "[codegen_cuda]") {
  const std::string roles = Roles("barrier(shared, 3)");
  CHECK(TextOf(roles).find("tcc_named_barrier<3, 64>();") != std::string::npos);
  CheckAsInterpreted(roles);
}

TEST_CASE("a named barrier is of all roles that hold it", "[codegen_cuda]") {
  const std::string both = Roles("barrier(shared, 3)", "barrier(shared, 3)");
  CHECK(TextOf(both).find("tcc_named_barrier<3, 96>();") != std::string::npos);
  CheckAsInterpreted(both);
}

TEST_CASE("named barriers compile for every GPU", "[codegen_cuda][nvrtc]") {
  for (const std::string& target : GpuTargets()) {
    INFO(target);
    MustCompile(SourceOf({MustParse(Roles("barrier(shared, 3)"))}, target), target);
  }
}

TEST_CASE("barriers that would wait for ever are refused", "[codegen_cuda]") {
  CHECK(RefusalOf(Roles("barrier(shared)")) ==
        "kernel 'turn': a barrier of all threads stands in a role of some warps; expected a named "
        "one");
  CHECK(RefusalOf(Roles("barrier(shared, 16)")) ==
        "kernel 'turn': a barrier has number 16; a GPU has 0 to 15");
  std::string outside = Roles("barrier(shared, 1)");
  outside.replace(outside.find("role(2, 1)"), 10, "role(2, 2)");
  CHECK(RefusalOf(outside) == "kernel 'turn': a role has warps 2 to 3; the block has 3");
}
