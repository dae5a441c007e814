// A pointwise convolution and the depthwise one that reads it, as one kernel of a CPU.

#include <catch2/catch.hpp>

#include "compiler/dump_stage.h"
#include "graph/passes/fuse_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "models/zoo/graph_builder.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

struct Case {
  int64_t batch = 1, size = 150, step = 1, channels = 48;
  bool clips = true;  // an activation between the two
  bool is_read_twice = false;
};

Graph ChainOf(const Case& c) {
  GraphBuilder builder("chain", 5);
  ValueId x = builder.Input("x", {c.batch, 4, c.size, c.size});
  ValueId w = builder.Weight("w", {c.channels, 4, 1, 1}, 0, 1);
  ValueId d = builder.Weight("d", {c.channels, 1, 3, 3}, 0, 1);
  ValueId image = builder.Emit("wide", OpKind::kConv, {x, w}, {}, kFloat32);
  if (c.clips) image = builder.Emit("clipped", OpKind::kRelu, {image}, {}, kFloat32);
  ValueId y = builder.Emit(
      "deep", OpKind::kConv, {image, d},
      {{"group", c.channels}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{c.step, c.step}}},
      kFloat32);
  int64_t size = (c.size - 1) / c.step + 1;
  builder.Output(builder.Emit("y", OpKind::kRelu, {y}, {}, kFloat32),
                 {c.batch, c.channels, size, size});
  if (c.is_read_twice) builder.Output(image, {c.batch, c.channels, c.size, c.size});
  return builder.Take();
}

// The number of kernels that have a convolution.
int Convolutions(Graph graph, Fusion fusion) {
  REQUIRE(RunGraphPasses(graph, TargetKind::kCpu).ok());
  int count = 0;
  for (const Subgraph& subgraph : FuseGraph(graph, fusion)) {
    bool convolves = false;
    for (int n : subgraph.nodes) convolves = convolves || graph.nodes[n].op == OpKind::kConv;
    count += static_cast<int>(convolves);
  }
  return count;
}

}  // namespace

TEST_CASE("convolutions are chained where a large image is between them alone", "[compiler]") {
  CHECK(Convolutions(ChainOf({}), Fusion::kChained) == 1);
  CHECK(Convolutions(ChainOf({.clips = false}), Fusion::kChained) == 1);
  CHECK(Convolutions(ChainOf({}), Fusion::kFused) == 2);
  CHECK(Convolutions(ChainOf({.is_read_twice = true}), Fusion::kChained) == 2);
  // 900 KB each, whatever the batch.
  CHECK(Convolutions(ChainOf({.batch = 8, .size = 70}), Fusion::kChained) == 2);
  CHECK(FusionFor(FindTarget("native").value()) == Fusion::kChained);
  CHECK(FusionFor(FindTarget("sm_86").value()) == Fusion::kGathering);
  CHECK(FusionFor(FindTarget("reference").value()) == Fusion::kFused);
}

TEST_CASE("chained convolutions agree with the interpreter", "[compiler][codegen_llvm]") {
  for (const Case& c : {Case{}, Case{.step = 2, .clips = false}, Case{.batch = 2, .step = 2}}) {
    for (const char* name : {"native", "x86-64-v3"}) {
      Graph graph = ChainOf(c);
      DumpOptions options;
      options.target = *FindTarget(name);
      options.stage = Stage::kScheduled;
      StatusOr<std::string> text = DumpStage(graph, options);
      REQUIRE(text.ok());
      CHECK(text->find("# compute_at wide") != std::string::npos);
      for (NumericMode numeric : {NumericMode::kStrict, NumericMode::kBf16}) {
        Status status = DifferenceOn(graph, options.target, numeric);
        INFO(status);
        CHECK(status.ok());
      }
    }
  }
}

}  // namespace tcc
