#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>

#include "support/random.h"
#include "support/tensor.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

TEST_CASE("popcount counts the bits of each integer type, and no sign bits beyond",
          "[codegen_cuda][nvrtc]") {
  constexpr int64_t kCount = 64;
  for (const char* name : {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}) {
    INFO(name);
    const DType type = *ParseDType(name);
    const Function fn = MustParse(fmt::format(R"(
fn ones(X: {0}[64], Y: {0}[64]) lowered {{
  for i in 0..64 threadIdx.x {{ Y[i] = popcount(X[i]) }}
}})",
                                              name));
    Random random(3);
    std::vector<Tensor> arguments(2, MakeZeroTensor(type, {kCount}));
    std::vector<int64_t> want;
    for (int64_t i = 0; i < kCount; ++i) {
      const auto bits = static_cast<int64_t>(random.Next() >> (64 - type.bits()));
      SetElementInt(arguments[0], i, i == 0 ? -1 : bits);
      want.push_back(i == 0 ? type.bits() : std::popcount(static_cast<uint64_t>(bits)));
    }
    const Status status = RunEmulated(fn, GpuTarget("sm_86"), arguments);
    INFO(Message(status));
    REQUIRE(status.ok());
    for (int64_t i = 0; i < kCount; ++i) CHECK(ElementAsInt(arguments[1], i) == want[i]);
    MustCompile(SourceOf({fn}));
  }
}
