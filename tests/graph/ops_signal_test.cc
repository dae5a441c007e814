#include <catch2/catch.hpp>
#include <cmath>

#include "graph/passes/fuse_graph.h"
#include "graph/passes/infer_shapes.h"
#include "graph/variants/task.h"
#include "ir/expr/visitor.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

OneNode Dft(const Tensor& x, int64_t onesided, int64_t inverse) {
  return {.op = OpKind::kDFT,
          .inputs = {x},
          .attributes = {{"axis", int64_t{1}}, {"onesided", onesided}, {"inverse", inverse}}};
}

}  // namespace

// A wave of frequency 3 is two lines of the spectrum, exactly: the others are below what f32 sums
// would leave.
TEST_CASE("the spectrum of a wave is zero but for its frequency", "[graph][signal]") {
  constexpr int64_t kLength = 12;
  Tensor wave = MakeZeroTensor(kFloat32, {1, kLength, 1});
  for (int64_t n = 0; n < kLength; ++n) {
    SetElement(wave, n, n % 4 == 0 ? 1 : n % 4 == 2 ? -1 : 0);  // cos(2 pi 3 n / 12)
  }
  Tensor full = ResultOf(Dft(wave, 0, 0));
  CHECK(full.shape == Ints{1, kLength, 2});
  for (int64_t k = 0; k < kLength; ++k) {
    CHECK(std::fabs(ElementAsDouble(full, 2 * k) - (k == 3 || k == 9 ? 6 : 0)) < 1e-12);
    CHECK(std::fabs(ElementAsDouble(full, 2 * k + 1)) < 1e-12);
  }
  CHECK(ResultOf(Dft(wave, 1, 0)).shape == Ints{1, kLength / 2 + 1, 2});
}

TEST_CASE("the inverse gives back what was transformed, from one half as well", "[graph][signal]") {
  for (int64_t length : {6, 7}) {
    Tensor x = RandomF32({2, length, 1}, 3);
    Tensor back = ResultOf(Dft(ResultOf(Dft(x, 0, 0)), 0, 1));
    for (int64_t i = 0; i < 2 * length; ++i) {
      CHECK(ElementAsDouble(back, 2 * i) == Approx(ElementAsDouble(x, i)).margin(1e-6));
    }
    OneNode from_half = Dft(ResultOf(Dft(x, 1, 0)), 1, 1);
    from_half.inputs.push_back(I64({}, {length}));
    from_half.constants = {1};
    Tensor real = ResultOf(from_half);
    CHECK(real.shape == Ints{2, length, 1});
    for (int64_t i = 0; i < 2 * length; ++i) {
      CHECK(ElementAsDouble(real, i) == Approx(ElementAsDouble(x, i)).margin(1e-6));
    }
  }
}

// Inlined, each of n * n products would compute its own sine and cosine.
TEST_CASE("a table of costly values stays a table", "[graph][signal]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 8, 1});
  builder.Output(builder.Add("dft", OpKind::kDFT, {x}, {{"axis", int64_t{1}}}));
  Graph graph = builder.Build();
  REQUIRE(InferShapes(graph).ok());
  StatusOr<Task> task = BuildTask(graph, FuseGraph(graph)[0]);
  REQUIRE(task.ok());
  std::vector<std::string> names;
  for (const Ref<Block>& block : BlocksOf(task->variants[0].fn.body)) names.push_back(block->name);
  CHECK(names == std::vector<std::string>{"dft_roots", "dft_sums", "dft"});
}

TEST_CASE("determinants of permuted, singular and several matrices", "[graph][signal]") {
  OneNode node = {.op = OpKind::kDet, .inputs = {F32({2, 2}, {0, 1, 1, 0})}};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{-1});
  node.inputs = {F32({2, 3, 3}, {0, 2, 0, 0, 0, 3, 4, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})};
  Doubles several = ValuesOf(ResultOf(node));
  REQUIRE(several.size() == 2);
  CHECK(several[0] == Approx(24));
  CHECK(several[1] == Approx(0).margin(1e-12));
  node.inputs = {F32({1, 1}, {7})};
  CHECK(ValuesOf(ResultOf(node)) == Doubles{7});
}
