// Rows of scores of which most lie 80 to 110 below the maximum: what exponentials make of them
// holds no denormal, since each operation on one costs an Intel CPU a microcode assist.

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "models/zoo/graph_builder.h"
#include "runtime/executor/executor.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

Tensor Filled(const Ints& shape, const std::function<double(int64_t element)>& value) {
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  int64_t elements = ElementCount(shape).value();
  for (int64_t i = 0; i < elements; ++i) SetElement(tensor, i, value(i));
  return tensor;
}

struct Kinds {
  int64_t denormals = 0, zeros = 0, normals = 0;
};

Kinds KindsOfResults(const Graph& graph, const std::string& target,
                     const std::vector<Tensor>& inputs) {
  Module module = Loaded(Compiled(graph, target));
  Executor executor(module);
  StatusOr<std::vector<Tensor>> got = executor.Run(inputs);
  INFO(got.status());
  REQUIRE(got.ok());
  Kinds kinds;
  for (float value : (*got)[0].values<float>()) {
    int kind = std::fpclassify(value);
    REQUIRE((kind == FP_SUBNORMAL || kind == FP_ZERO || kind == FP_NORMAL));
    kinds.denormals += kind == FP_SUBNORMAL;
    kinds.zeros += kind == FP_ZERO;
    kinds.normals += kind == FP_NORMAL;
  }
  return kinds;
}

// Three maxima at 0, so that dividing by the sum makes small powers smaller; the others from -80 to
// -110.
double Score(int64_t key, int64_t keys) {
  return key < 3 ? 0 : -80 - 30 * static_cast<double>(key) / static_cast<double>(keys);
}

constexpr const char* kTargets[] = {"native", "x86-64-v3"};
constexpr int64_t kRows = 6;
constexpr int64_t kKeys = 5003;

}  // namespace

TEST_CASE("softmax makes no denormals", "[compiler][denormals]") {
  for (int64_t axis : {0, 1}) {
    Ints shape = axis == 1 ? Ints{kRows, kKeys} : Ints{kKeys, kRows};
    GraphBuilder builder("softmax", 1);
    ValueId x = builder.Input("x", shape);
    builder.Output(builder.Emit("y", OpKind::kSoftmax, {x}, {{"axis", axis}}), shape);
    Graph graph = builder.Take();
    Tensor scores =
        Filled(shape, [&](int64_t i) { return Score(axis == 1 ? i % kKeys : i / kRows, kKeys); });
    for (const char* target : kTargets) {
      INFO("axis " << axis << ", " << target);
      Kinds kinds = KindsOfResults(graph, target, {scores});
      CHECK(kinds.denormals == 0);
      CHECK(kinds.normals > kRows * kKeys / 5);
      CHECK(kinds.zeros > kRows * kKeys / 2);
    }
  }
}

TEST_CASE("attention makes no denormals", "[compiler][denormals]") {
  // Each value picks one key, so that results are the keys' probabilities.
  constexpr int64_t kFew = 64;
  GraphBuilder builder("attention", 1);
  ValueId q = builder.Input("q", {1, 2, kRows, 8});
  ValueId k = builder.Input("k", {1, 2, kFew, 8});
  ValueId v = builder.Input("v", {1, 2, kFew, kFew});
  std::map<std::string, Attribute> attributes = {{"is_causal", int64_t{0}}, {"scale", 1.0}};
  builder.Output(builder.Emit("y", OpKind::kAttention, {q, k, v}, attributes), {1, 2, kRows, kFew});
  Graph graph = builder.Take();
  std::vector<Tensor> inputs = {
      Filled({1, 2, kRows, 8}, [](int64_t i) { return i % 8 == 0 ? 1.0 : 0.0; }),
      Filled({1, 2, kFew, 8},
             [](int64_t i) {
               int64_t key = i / 8 % kFew;
               if (i % 8 != 0 || key == 0) return 0.0;
               return key < 3 ? -80.0 : Score(key, kFew);
             }),
      Filled({1, 2, kFew, kFew},
             [](int64_t i) { return i % kFew == i / kFew % kFew ? 1.0 : 0.0; })};
  for (const char* target : kTargets) {
    INFO(target);
    Kinds kinds = KindsOfResults(graph, target, inputs);
    CHECK(kinds.denormals == 0);
    CHECK(kinds.normals > 2 * kRows * kFew / 5);
    CHECK(kinds.zeros > 2 * kRows * kFew / 2);
  }
}

}  // namespace tcc
