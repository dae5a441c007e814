#include "tests/api/onnx_models.h"

#include "ir/support/check.h"
#include "models/export_onnx.h"
#include "models/graph_builder.h"
#include "models/zoo.h"

namespace {

std::vector<uint8_t> BytesOf(const tcc::Graph& graph) {
  tcc::StatusOr<std::string> bytes = tcc::ExportOnnxBytes(graph);
  TCC_CHECK(bytes.ok()) << bytes.status();
  return {bytes->begin(), bytes->end()};
}

}  // namespace

std::vector<uint8_t> SmallNetwork(const std::string& name) {
  return BytesOf(*tcc::BuildZoo(name, {.small = true}));
}

std::vector<uint8_t> AddModel() {
  tcc::GraphBuilder builder("add", 0);
  tcc::ValueId x = builder.Input("x", {2, 3});
  tcc::ValueId b = builder.Input("b", {2, 3});
  builder.Output(builder.Add("y", x, b), {2, 3});
  return BytesOf(builder.Take());
}
