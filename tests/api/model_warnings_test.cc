#include <catch2/catch.hpp>

#include "api/tcc.h"
#include "models/export_onnx.h"
#include "models/graph_builder.h"

using Catch::Matchers::Contains;

TEST_CASE("what is odd about a model reaches the logger as warnings", "[api]") {
  tcc::GraphBuilder builder("odd", 0);
  tcc::ValueId x = builder.Input("x", {2, 3});
  tcc::ValueId unused = builder.Input("unused", {2, 3});
  builder.Output(builder.Add("y", x, x), {3, 2});
  tcc::Graph graph = builder.Take();
  graph.shape_vars = {tcc::ShapeVar("N", 1, 8)};
  graph.values[unused].shape[0] = graph.shape_vars[0];
  tcc::StatusOr<std::string> bytes = tcc::ExportOnnxBytes(graph);
  REQUIRE(bytes.ok());
  std::vector<uint8_t> model(bytes->begin(), bytes->end());

  std::vector<std::string> warnings;
  tcc::CompileOptions options;
  options.logger = [&](tcc::LogLevel level, std::string_view message) {
    if (level == tcc::LogLevel::kWarning) warnings.emplace_back(message);
  };
  tcc::Result<tcc::Artefact> artefact = tcc::Compile(std::span(model), options);
  INFO(artefact.status().message());
  REQUIRE(artefact.ok());
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[0], Contains("nothing reads input 'unused'; its shape becomes 1x3"));
  CHECK(warnings[1] == "output 'y' is declared as 3x2; its node gives 2x3");
}
