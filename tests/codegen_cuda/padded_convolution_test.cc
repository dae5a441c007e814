// Convolutions as products of matrices, one of which is gathered where its tiles are staged.

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "codegen_cuda/cubin/cubin.h"
#include "ir/expr/visitor.h"
#include "lower/pipeline.h"
#include "schedule/sketches/parts/sketch.h"
#include "schedule/space/schedule.h"
#include "tests/codegen_cuda/nvrtc_rig.h"
#include "tests/programs/point_check.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// A convolution that keeps the size of its images: what the window lacks is padded.
struct Convolution {
  int64_t images = 2, height = 9, width = 7, channels = 32, columns = 40;
  int64_t window_height = 3, window_width = 2, above = 0, left = 1;
  std::string type = "f16";
  bool taps = false;  // are axes of the product, as are channels
};

struct Axis {
  std::string name;
  int64_t extent;
};

std::string Loops(const std::string& block, const std::vector<Axis>& axes, const std::string& body,
                  size_t reduced) {
  std::string loops, iters, ends;
  for (size_t i = 0; i < axes.size(); ++i) {
    loops += fmt::format("for {0} in 0..{1} @{2}/{0} {{ ", axes[i].name, axes[i].extent, block);
    const char* kind = i + reduced < axes.size() ? "spatial" : "reduce";
    iters += fmt::format("{}{}: {} {} = {}", i == 0 ? "" : ", ", axes[i].name, kind, axes[i].extent,
                         axes[i].name);
    ends += " }";
  }
  return fmt::format("{}block {}({}) {{ {} }}{}\n", loops, block, iters, body, ends);
}

std::string Names(const std::vector<Axis>& axes) {
  std::string names;
  for (const Axis& axis : axes) names += (names.empty() ? "" : ", ") + axis.name;
  return names;
}

std::string Shape(const std::vector<Axis>& axes) {
  std::string extents;
  for (const Axis& axis : axes) {
    extents += (extents.empty() ? "" : ", ") + std::to_string(axis.extent);
  }
  return extents;
}

std::vector<Axis> Joined(std::vector<Axis> a, const std::vector<Axis>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Function FunctionOf(const Convolution& c) {
  const Axis p{"p", c.images * c.height * c.width}, o{"o", c.columns};
  std::vector<Axis> k = {{"k", c.window_height * c.window_width * c.channels}};
  if (c.taps) k = {{"kh", c.window_height}, {"kw", c.window_width}, {"c", c.channels}};
  const std::string kh = c.taps ? "kh" : fmt::format("k div {}", c.window_width * c.channels);
  const std::string kw = c.taps ? "kw" : fmt::format("k div {} mod {}", c.channels, c.window_width);
  const std::string y = fmt::format("p div {} mod {} + {} - {}", c.width, c.height, kh, c.above);
  const std::string x = fmt::format("p mod {} + {} - {}", c.width, kw, c.left);
  const std::string gathered = fmt::format(
      "columns[{}] = select(0 <= {y} && {y} < {height} && 0 <= {x} && {x} < {width}, "
      "X[p div {area}, {y}, {x}, {channel}], 0.0)",
      Names(Joined({p}, k)), fmt::arg("y", y), fmt::arg("x", x), fmt::arg("height", c.height),
      fmt::arg("width", c.width), fmt::arg("area", c.height * c.width),
      fmt::arg("channel", c.taps ? "c" : fmt::format("k mod {}", c.channels)));
  const std::string product = fmt::format(
      "reduce sum_f32 init (Y[p, o]) with (f32({0}(columns[{1}])) * f32({0}(W[{2}])))",
      c.type == std::string("f32") ? "tf32" : "", Names(Joined({p}, k)), Names(Joined(k, {o})));
  return MustParse(fmt::format(
      "combiner sum_f32(a: f32 = 0.0; b: f32) = (a + b)\n"
      "fn conv(X: {0}[{1}, {2}, {3}, {4}], W: {0}[{5}], Y: f32[{6}]) tensor {{\n"
      "alloc columns: {0}[{7}]\n{8}{9}}}",
      c.type, c.images, c.height, c.width, c.channels, Shape(Joined(k, {o})), Shape({p, o}),
      Shape(Joined({p}, k)), Loops("columns", Joined({p}, k), gathered, 0),
      Loops("conv", Joined({p, o}, k), product, k.size())));
}

// The function as the first sketch's start makes it.
Function Lowered(const Function& fn, const Sketch& sketch) {
  StatusOr<Function> scheduled = Replay(fn, sketch.trace, sketch.start);
  INFO(Message(scheduled.status()));
  REQUIRE(scheduled.ok());
  StatusOr<Function> lowered = RunPipeline(*scheduled);
  INFO(Message(lowered.status()));
  REQUIRE(lowered.ok());
  return *lowered;
}

// The copies that bring zeros somewhere.
int CountKept(const Function& lowered) {
  int kept = 0;
  PreOrder(lowered.body, [&](const Stmt& stmt) {
    const auto* copy = stmt.as<AsyncCopy>();
    kept += copy && copy->keep;
  });
  return kept;
}

}  // namespace

