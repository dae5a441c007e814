// Products of signed bytes on the accelerator, compiled and run as a user would.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen_vdla/vdla_backend.h"
#include "compiler/kernels.h"
#include "lower/lower_kernel.h"
#include "models/zoo/graph_builder.h"
#include "schedule/sketches/parts/sketch.h"
#include "support/random.h"
#include "tests/compiler/product_graphs.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;

const DType kI8 = DType(DTypeCode::kInt8), kU8 = DType(DTypeCode::kUInt8);

// The number of the artefact's kernels that the accelerator runs.
int Offloaded(const Artefact& artefact) {
  int count = 0;
  for (const KernelInfo& kernel : artefact.metadata.kernels) {
    for (const auto& [name, value] : kernel.statistics) {
      if (name == "multiply_cycles") count += value > 0 ? 1 : 0;
    }
  }
  return count;
}

void CheckOnVdla(const Graph& graph, int offloaded) {
  const Target vdla = *FindTarget("vdla");
  CHECK(Offloaded(Compiled(graph, vdla)) == offloaded);
  const Status status = DifferenceOn(graph, vdla);
  INFO(status);
  CHECK(status.ok());
}

// Checks products whose results leave as words and as bytes, of signed and of unsigned bytes.
void CheckOnVdla(const ProductCase& c, int offloaded) {
  INFO(c.name);
  CheckOnVdla(SignedByteProduct(c), offloaded);
  CheckOnVdla(ByteProduct(c), offloaded);
  CheckOnVdla(NarrowedProduct(c, kI8, -13), offloaded);
  CheckOnVdla(NarrowedProduct(c, kU8, 121), offloaded);
}

// A convolution with a window of two dimensions.
struct SquareWindow {
  int64_t channels, filters, size, kernel, stride, dilation, pad, batch;
};

ProductCase CaseOf(const char* name, const SquareWindow& w) {
  const int64_t reach = (w.kernel - 1) * w.dilation + 1;
  const int64_t out = (w.size + 2 * w.pad - reach) / w.stride + 1;
  return {name,
          OpKind::kConvInteger,
          {w.batch, w.channels, w.size, w.size + 1},
          {w.filters, w.channels, w.kernel, w.kernel},
          {w.batch, w.filters, out, (w.size + 1 + 2 * w.pad - reach) / w.stride + 1},
          {{"pads", Ints(4, w.pad)},
           {"strides", Ints(2, w.stride)},
           {"dilations", Ints(2, w.dilation)}}};
}

}  // namespace

TEST_CASE("the accelerator multiplies bytes as the interpreter does", "[compiler][vdla]") {
  const ProductCase cases[] = {
      CaseOf("3x3", {32, 48, 14, 3, 1, 1, 1, 1}),
      CaseOf("3x3 by steps of two", {32, 32, 15, 3, 2, 1, 1, 1}),
      CaseOf("1x1 of a batch", {64, 32, 7, 1, 1, 1, 0, 2}),
      CaseOf("5x5 with holes", {16, 16, 13, 5, 1, 2, 4, 1}),
      {"product", OpKind::kMatMulInteger, {12, 64}, {64, 48}, {12, 48}},
      {"one row", OpKind::kMatMulInteger, {1, 512}, {512, 160}, {1, 160}},
      {"a batch of one", OpKind::kMatMulInteger, {1, 12, 64}, {64, 48}, {1, 12, 48}},
      {"rows of two dimensions", OpKind::kMatMulInteger, {3, 5, 32}, {32, 16}, {3, 5, 16}},
      {"one dimension",
       OpKind::kConvInteger,
       {1, 32, 40},
       {16, 32, 3},
       {1, 16, 40},
       {{"pads", Ints{1, 1}}}},
      {"three dimensions",
       OpKind::kConvInteger,
       {1, 16, 4, 6, 5},
       {16, 16, 3, 3, 3},
       {1, 16, 4, 6, 5},
       {{"pads", Ints(6, 1)}}},
  };
  for (const ProductCase& c : cases) CheckOnVdla(c, 1);
}

