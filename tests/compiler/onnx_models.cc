#include "tests/compiler/onnx_models.h"

#include "models/onnx/export_onnx.h"
#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo.h"
#include "runtime/artefact/artefact.h"
#include "support/check.h"

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

std::vector<uint8_t> AddModel(int64_t rows) {
  tcc::GraphBuilder builder("add", 0);
  tcc::ValueId x = builder.Input("x", {rows, 3});
  tcc::ValueId b = builder.Input("b", {rows, 3});
  builder.Output(builder.Add("y", x, b), {rows, 3});
  return BytesOf(builder.Take());
}

std::vector<uint8_t> FreeAddModel() {
  tcc::GraphBuilder builder("add", 0);
  tcc::ValueId x = builder.Input("x", {1, 3});
  tcc::ValueId b = builder.Input("b", {1, 3});
  tcc::ValueId y = builder.Add("y", x, b);
  builder.Output(y, {1, 3});
  tcc::Graph graph = builder.Take();
  tcc::Var n = tcc::ShapeVar("N", 1, 8), m = tcc::ShapeVar("M", 1, 8);
  graph.shape_vars = {n, m};
  graph.values[x].shape[0] = n;
  graph.values[b].shape[0] = m;
  graph.values[y].shape[0] = n;
  return BytesOf(graph);
}

std::vector<uint8_t> ScalarModel() {
  tcc::GraphBuilder builder("scalar", 0);
  tcc::ValueId x = builder.Input("x", {3});
  tcc::ValueId s = builder.Input("s", {});
  builder.Output(builder.Add("y", x, s), {3});
  return BytesOf(builder.Take());
}

std::vector<uint8_t> CopyArtefact() {
  using tcc::SizeExpr;
  tcc::Artefact artefact;
  artefact.target = "native";
  artefact.device = "cpu";
  artefact.metadata.model = "copy";
  artefact.metadata.shape_variables = {{"N", 1, 8, 1}};
  SizeExpr n = SizeExpr::Variable(0), bytes = tcc::Combine(tcc::SizeOp::kMul, n, 12);
  artefact.metadata.inputs = {{"x", tcc::kFloat32, {n, 3}}};
  artefact.metadata.outputs = {{"y", tcc::kFloat32, {n, 3}}};
  artefact.plan.shape_variables = 1;
  artefact.plan.arena_bytes = 0;
  artefact.plan.buffers = {{.kind = tcc::BufferKind::kInput, .offset = 0, .bytes = bytes},
                           {.kind = tcc::BufferKind::kOutput, .offset = 0, .bytes = bytes}};
  artefact.plan.body = {{tcc::PlanCopy{0, 1}}};
  return tcc::ArtefactBytes(artefact);
}
