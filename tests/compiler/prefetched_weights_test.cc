// Panels of weights that are made when the model is linked, as first sketches read them.

#include <catch2/catch.hpp>

#include "compiler/dump_stage.h"
#include "models/zoo/graph_builder.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

Tensor Words(DType type, const std::vector<int64_t>& shape) {
  Tensor tensor = MakeZeroTensor(type, shape);
  for (int64_t i = 0; i < ElementCount(shape).value(); ++i) SetElement(tensor, i, i % 7);
  return tensor;
}

std::string ScheduledText(const Graph& graph, NumericMode numeric) {
  DumpOptions options;
  options.target = *FindTarget("x86-64-v4");
  options.stage = Stage::kScheduled;
  options.numeric = numeric;
  return DumpStage(graph, options).value();
}

Graph Transformed() {
  GraphBuilder builder("transformed", 5);
  ValueId x = builder.Input("x", {1, 64, 14, 14});
  builder.Output(builder.Conv("y", x, {.in = 64, .out = 128, .kernel = 3, .padding = 1}),
                 {1, 128, 14, 14});
  return builder.Take();
}

Graph ProductOfBytes() {
  GraphBuilder builder("bytes", 5);
  const DType u8(DTypeCode::kUInt8);
  ValueId x = builder.Input("x", {20, 64});
  ValueId bytes = builder.Emit("bytes", OpKind::kCast, {x}, {{"to", ToString(u8)}}, u8);
  ValueId w = builder.Constant("w", Words(DType(DTypeCode::kInt8), {64, 256}));
  ValueId sums = builder.Emit("sums", OpKind::kMatMulInteger, {bytes, w}, {}, kInt32);
  builder.Output(builder.Emit("y", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}}), {20, 256});
  return builder.Take();
}

Graph Product() {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", {20, 64});
  ValueId w = builder.Weight("w", {64, 256}, 0, 1);
  builder.Output(builder.Emit("y", OpKind::kMatMul, {x, w}), {20, 256});
  return builder.Take();
}

}  // namespace

TEST_CASE("cold weights in a layout of their own arrive late: their next panel is prefetched",
          "[compiler][schedule]") {
  struct Case {
    const char* name;
    Graph graph;
    NumericMode numeric = NumericMode::kStrict;
    const char* has;  // in the text of the kernel
  };
  const Case cases[] = {
      {"by Winograd's transforms", Transformed(), NumericMode::kStrict, "y_u"},
      {"bytes in pairs", ProductOfBytes(), NumericMode::kStrict, "dot_i16x2"},
      {"rounded and widened", Product(), NumericMode::kFp16, "w_f16_f32"},
      {"as they are", Product(), NumericMode::kStrict, "y.w"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    std::string text = ScheduledText(c.graph, c.numeric);
    CHECK(text.find(c.has) != std::string::npos);
    CHECK(text.find("prefetch") != std::string::npos);
  }
}

}  // namespace tcc
