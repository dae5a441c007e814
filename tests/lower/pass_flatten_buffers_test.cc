#include <catch2/catch.hpp>

#include "support/status.h"

#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "tests/lower/pass_check.h"
#include "tests/programs/equal_up_to_names.h"

using namespace tcc;

namespace {

// A copy of A[6, 8] through T, which is declared with `layout`; T has the shape of A.
Function Through(const std::string& layout) {
  return ParsedFunction(R"(
    fn f(A: f32[6, 8], B: f32[6, 8]) scheduled {
      alloc T: f32[6, 8] )" +
                        layout + R"(
      for i in 0..6 @t/i { for j in 0..8 @t/j {
        block t(i: spatial 6 = i, j: spatial 8 = j) { T[i, j] = A[i, j] + 1.0 }
      } }
      for i in 0..6 @b/i { for j in 0..8 @b/j {
        block b(i: spatial 6 = i, j: spatial 8 = j) { B[i, j] = T[i, j] * 2.0 }
      } }
    })");
}

void CheckFlat(const Function& scheduled, const std::string& lowered) {
  Function got = CheckLowered(scheduled);
  Function want = ParsedFunction(lowered);
  INFO("got\n" << Print(got) << "expected\n" << Print(Simplify(want)));
  CHECK(EqualUpToNames(got, Simplify(want)));
}

// The index of T in the copy above, and its cells.
void CheckOffset(const std::string& layout, int64_t cells, const std::string& index) {
  CheckFlat(Through(layout), fmt::format(R"(
    fn f(A: f32[48], B: f32[48]) lowered {{
      alloc T: f32[{0}]
      for i in 0..6 {{ for j in 0..8 {{ T[{1}] = A[i * 8 + j] + 1.0 }} }}
      for i in 0..6 {{ for j in 0..8 {{ B[i * 8 + j] = T[{1}] * 2.0 }} }}
    }})",
                                         cells, index));
}

}  // namespace

TEST_CASE("a buffer without a layout is row-major", "[lower][passes]") {
  CheckOffset("", 48, "i * 8 + j");
}

TEST_CASE("a circular dimension without a window is whole", "[lower][passes]") {
  CheckOffset("circular 0", 48, "i * 8 + j");
}

TEST_CASE("strides and an offset place each cell", "[lower][passes]") {
  CheckOffset("strides [1, 7] offset 3", 58, "i + j * 7 + 3");
}

TEST_CASE("block factors become inner dimensions, padded up", "[lower][passes]") {
  CheckOffset("blocks [1 by 4]", 48,
              "i * 4 + j div 4 * 24 + j mod 4 - i * 4 + i * 8 - j div 4 * 20");
  CheckOffset("blocks [0 by 4]", 64, "i div 4 * 32 + j * 4 + i mod 4");
}

TEST_CASE("a swizzle permutes the cells of an allocation that holds them all", "[lower][passes]") {
  for (const char* layout : {"swizzle(2, 0, 3)", "swizzle(2, 2, 2)", "swizzle(3, 2, 3)",
                             "strides [9, 1] swizzle(3, 3, 3)"}) {
    Function lowered = CheckLowered(Through(layout));
    CHECK(CountKind(lowered, ExprKind::kCall) > 0);
  }
}

TEST_CASE("a swizzle changes the column of a row's chunk alone", "[lower][passes]") {
  CheckOffset("swizzle(1, 2, 1)", 48, "i * 8 + bit_xor(j div 4, i mod 2) * 4 + j mod 4");
}

TEST_CASE("a swizzled shared buffer stays in blocks of what its swizzle permutes",
          "[lower][passes]") {
  auto declared = [](const std::string& scope, const std::string& layout) {
    std::string text;
    Function fn = ParsedFunction(fmt::format(R"(
    fn f(A: f32[48], B: f32[48]) scheduled {{
      for b in 0..1 blockIdx.x @t/b {{
      alloc T: f32[48] {} {}
      for i in 0..48 @t/i {{ block t(i: spatial 48 = i) {{ T[i] = A[i] }} }}
      for j in 0..48 @b/j {{ block b(j: spatial 48 = j) {{ B[j] = T[j] * 2.0 }} }}
    }} }})",
                                             scope, layout));
    Function lowered = CheckLowered(fn);
    PreOrder(lowered.body, [&](const Stmt& stmt) {
      const auto* allocate = stmt.as<Allocate>();
      if (!allocate) return;
      const Buffer& buffer = allocate->buffer;
      text = fmt::format("{} cells in {} bytes", AsConstant(buffer.shape[0]).value(),
                         SharedAlignment(buffer));
    });
    return text;
  };
  CHECK(declared("shared", "") == "48 cells in 16 bytes");
  CHECK(declared("shared", "swizzle(1, 2, 3)") == "64 cells in 256 bytes");
  CHECK(declared("shared", "swizzle(3, 2, 3)") == "256 cells in 1024 bytes");
  // No tensor core has this one.
  CHECK(declared("shared", "swizzle(3, 2, 4)") == "64 cells in 16 bytes");
  CHECK(declared("local", "swizzle(3, 2, 3)") == "64 cells in 16 bytes");
}

