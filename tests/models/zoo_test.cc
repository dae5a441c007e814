#include "models/zoo/zoo.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "models/onnx/export_onnx.h"
#include "models/onnx/import_onnx.h"

using namespace tcc;
namespace fs = std::filesystem;

namespace {

void CheckSameConstants(const Graph& a, const Graph& b) {
  std::map<std::string, std::span<const uint8_t>> bytes;
  for (const Value& value : a.values) {
    if (value.constant) bytes[value.name] = value.constant->bytes;
  }
  size_t found = 0;
  for (const Value& value : b.values) {
    if (!value.constant) continue;
    INFO(value.name);
    REQUIRE(bytes.contains(value.name));
    std::span<const uint8_t> expected = bytes[value.name];
    REQUIRE(std::ranges::equal(expected, value.constant->bytes));
    ++found;
  }
  CHECK(found == bytes.size());
}

// The lines of the graph's text, those of constants by name: axes that are an attribute in the file
// become constants again behind the initializers, whose order says nothing.
std::vector<std::string> LinesOf(const Graph& graph) {
  std::vector<std::string> constants, others;
  std::istringstream text(Print(graph));
  for (std::string line; std::getline(text, line);) {
    (line.starts_with("  constant ") ? constants : others).push_back(line);
  }
  std::ranges::sort(constants);
  others.insert(others.end(), constants.begin(), constants.end());
  return others;
}

std::span<const uint8_t> FirstWeight(const Graph& graph) {
  auto weight = std::ranges::find_if(graph.values, [](const Value& value) {
    return value.constant && value.name.ends_with(".weight");
  });
  REQUIRE(weight != graph.values.end());
  return weight->constant->bytes;
}

Graph Build(const std::string& name, const ZooOptions& options) {
  StatusOr<Graph> graph = BuildZoo(name, options);
  REQUIRE(graph.status() == OkStatus());
  REQUIRE(VerifyGraph(*graph) == OkStatus());
  return *graph;
}

}  // namespace

TEST_CASE("a zoo network, written and read, is the same network", "[models][zoo]") {
  std::string pattern = (fs::temp_directory_path() / "tcc_zoo_XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  using Weights = ExportOptions::Weights;
  for (const std::string& name : ZooNames()) {
    Graph graph = Build(name, {.small = true, .seed = 3});
    for (Weights weights : {Weights::kAuto, Weights::kInline, Weights::kExternal}) {
      INFO(name << " " << static_cast<int>(weights));
      std::string path = pattern + "/m.onnx";
      fs::remove(path + ".data");
      REQUIRE(ExportOnnx(graph, path, {.weights = weights}) == OkStatus());
      CHECK(fs::exists(path + ".data") == (weights == Weights::kExternal));
      StatusOr<Graph> read = ImportOnnx(path);
      REQUIRE(read.status() == OkStatus());
      CHECK(LinesOf(*read) == LinesOf(graph));
      CheckSameConstants(graph, *read);
    }
  }
  fs::remove_all(pattern);
}

TEST_CASE("full networks have the published sizes", "[models][zoo]") {
  // Parameters; batch normalizations of ResNet-18 and DCGAN have 4 numbers a channel, folded ones a
  // bias. The block of LLaMA has 44044288 and its mask and angles.
  const std::map<std::string, int64_t> parameters = {
      {"dqn", 1687206},          {"resnet18", 11699112},   {"resnet50", 25530472},
      {"mobilenet_v2", 3487816}, {"r3d_18", 33366672},     {"dcgan", 3578624},
      {"vit_b_16", 86567656},    {"bert_base", 109482240}, {"llama_block", 44077056},
      {"lstm_lm", 13987678}};
  for (const std::string& name : ZooNames()) {
    INFO(name);
    int64_t total = 0;
    for (const Value& value : Build(name, {}).values) {
      bool counts = value.constant && value.dtype == kFloat32 && !value.shape.empty();
      if (counts) total += static_cast<int64_t>(value.constant->bytes.size()) / 4;
    }
    CHECK(total == parameters.at(name));
  }
}

TEST_CASE("the seed alone decides the weights", "[models][zoo]") {
  for (const std::string& name : ZooNames()) {
    Graph first = Build(name, {.small = true, .seed = 5});
    CheckSameConstants(first, Build(name, {.small = true, .seed = 5}));
    Graph other = Build(name, {.small = true, .seed = 6});
    CHECK(Print(first) == Print(other));
    std::span<const uint8_t> bytes = FirstWeight(first);
    CHECK_FALSE(std::equal(bytes.begin(), bytes.end(), FirstWeight(other).begin()));
  }
}

TEST_CASE("a network that the zoo does not have is refused with those it has", "[models][zoo]") {
  StatusOr<Graph> graph = BuildZoo("resnet19");
  CHECK(graph.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(Message(graph.status()), Catch::Matchers::Contains("resnet50"));
}