TEST_CASE("what makes bytes of a product runs with it on the accelerator", "[compiler][vdla]") {
  const ProductCase c = CaseOf("3x3", {32, 48, 14, 3, 1, 1, 1, 1});
  const Artefact artefact = Compiled(NarrowedProduct(c, kI8, 0), *FindTarget("vdla"));
  // Bytes of the input, and their layout, come first.
  const auto& kernels = artefact.metadata.kernels;
  const auto stored = [&](const KernelInfo& kernel) -> int64_t {
    for (const auto& [name, value] : kernel.statistics) {
      if (name == "stored_bytes") return value;
    }
    return 0;
  };
  const auto product = std::ranges::find_if(kernels, stored);
  REQUIRE(product != kernels.end());
  CHECK(stored(*product) == 48 * 14 * 15);
  CHECK(product->nodes == std::vector<std::string>{"sums", "shifted", "real", "scaled", "biased",
                                                   "fine", "again", "relu", "narrow"});
}

TEST_CASE("byte results of two products meet in one tensor", "[compiler][vdla]") {
  GraphBuilder builder("joined", 5);
  const ValueId x = builder.Input("x", {1, 16, 6, 7});
  const std::map<std::string, Attribute> to_byte = {{"axis", int64_t{1}}, {"to", ToString(kI8)}};
  auto quantized = [&](const std::string& name, ValueId value, double step) {
    return builder.Emit(name, OpKind::kQuantizeLinear,
                        {value, builder.Scalar(name + "_step", step)}, to_byte, kI8);
  };
  const ValueId bytes = quantized("bytes", x, 0.02);
  std::vector<ValueId> parts;
  for (int64_t filters : {32, 16}) {
    const std::string name = fmt::format("of_{}", filters);
    Tensor weight = MakeZeroTensor(kI8, {filters, 16, 3, 3}),
           scale = MakeZeroTensor(kFloat32, {filters, 1, 1});
    for (int64_t i = 0; i < filters * 144; ++i) SetElementInt(weight, i, i * 37 % 255 - 127);
    for (int64_t i = 0; i < filters; ++i) SetElement(scale, i, static_cast<double>(i + 1) / 64);
    const ValueId sums =
        builder.Emit(name, OpKind::kConvInteger, {bytes, builder.Constant(name + "_w", weight)},
                     {{"pads", Ints(4, 1)}}, kInt32);
    const ValueId real =
        builder.Emit(name + "_real", OpKind::kCast, {sums}, {{"to", ToString(kFloat32)}});
    const ValueId scaled = builder.Emit(name + "_scaled", OpKind::kMul,
                                        {real, builder.Constant(name + "_scale", scale)});
    parts.push_back(quantized(name + "_narrow", scaled, 512));
  }
  const ValueId all = builder.Emit("all", OpKind::kConcat, parts, {{"axis", int64_t{1}}}, kI8);
  // The graph's output would be no part.
  builder.Output(builder.Emit("y", OpKind::kDequantizeLinear, {all, builder.Scalar("step", 512)},
                              {{"axis", int64_t{1}}, {"to", ToString(kFloat32)}}),
                 {1, 48, 6, 7});
  CheckOnVdla(builder.Take(), 2);
}

TEST_CASE("a product whose epilogue the accelerator lacks runs on the CPU", "[compiler][vdla]") {
  GraphBuilder builder("residual", 5);
  const ValueId x = builder.Input("x", {2, 5, 32}), other = builder.Input("other", {2, 5, 16});
  const std::map<std::string, Attribute> to_byte = {{"axis", int64_t{1}}, {"to", ToString(kI8)}};
  const ValueId bytes = builder.Emit("bytes", OpKind::kQuantizeLinear,
                                     {x, builder.Scalar("x_step", 0.02)}, to_byte, kI8);
  Tensor weight = MakeZeroTensor(kI8, {1, 32, 16}), scale = MakeZeroTensor(kFloat32, {16});
  for (int64_t i = 0; i < 512; ++i) SetElementInt(weight, i, i * 37 % 255 - 127);
  for (int64_t i = 0; i < 16; ++i) SetElement(scale, i, static_cast<double>(i + 1) / 64);
  ValueId y = builder.Emit("sums", OpKind::kMatMulInteger, {bytes, builder.Constant("w", weight)},
                           {}, kInt32);
  y = builder.Emit("real", OpKind::kCast, {y}, {{"to", ToString(kFloat32)}});
  y = builder.Add("joined", y, other);
  y = builder.Emit("scaled", OpKind::kMul, {y, builder.Constant("scale", scale)});
  y = builder.Emit("narrow", OpKind::kQuantizeLinear, {y, builder.Scalar("y_step", 512)}, to_byte,
                   kI8);
  builder.Output(y, {2, 5, 16});
  CheckOnVdla(builder.Take(), 0);
}

