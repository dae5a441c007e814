// tcc-bench vdla: the accelerator's cycles for the convolutions of ResNet-18.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/subcommand.h"
#include "bench/vdla_roofline.h"
#include "bench/write_text.h"
#include "codegen_vdla/vdla_backend.h"
#include "compiler/kernels.h"
#include "graph/passes/graph_pipeline.h"
#include "ir/expr/visitor.h"
#include "lower/lower_kernel.h"
#include "models/zoo/graph_builder.h"
#include "runtime/vdla/vdla_machine.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/random.h"
#include "support/threads.h"

namespace tcc {
namespace {

// A convolution of table 2 of the TVM paper (Chen et al., 2018): its image, channels, filters,
// window and stride. The first one of the network has 3 channels and stays on the CPU.
struct Layer {
  const char* name;
  int64_t size, channels, filters, kernel, stride;
};
constexpr Layer kLayers[] = {
    {"C2", 56, 64, 64, 3, 1},    {"C3", 56, 64, 64, 1, 1},   {"C4", 56, 64, 128, 3, 2},
    {"C5", 56, 64, 128, 1, 2},   {"C6", 28, 128, 128, 3, 1}, {"C7", 28, 128, 256, 3, 2},
    {"C8", 28, 128, 256, 1, 2},  {"C9", 14, 256, 256, 3, 1}, {"C10", 14, 256, 512, 3, 2},
    {"C11", 14, 256, 512, 1, 2}, {"C12", 7, 512, 512, 3, 1},
};

struct VdlaOptions {
  std::string layer;
  std::string svg;
  std::optional<std::string> json;
  bool words = false;
  int64_t points = 0;
  int threads = 2;
};

// Cycles of a layer with a number of contexts.
struct Timing {
  int contexts = 1;
  VdlaCounts start;
  std::optional<int64_t> best;  // cycles of the best of random points

  double Peak() const {
    return static_cast<double>(start.multiply_cycles) / static_cast<double>(start.cycles);
  }
};

struct LayerTimings {
  const Layer* layer = nullptr;
  std::vector<Timing> timings;  // with one context and with two
};

Tensor RandomBytes(const std::vector<int64_t>& shape) {
  Tensor tensor = MakeZeroTensor(DType(DTypeCode::kInt8), shape);
  Random random(7);
  for (uint8_t& byte : MutableBytes(tensor)) byte = static_cast<uint8_t>(random.Below(256));
  return tensor;
}

Tensor RandomFloats(const std::vector<int64_t>& shape) {
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  Random random(11);
  for (int64_t i = 0; i < shape[0]; ++i) {
    SetElement(tensor, i, static_cast<double>(random.Between(1, 100)) / 1024);
  }
  return tensor;
}

// Makes bytes of sums as a quantized convolution with a bias and Relu does.
ValueId Requantized(GraphBuilder& builder, ValueId sums, int64_t filters) {
  const DType byte(DTypeCode::kInt8);
  const ValueId scale = builder.Constant("scale", RandomFloats({filters, 1, 1}));
  const ValueId bias = builder.Constant("bias", RandomFloats({filters, 1, 1}));
  const ValueId step = builder.Scalar("out_step", 0.05);
  ValueId value = builder.Emit("numbers", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}});
  value = builder.Emit("scaled", OpKind::kMul, {value, scale}, {});
  value = builder.Emit("biased", OpKind::kAdd, {value, bias}, {});
  value = builder.Emit("relu", OpKind::kRelu, {value}, {});
  return builder.Emit("narrow", OpKind::kQuantizeLinear, {value, step}, {{"to", ToString(byte)}},
                      byte);
}