TEST_CASE("a padded convolution on tensor cores copies zeros round its input asynchronously",
          "[codegen_cuda]") {
  struct Case {
    Convolution convolution;
    const char* target;
  };
  const Case cases[] = {
      {{}, "sm_80"},
      {{}, "sm_90a"},
      {{.type = "f32"}, "sm_80"},
      {{.channels = 64, .taps = true}, "sm_80"},
      {{.channels = 64, .left = 0, .type = "bf16", .taps = true}, "sm_90a"},
      {{.above = 2, .type = "f32", .taps = true}, "sm_90a"},
  };
  for (const Case& c : cases) {
    INFO(c.convolution.type << " for " << c.target << (c.convolution.taps ? " by taps" : ""));
    Function fn = FunctionOf(c.convolution);
    Sketch sketch = FirstSketch(fn, GpuTarget(c.target));
    CHECK(CountKept(Lowered(fn, sketch)) > 0);

    StatusOr<SymbolicProgram> program = Instantiate(fn, sketch.trace);
    REQUIRE(program.ok());
    Random random(3);
    PointCheckOptions options;
    options.max_instances = 20'000'000;
    options.run_scheduled = [&](const Function& point, std::vector<Tensor>& arguments) {
      return RunEmulated(point, GpuTarget(c.target), arguments);
    };
    PointReport report = CheckPoint(fn, *program, sketch.start, random, options);
    INFO(report.message);
    CHECK(report.outcome == PointOutcome::kRight);
  }
}

TEST_CASE("a step of a convolution by taps takes few slots beside its products",
          "[codegen_cuda][nvrtc]") {
  const Convolution convolution{.images = 32,
                                .height = 28,
                                .width = 28,
                                .channels = 128,
                                .columns = 128,
                                .window_width = 3,
                                .above = 1,
                                .taps = true};
  for (const char* target : {"sm_80", "sm_90a"}) {
    INFO(target);
    Function fn = FunctionOf(convolution);
    Function lowered = Lowered(fn, FirstSketch(fn, GpuTarget(target)));
    std::optional<Cubin> cubin = MustCompile(SourceOf({lowered}, target), target);
    if (!cubin) return;
    StatusOr<std::vector<CubinKernel>> kernels = ReadCubin(cubin->image, GpuTarget(target).sm);
    REQUIRE(kernels.ok());
    const SassCounts& loop = kernels->at(0).facts.main_loop;
    INFO(loop.OnTensorCores() << " of " << loop.total);
    // A warp's 64 x 32 a step; a group of four has one instruction for 64 rows and all columns.
    const bool by_group = loop.of(SassKind::kHgmma) > 0;
    CHECK(loop.OnTensorCores() >= (by_group ? 4 : 32));
    CHECK(loop.total <= (by_group ? 200 : 4 * loop.of(SassKind::kHmma)));
    for (const KernelResources& launch : cubin->kernels) CHECK(launch.spill_stores == 0);
  }
}