TEST_CASE("products that are no whole blocks stay on the CPU", "[compiler][vdla]") {
  CheckOnVdla(CaseOf("odd channels", {20, 16, 8, 3, 1, 1, 1, 1}), 0);
  CheckOnVdla(CaseOf("odd filters", {16, 20, 8, 3, 1, 1, 1, 1}), 0);
  CheckOnVdla({"odd terms", OpKind::kMatMulInteger, {5, 33}, {33, 16}, {5, 16}}, 0);
}

// One block of weights has 12 * 12 taps of 256 bytes, more than the chip has room for.
TEST_CASE("a window that does not fit the chip stays on the CPU", "[compiler][vdla]") {
  CheckOnVdla(CaseOf("12x12", {16, 16, 13, 12, 1, 1, 0, 1}), 0);
}

TEST_CASE("random convolutions are right on the accelerator", "[compiler][vdla]") {
  Random random(17);
  for (int i = 0; i < 40; ++i) {
    SquareWindow w = {.channels = 16 * random.Between(1, 6),
                      .filters = 16 * random.Between(1, 6),
                      .size = random.Between(5, 20),
                      .kernel = random.Between(1, 4),
                      .stride = random.Between(1, 3),
                      .dilation = 1,
                      .pad = random.Between(0, 2),
                      .batch = random.Between(1, 2)};
    w.pad = std::min(w.pad, w.kernel - 1);
    const std::string name = fmt::format("{} of {} to {} channels, {} pixels, stride {}, pad {}",
                                         w.kernel, w.channels, w.filters, w.size, w.stride, w.pad);
    CheckOnVdla(CaseOf(name.c_str(), w), 1);
  }
}

TEST_CASE("every point of a product's space fits the accelerator", "[compiler][vdla]") {
  const Target vdla = *FindTarget("vdla");
  const Graph graph = SignedByteProduct(CaseOf("3x3", {64, 96, 28, 3, 1, 1, 1, 1}));
  StatusOr<KernelSet> kernels = KernelsOf(graph, {.target = vdla});
  REQUIRE(kernels.ok());
  const auto product = std::ranges::find_if(kernels->kernels, [](const KernelStages& kernel) {
    return kernel.sketch.find("vdla") != std::string::npos;
  });
  REQUIRE(product != kernels->kernels.end());
  CHECK(product->variants.size() == 1);
  Random random(3);
  PipelineOptions verified;
  verified.verify = true;
  int contexts = 0;
  for (const Sketch& sketch : GenerateSketches(product->tensor, vdla)) {
    auto limited = WithinLimits(product->tensor, vdla, sketch);
    INFO(limited.status());
    REQUIRE(limited.ok());
    contexts += Print(sketch.trace).find("vthread") != std::string::npos ? 1 : 0;
    const SearchSpace& space = (*limited)->points;
    for (const Point& point : space.Sample(25, random)) {
      StatusOr<Function> scheduled =
          Replay(product->tensor, sketch.trace, space.ToDecisions(point));
      REQUIRE(scheduled.ok());
      StatusOr<LoweredKernel> lowered = LowerKernel(*scheduled, verified);
      REQUIRE(lowered.ok());
      const Status status = VdlaProgramOf(lowered->lowered, VdlaConfig()).status();
      INFO(status);
      CHECK((status.ok() || Message(status).find("micro-ops") != std::string::npos));
    }
  }
  CHECK(contexts == 2);  // along rows and outputs; 29 columns are odd
}

TEST_CASE("a damaged image of the accelerator is refused", "[compiler][vdla]") {
  const Artefact good =
      Compiled(SignedByteProduct(CaseOf("3x3", {16, 16, 6, 3, 1, 1, 1, 1})), "vdla");
  const std::vector<uint8_t> bytes(good.kernels.bytes.begin(), good.kernels.bytes.end());
  for (size_t size : {size_t{0}, size_t{3}, size_t{40}, bytes.size() / 2, bytes.size() - 1}) {
    Artefact cut = good;
    cut.kernels = OwnBytes({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    CHECK(Module::FromArtefact(std::move(cut)).status().code() ==
          absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace tcc