Graph GraphOf(const Layer& layer, bool words) {
  const DType byte(DTypeCode::kInt8);
  GraphBuilder builder(layer.name, 1);
  const ValueId x = builder.Input("x", {1, layer.channels, layer.size, layer.size});
  const ValueId step = builder.Scalar("step", 0.02);
  const ValueId bytes =
      builder.Emit("bytes", OpKind::kQuantizeLinear, {x, step}, {{"to", ToString(byte)}}, byte);
  const ValueId weight = builder.Constant(
      "w", RandomBytes({layer.filters, layer.channels, layer.kernel, layer.kernel}));
  const int64_t pad = layer.kernel / 2;
  const ValueId sums = builder.Emit(
      "sums", OpKind::kConvInteger, {bytes, weight},
      {{"pads", std::vector<int64_t>(4, pad)}, {"strides", std::vector<int64_t>(2, layer.stride)}},
      kInt32);
  const int64_t out = (layer.size - 1) / layer.stride + 1;
  builder.Output(words ? sums : Requantized(builder, sums, layer.filters),
                 {1, layer.filters, out, out});
  return builder.Take();
}

// Returns the function of the layer's product, as the accelerator takes it.
StatusOr<Function> ProductOf(const Layer& layer, const Target& target, bool words) {
  Graph graph = GraphOf(layer, words);
  TCC_RETURN_IF_ERROR(RunGraphPasses(graph, target.kind));
  const FusedGraph fused = FuseSubgraphs(std::move(graph), target, NumericMode::kStrict);
  TCC_ASSIGN_OR_RETURN(KernelSet kernels, CollectKernels({&fused, 1}, {.target = target}));
  for (const KernelStages& kernel : kernels.kernels) {
    const bool is_product = std::ranges::find(kernel.nodes, "sums") != kernel.nodes.end();
    if (is_product) return kernel.variants[kernel.first_variant];
  }
  return absl::InternalError(fmt::format("{} has no kernel of its product", layer.name));
}

StatusOr<VdlaCounts> CountsAt(const Function& fn, const Sketch& sketch,
                              const Decisions& decisions) {
  TCC_ASSIGN_OR_RETURN(Function scheduled, Replay(fn, sketch.trace, decisions));
  TCC_ASSIGN_OR_RETURN(LoweredKernel lowered, LowerKernel(scheduled));
  TCC_ASSIGN_OR_RETURN(VdlaProgram program, VdlaProgramOf(lowered.lowered, VdlaConfig()));
  return TimeVdla(program, VdlaConfig());
}

int ContextsOf(const Sketch& sketch) {
  const bool has_two = Contains(sketch.program->fn.body, [](const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    return loop && loop->for_kind == ForKind::kVthread;
  });
  return has_two ? 2 : 1;
}

// Returns the least cycles at random points of the sketch's space. Points whose programs do not fit
// the machine's micro-ops are left out.
StatusOr<int64_t> BestOf(const Function& fn, const Sketch& sketch, const Target& target,
                         const VdlaOptions& options, int64_t start) {
  TCC_ASSIGN_OR_RETURN(auto limited, WithinLimits(fn, target, sketch));
  Random random(1);
  const SearchSpace& space = limited->points;
  const std::vector<Point> points = space.Sample(options.points, random);
  std::vector<int64_t> cycles(points.size(), start);
  TCC_RETURN_IF_ERROR(ForEachIndex(points.size(), options.threads, [&](size_t p) {
    const StatusOr<VdlaCounts> counts = CountsAt(fn, sketch, space.ToDecisions(points[p]));
    if (counts.ok()) cycles[p] = counts->cycles;
    return counts.ok() || absl::IsUnimplemented(counts.status()) ? OkStatus() : counts.status();
  }));
  cycles.push_back(start);
  return *std::ranges::min_element(cycles);
}

// Times the first sketch with each number of contexts.
StatusOr<LayerTimings> TimeLayer(const Layer& layer, const Target& target,
                                 const VdlaOptions& options) {
  TCC_ASSIGN_OR_RETURN(Function fn, ProductOf(layer, target, options.words));
  LayerTimings result{.layer = &layer, .timings = {}};
  for (int contexts : {1, 2}) {
    for (const Sketch& sketch : GenerateSketches(fn, target)) {
      if (ContextsOf(sketch) != contexts) continue;
      Timing timing = {.contexts = contexts, .start = {}, .best = {}};
      TCC_ASSIGN_OR_RETURN(timing.start, CountsAt(fn, sketch, sketch.start));
      if (options.points > 0) {
        TCC_ASSIGN_OR_RETURN(timing.best, BestOf(fn, sketch, target, options, timing.start.cycles));
      }
      result.timings.push_back(timing);
      break;
    }
  }
  return result;
}

