#include <algorithm>
#include <catch2/catch.hpp>

#include "api/tcc.h"
#include "tests/models/onnx_bytes.h"

using namespace tcc::onnx_bytes;
using Catch::Matchers::Contains;

namespace {

// Compiles and returns the warnings.
std::vector<std::string> WarningsOf(const Wire& graph) {
  std::string model =
      Wire().Varint(1, 8).Sub(7, graph).Sub(8, Wire().Bytes(1, "").Varint(2, 17)).bytes;
  std::vector<std::string> warnings;
  tcc::CompileOptions options;
  options.logger = [&](tcc::LogLevel level, std::string_view message) {
    if (level == tcc::LogLevel::kWarning) warnings.emplace_back(message);
  };
  tcc::Result<tcc::Artefact> artefact = tcc::Compile(AsSpan(model), options);
  INFO(artefact.status().message());
  REQUIRE(artefact.ok());
  return warnings;
}

// An image of this width stretched by 1.5.
Wire Stretched(const std::string& width) {
  Wire graph = Wire().Bytes(2, "resize");
  graph.Sub(
      1, NodeOf({.op = "Resize",
                 .inputs = {"x", "", "scales"},
                 .outputs = {"y"},
                 .attributes = {StringAttr("mode", "linear"),
                                StringAttr("coordinate_transformation_mode", "align_corners")}}));
  graph.Sub(5, Floats("scales", {2}, {1, 1.5}));
  graph.Sub(11, InputOf("x", kOnnxFloat, {"2", width}));
  graph.Sub(12, InputOf("y", kOnnxFloat, {"2", "K"}));
  return graph;
}

}  // namespace

TEST_CASE("what is odd about a model reaches the logger as warnings", "[api]") {
  Wire graph = Wire().Bytes(2, "odd");
  graph.Sub(1, NodeOf({.op = "Relu", .inputs = {"x"}, .outputs = {"y"}}));
  graph.Sub(11, InputOf("x", kOnnxFloat, {"2", "3"}));
  graph.Sub(11, InputOf("unused", kOnnxFloat, {"N", "3"}));
  graph.Sub(12, InputOf("y", kOnnxFloat, {"3", "2"}));
  std::vector<std::string> warnings = WarningsOf(graph);
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Contains("nothing reads input 'unused'; its shape becomes 1x3"));
  CHECK(warnings[1] == "output 'y' is declared as 3x2; its node gives 2x3");
}

TEST_CASE("a free dimension that can only have one extent reaches the logger as a warning",
          "[api]") {
  Wire graph = Wire().Bytes(2, "settled");
  graph.Sub(1, NodeOf({.op = "Add", .inputs = {"a", "b"}, .outputs = {"y"}}));
  graph.Sub(11, InputOf("a", kOnnxFloat, {"N", "M"}));
  graph.Sub(11, InputOf("b", kOnnxFloat, {"N", "3"}));
  graph.Sub(12, InputOf("y", kOnnxFloat, {"N", "3"}));
  std::vector<std::string> warnings = WarningsOf(graph);
  auto settled = std::ranges::count_if(warnings, [](const std::string& line) {
    return line.starts_with("dimension M can only be 3");
  });
  CHECK(settled == 1);
  CHECK(warnings.size() == 2);  // and that N and M stay free
}

TEST_CASE("a resize that other runtimes place otherwise reaches the logger as a warning", "[api]") {
  CHECK_THAT(WarningsOf(Stretched("5")).at(0),
             Contains("node 'y' (Resize): scale 1.5 times extent 5 is 7.5"));
  CHECK(WarningsOf(Stretched("6")).empty());
  CHECK_THAT(WarningsOf(Stretched("W")).at(1),
             Contains("node 'y' (Resize): scale 1.5 times a free extent may be no whole number"));
}
