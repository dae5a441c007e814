#include "codegen_llvm/left_out_lanes.h"

#include "ir/expr/visitor.h"
#include "ir/text/parser.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

// Rows of 6 columns as a vector of 4 and half of another, stored and read with these masks.
Function Tail(const std::string& stored, const std::string& read) {
  StatusOr<Function> fn = ParseFunction(fmt::format(R"(
    fn f(A: f32[48], C: f32[12], n: i64[1]) lowered {{
      for o in 0..2 {{
        alloc s: f32[8] local
        s[ramp(0, 1, 4)] = broadcast(0.0, 4)
        s[ramp(4, 1, 4)] = broadcast(0.0, 4) mask {0}
        for k in 0..4 {{
          s[ramp(0, 1, 4)] = s[ramp(0, 1, 4)] + A[ramp(k * 6 + o * 24, 1, 4)]
          s[ramp(4, 1, 4)] = s[ramp(4, 1, 4)] + A[ramp(k * 6 + o * 24 + 4, 1, 4)] mask {0}
        }}
        C[ramp(o * 6, 1, 4)] = s[ramp(0, 1, 4)]
        C[ramp(o * 6 + 4, 1, 4)] = s[ramp(4, 1, 4)] mask {1}
      }}
    }})",
                                                    stored, read));
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

bool Reads(const Function& fn) {
  std::optional<bool> reads;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* allocate = stmt.as<Allocate>()) {
      reads = ReadsLeftOutLanes(allocate->body, allocate->buffer.var);
    }
  });
  return reads.value();
}

const std::string kFirstTwo = "ramp(4, 1, 4) < broadcast(6, 4)";

TEST_CASE("lanes that a mask leaves out at every access are never read", "[codegen_llvm][lanes]") {
  CHECK(!Reads(Tail(kFirstTwo, kFirstTwo)));
  CHECK(!Reads(Tail(kFirstTwo, "ramp(0, 1, 4) < broadcast(1, 4)")));
}

TEST_CASE("a lane that is read where it was left out keeps its value", "[codegen_llvm][lanes]") {
  CHECK(Reads(Tail(kFirstTwo, "ramp(4, 1, 4) < broadcast(7, 4)")));
  const std::string by_tile = "ramp(o * 8 + 4, 1, 4) < broadcast(14, 4)";
  CHECK(!Reads(Tail(by_tile, by_tile)));
  CHECK(Reads(Tail(by_tile, kFirstTwo)));
  const std::string by_memory = "ramp(4, 1, 4) < broadcast(n[0], 4)";
  CHECK(Reads(Tail(by_memory, by_memory)));
  CHECK(Reads(Tail(by_tile, "ramp(o * 8 + 4, 1, 4) < broadcast(15, 4)")));
}

TEST_CASE("sums of a masked tail are those of its lanes", "[codegen_llvm][lanes]") {
  std::vector<float> a(48);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  std::vector<float> c(12, -1);
  std::vector<int64_t> n(1, 0);
  RunOn(Tail(kFirstTwo, kFirstTwo), a, c, n);
  for (size_t o = 0; o < 2; ++o) {
    for (size_t j = 0; j < 6; ++j) {
      float sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += a[o * 24 + k * 6 + j];
      CHECK(c[o * 6 + j] == sum);
    }
  }
}

}  // namespace
}  // namespace tcc::test