TEST_CASE("a window is stored from its origin", "[lower][passes]") {
  CheckFlat(ParsedFunction(R"(
    fn f(A: f32[12], B: f32[10]) scheduled {
      for i0 in 0..5 @b/i.0 {
        alloc T: f32[12] window [i0 * 2] size [4]
        for x in 0..4 @t/x { block t(x: spatial 12 = i0 * 2 + x) { T[x] = A[x] * 2.0 } }
        for i1 in 0..2 @b/i.1 {
          block b(i: spatial 10 = i0 * 2 + i1) { B[i] = T[i] + T[i + 1] + T[i + 2] }
        }
      }
    })"),
            R"(
    fn f(A: f32[12], B: f32[10]) lowered {
      for i0 in 0..5 {
        alloc T: f32[4]
        for x in 0..4 { T[x] = A[i0 * 2 + x] * 2.0 }
        for i1 in 0..2 { B[i0 * 2 + i1] = T[i1] + T[i1 + 1] + T[i1 + 2] }
      }
    })");
}

TEST_CASE("a window that begins where a matrix of indices says is stored from there",
          "[lower][passes]") {
  CheckFlat(ParsedFunction(R"(
    fn f(A: f32[8], I: i64[2, 3], B: f32[2, 3]) scheduled {
      for h in 0..2 @b/h {
        for w in 0..3 @b/w {
          alloc T: f32[8] window [I[h, w] mod 8] size [1]
          block t(x: spatial 8 = I[h, w] mod 8) { T[x] = A[x] }
          block b(h: spatial 2 = h, w: spatial 3 = w) { B[h, w] = T[I[h, w] mod 8] }
        }
      }
    })"),
            R"(
    fn f(A: f32[8], I: i64[6], B: f32[6]) lowered {
      for h in 0..2 {
        for w in 0..3 {
          alloc T: f32[1]
          T[0] = A[I[h * 3 + w] mod 8]
          B[h * 3 + w] = T[0]
        }
      }
    })");
}

TEST_CASE("the only cell along a dimension of extent 1 is at 0, wherever padding moves the window",
          "[lower][passes]") {
  CheckFlat(ParsedFunction(R"(
    fn f(A: f32[1, 5], B: f32[3, 5]) scheduled {
      for i in 0..3 @b/i {
        alloc T: f32[1, 5] window [i - 1, 0] size [1, 5]
        for x in 0..5 @t/x {
          block t(y: spatial 1 = i - 1, x: spatial 5 = x) { T[y, x] = A[y, x] * 2.0 }
        }
        for j in 0..5 @b/j {
          block b(i: spatial 3 = i, j: spatial 5 = j) {
            B[i, j] = select(0 < i && i < 2, T[i - 1, j] + A[i - 1, j], 0.0)
          }
        }
      }
    })"),
            R"(
    fn f(A: f32[5], B: f32[15]) lowered {
      for i in 0..3 {
        alloc T: f32[5]
        if 0 < i && i < 2 { for x in 0..5 { T[x] = A[x] * 2.0 } }
        for j in 0..5 {
          B[i * 5 + j] = select(0 < i && i < 2, T[j] + A[j], 0.0)
        }
      }
    })");
}

TEST_CASE("a circular dimension is kept modulo its window", "[lower][passes]") {
  CheckFlat(ParsedFunction(R"(
    fn f(A: f32[12], B: f32[10]) scheduled {
      alloc T: f32[12] window [0] size [3] circular 0
      for x in 0..2 @h/x { block h(x: spatial 12 = x) { T[x] = A[x] } }
      for i in 0..10 @b/i {
        block t(x: spatial 12 = i + 2) { T[x] = A[x] }
        block b(i: spatial 10 = i) { B[i] = T[i] + T[i + 1] + T[i + 2] }
      }
    })"),
            R"(
    fn f(A: f32[12], B: f32[10]) lowered {
      alloc T: f32[3]
      for x in 0..2 { T[x] = A[x] }
      for i in 0..10 {
        T[(i + 2) mod 3] = A[i + 2]
        B[i] = T[i mod 3] + T[(i + 1) mod 3] + T[(i + 2) mod 3]
      }
    })");
}
