#include "compiler/prepare_weights.h"

#include <catch2/catch.hpp>

#include "compiler/compile_graph.h"
#include "models/zoo/graph_builder.h"

namespace tcc {
namespace {

Artefact Compiled(const Graph& graph, const std::string& target, int threads = 1) {
  CompileOptions options;
  options.target = *FindTarget(target);
  options.threads = threads;
  options.verify = true;
  StatusOr<Artefact> artefact = CompileGraph(graph, options);
  INFO(artefact.status());
  REQUIRE(artefact.ok());
  return std::move(*artefact);
}

// row * 1000 + column, so that a cell tells where it comes from.
Tensor Numbered(int64_t rows, int64_t columns) {
  Tensor tensor = MakeZeroTensor(kFloat32, {rows, columns});
  for (int64_t i = 0; i < rows * columns; ++i) {
    SetElement(tensor, i, static_cast<double>(i / columns * 1000 + i % columns));
  }
  return tensor;
}

// y = x W for x of 8 rows.
struct Product {
  GraphBuilder builder{"product", 1};
  ValueId x, w, y;

  explicit Product(const Tensor& weight) {
    x = builder.Input("x", {8, weight.shape[0]});
    w = builder.Constant("w", weight);
    y = builder.Emit("y", OpKind::kMatMul, {x, w});
    builder.Output(y, {8, weight.shape[1]});
  }
};

std::span<const float> Floats(const Artefact& artefact) {
  return {reinterpret_cast<const float*>(artefact.weights.bytes.data()),
          artefact.weights.bytes.size() / sizeof(float)};
}

// The place of W[k, j] where panels of `width` columns lie one after another.
int64_t InPanels(int64_t k, int64_t j, int64_t rows, int64_t width) {
  return j / width * rows * width + k * width + j % width;
}

TEST_CASE("a matrix that is multiplied by is stored in panels of the tile, and only so",
          "[compiler][prepare]") {
  Graph graph = Product(Numbered(96, 128)).builder.Take();
  for (auto [target, width] : {std::pair("x86-64-v3", 16), {"x86-64-v4", 32}}) {
    INFO(target);
    Artefact artefact = Compiled(graph, target);
    std::span<const float> weights = Floats(artefact);
    REQUIRE(weights.size() == 96 * 128);
    int64_t wrong = 0;
    for (int64_t k = 0; k < 96; ++k) {
      for (int64_t j = 0; j < 128; ++j) {
        float want = static_cast<float>(k * 1000 + j);
        wrong += weights[InPanels(k, j, 96, width)] != want;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the last panel is padded with zeros", "[compiler][prepare]") {
  Artefact artefact = Compiled(Product(Numbered(10, 150)).builder.Take(), "x86-64-v4");
  std::span<const float> weights = Floats(artefact);
  REQUIRE(weights.size() == 10 * 160);
  for (int64_t k = 0; k < 10; ++k) {
    for (int64_t j = 150; j < 160; ++j) CHECK(weights[InPanels(k, j, 10, 32)] == 0);
  }
}

TEST_CASE("where padding would add more than a quarter the matrix stays as it is",
          "[compiler][prepare]") {
  Artefact artefact = Compiled(Product(Numbered(10, 35)).builder.Take(), "x86-64-v4");
  std::span<const float> weights = Floats(artefact);
  REQUIRE(weights.size() == 10 * 35);
  CHECK(weights[36] == 1001);
}

TEST_CASE("an original that somebody else reads is stored too", "[compiler][prepare]") {
  Product product(Numbered(96, 128));
  ValueId scaled = product.builder.Input("s", {96, 128});
  product.builder.Output(product.builder.Add("sum", scaled, product.w), {96, 128});
  Artefact artefact = Compiled(product.builder.Take(), "x86-64-v4");
  CHECK(Floats(artefact).size() == 2 * 96 * 128);
}

TEST_CASE("two products by one matrix share its panels", "[compiler][prepare]") {
  Product product(Numbered(96, 128));
  ValueId other = product.builder.Input("z", {8, 96});
  product.builder.Output(product.builder.Emit("v", OpKind::kMatMul, {other, product.w}), {8, 128});
  Artefact artefact = Compiled(product.builder.Take(), "x86-64-v4");
  CHECK(Floats(artefact).size() == 96 * 128);
}

TEST_CASE("the reference target keeps the model's own weights", "[compiler][prepare]") {
  Artefact artefact = Compiled(Product(Numbered(96, 128)).builder.Take(), "reference");
  REQUIRE(Floats(artefact).size() == 96 * 128);
  CHECK(Floats(artefact)[129] == 1001);
}

TEST_CASE("prepared weights are the same for any number of threads", "[compiler][prepare]") {
  GraphBuilder builder("layers", 3);
  ValueId x = builder.Input("x", {4, 96});
  for (int i = 0; i < 6; ++i) {
    std::string name = "w" + std::to_string(i);
    x = builder.Emit("m" + name, OpKind::kMatMul, {x, builder.Weight(name, {96, 96}, 0, 0.1)});
  }
  builder.Output(x, {4, 96});
  Graph graph = builder.Take();
  std::vector<uint8_t> one = ArtefactBytes(Compiled(graph, "x86-64-v4", 1));
  CHECK(one == ArtefactBytes(Compiled(graph, "x86-64-v4", 4)));
}

}  // namespace
}  // namespace tcc