void PrintRow(const LayerTimings& row) {
  fmt::print("{:<4}", row.layer->name);
  for (const Timing& timing : row.timings) {
    fmt::print("  {} context{} {:>9} cycles {:>3.0f} % of the peak", timing.contexts,
               timing.contexts == 1 ? " " : "s", timing.start.cycles, 100 * timing.Peak());
    if (timing.best) fmt::print(" (best {:>9})", *timing.best);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// Prints the share of the peak over all layers by contexts.
void PrintTotals(const std::vector<LayerTimings>& rows) {
  for (size_t t : {size_t{0}, size_t{1}}) {
    int64_t cycles = 0, multiplies = 0;
    for (const LayerTimings& row : rows) {
      if (t >= row.timings.size()) continue;
      cycles += row.timings[t].start.cycles;
      multiplies += row.timings[t].start.multiply_cycles;
    }
    if (cycles == 0) continue;
    fmt::print("all   {} context{} {:>9} cycles {:>3.0f} % of the peak\n", t + 1,
               t == 0 ? " " : "s", cycles,
               100 * static_cast<double>(multiplies) / static_cast<double>(cycles));
  }
}

nlohmann::json ToJson(const std::vector<LayerTimings>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const LayerTimings& row : rows) {
    for (const Timing& timing : row.timings) {
      nlohmann::json entry = {{"layer", row.layer->name},
                              {"contexts", timing.contexts},
                              {"cycles", timing.start.cycles},
                              {"multiply_cycles", timing.start.multiply_cycles},
                              {"loaded_bytes", timing.start.loaded_bytes},
                              {"stored_bytes", timing.start.stored_bytes}};
      if (timing.best) entry["best_cycles"] = *timing.best;
      list.push_back(std::move(entry));
    }
  }
  return list;
}

std::vector<RooflinePoint> PointsOf(const std::vector<LayerTimings>& rows) {
  std::vector<RooflinePoint> points;
  for (const LayerTimings& row : rows) {
    for (const Timing& timing : row.timings) {
      points.push_back({.name = row.layer->name,
                        .contexts = timing.contexts,
                        .cycles = timing.start.cycles,
                        .multiply_cycles = timing.start.multiply_cycles,
                        .bytes = timing.start.loaded_bytes + timing.start.stored_bytes});
    }
  }
  return points;
}

Status RunVdlaBench(const VdlaOptions& options) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget("vdla"));
  std::vector<LayerTimings> rows;
  for (const Layer& layer : kLayers) {
    if (!options.layer.empty() && options.layer != layer.name) continue;
    TCC_ASSIGN_OR_RETURN(LayerTimings row, TimeLayer(layer, target, options));
    if (options.json != "") PrintRow(row);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return UsageError("no layer '{}'; there are C2 to C12", options.layer);
  if (options.json != "") PrintTotals(rows);
  if (!options.svg.empty()) {
    TCC_RETURN_IF_ERROR(WriteText(RooflineSvg(PointsOf(rows), VdlaConfig()), options.svg));
  }
  return options.json ? WriteText(ToJson(rows).dump(2) + "\n", *options.json) : OkStatus();
}

}  // namespace

BenchAction DeclareVdla(CLI::App& app) {
  auto options = std::make_shared<VdlaOptions>();
  app.add_option("--layer", options->layer, "The only layer, C2 to C12");
  app.add_flag("--words", options->words, "Results leave as words; the host makes bytes of them");
  app.add_option("--points", options->points, "Random points of each space to try, too")
      ->check(CLI::Range(0, 100'000));
  app.add_option("--threads", options->threads, "Threads that lower points")
      ->check(CLI::Range(1, 256));
  app.add_option("--svg", options->svg, "File for a roofline of all layers");
  app.add_option("--json", options->json, "File for the cycles; '': stdout")->expected(0, 1);
  return [options] { return RunVdlaBench(*options); };
}

}  // namespace tcc
