#include "ir/analysis/privatize.h"

#include <catch2/catch.hpp>

#include "ir/expr/function.h"
#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

// Copies A to B through a tile in local memory, each cell in the thread that `put` and `get` name
// along y. Threads along x have two neighbouring columns of eight.
std::string CopyText(const std::string& put, const std::string& get) {
  auto nest = [](const std::string& name, const std::string& row, const std::string& store) {
    return "for r in 0..2 @" + name + "/r { for y in 0..8 threadIdx.y @" + name +
           "/y { for c in 0..2 @" + name + "/c { for x in 0..4 threadIdx.x @" + name +
           "/x { for n in 0..2 @" + name + "/n { block " + name + "(i: spatial 32 = b * 16 + " +
           row + ", j: spatial 16 = c * 8 + x * 2 + n) { " + store + " } } } } } }\n";
  };
  return "fn f(A: f32[32, 16], B: f32[32, 16]) scheduled { for b in 0..2 blockIdx.x @get/b {\n"
         "alloc m: f32[32, 16] local window [b * 16, 0] size [16, 16]\n" +
         nest("put", put, "m[i, j] = A[i, j]") + nest("get", get, "B[i, j] = m[i, j]") + "} }";
}

std::string TileIn(const std::string& text) {
  Function fn = ParseFunction(text).value();
  fn.body = PrivatizeBuffers(fn.body);
  std::string result;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    if (buffer.var->name != "m") continue;
    for (const Expr& size : buffer.window.size) result += std::to_string(*AsConstant(size)) + " ";
  }
  return result;
}

}  // namespace

TEST_CASE("a thread keeps its share of a tile that is spread over threads", "[ir][privatize]") {
  // Two of 16 rows, and of 16 columns two of each eight.
  const std::string spread = CopyText("r * 8 + y", "r * 8 + y");
  CHECK(TileIn(spread) == "2 4 ");
  Function fn = ParseFunction(spread).value();
  fn.body = PrivatizeBuffers(fn.body);
  std::vector<Tensor> got = {RandomTensor({32, 16}, 1), BlankTensor({32, 16})};
  REQUIRE(Interpret(fn, got).ok());
  CHECK(ValuesOf(got[1]) == ValuesOf(got[0]));
}

TEST_CASE("a tile whose cells change threads stays whole", "[ir][privatize]") {
  CHECK(TileIn(CopyText("r * 8 + y", "y * 2 + r")) == "16 4 ");
  CHECK(TileIn(CopyText("r * 8 + y", "r * 8 + 7 - y")) == "16 4 ");
}
