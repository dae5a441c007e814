#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

#include <regex>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_device.h"
#include "support/check.h"
#include "tests/runtime/loop_plan.h"

namespace tcc::test {
namespace {

constexpr char kText[] = R"(#include "tcc_emulator.h"
TCC_KERNEL(scale_add, 128)(TCC_INPUT(float, x), TCC_INPUT(float, w), TCC_OUTPUT(float, y),
                           TCC_SHAPE(count)) {
  const int i = tcc_block_x() * 128 + tcc_thread_x();
  if (i < count) {
    y[i] = x[i] + 2 * w[i];
  }
}
TCC_END_KERNEL(scale_add)

TCC_KERNEL(put, 4)(TCC_INPUT(float, x), TCC_OUTPUT(float, middle)) {
  middle[tcc_thread_x()] = x[tcc_thread_x()];
}
TCC_END_KERNEL(put)

TCC_KERNEL(take, 4)(TCC_INPUT(float, middle), TCC_OUTPUT(float, y)) {
  TCC_SHARED_AT(float, tile, 0, 16384);
  tile[tcc_thread_x() * 4096] = middle[tcc_thread_x()];
  tcc_barrier();
  y[tcc_thread_x()] = tile[(3 - tcc_thread_x()) * 4096];
}
TCC_END_KERNEL(take)

TCC_KERNEL(count_up, 128)(TCC_INPUT(float, x), TCC_OUTPUT(float, y), TCC_SHAPE(count)) {
  const int i = tcc_block_x() * 128 + tcc_thread_x();
  if (i < count) {
    y[i] = x[i] + i;
  }
}
TCC_END_KERNEL(count_up)

TCC_KERNEL(sum_parts, 128)(TCC_INPUT(float, x), TCC_OUTPUT(float, y), TCC_HANDED(float, parts),
                           TCC_TICKETS(tickets), TCC_SHAPE(count)) {
  const int i = tcc_block_x() * 128 + tcc_thread_x();
  const int cell = tcc_block_x() * 256 + tcc_thread_x();
  if (i < count) {
    parts[cell + tcc_block_y() * 128] = x[i] * (float)(1 + tcc_block_y());
  }
  tcc_fence();
  if (tcc_is_last(tickets, tcc_block_x(), 2)) {
    tcc_reset_ticket(tickets, tcc_block_x());
    tcc_fence();
    if (i < count) {
      y[i] = parts[cell] + parts[cell + 128];
    }
  }
}
TCC_END_KERNEL(sum_parts)

TCC_KERNEL(twice, 128)(TCC_SHAPE(count), TCC_MAP(view), TCC_OUTPUT(float, y)) {
  TCC_SHARED_AT(float, tile, 0, 128);
  TCC_SHARED_AT(unsigned long long, arrived, 512, 1);
  const int t = tcc_thread_x(), first = tcc_block_x() * 128;
  if (t == 0) {
    tcc_init_boxes(arrived, 0);
    tcc_expect_boxes(arrived, 0, 512);
    tcc_copy_box(tile, 0, view, arrived, 0, first);
  }
  tcc_barrier();
  tcc_wait_boxes(arrived, 0, 0);
  if (first + t < count) {
    y[first + t] = 2 * tile[t];
  }
}
TCC_END_KERNEL(twice)

TCC_KERNEL(step, 1)(TCC_INPUT(float, x), TCC_OUTPUT(float, y), TCC_OUTPUT(bool, more),
                    TCC_SHAPE(i)) {
  const float next = 2 * x[0] + (float)i;
  y[0] = next;
  more[0] = next < 1000;
}
TCC_END_KERNEL(step)
)";

using Kind = GpuArgument::Kind;

GpuKernel ScaleAdd() {
  GpuLaunch launch{
      .symbol = "scale_add",
      .grid = {Combine(SizeOp::kCeilDiv, SizeExpr::Variable(0), 128), 1, 1},
      .block = {128, 1, 1},
      .arguments = {{Kind::kBuffer, 0}, {Kind::kBuffer, 1}, {Kind::kBuffer, 2}, {Kind::kShape, 0}}};
  return {.buffers = 3, .shapes = 1, .launches = {launch}};
}

GpuKernel Reverse() {
  GpuLaunch put{.symbol = "put",
                .block = {4, 1, 1},
                .arguments = {{Kind::kBuffer, 0}, {Kind::kWorkspace, 0}}};
  GpuLaunch take{.symbol = "take",
                 .block = {4, 1, 1},
                 .dynamic_shared_bytes = 65536,
                 .arguments = {{Kind::kWorkspace, 0}, {Kind::kBuffer, 1}}};
  return {.buffers = 2, .launches = {put, take}, .workspace_bytes = {16}};
}

GpuKernel CountUp() {
  GpuLaunch launch{.symbol = "count_up",
                   .grid = {Combine(SizeOp::kCeilDiv, SizeExpr::Variable(0), 128), 1, 1},
                   .block = {128, 1, 1},
                   .arguments = {{Kind::kBuffer, 0}, {Kind::kBuffer, 1}, {Kind::kShape, 0}}};
  return {.buffers = 2, .shapes = 1, .launches = {launch}};
}

GpuKernel SumParts() {
  SizeExpr tiles = Combine(SizeOp::kCeilDiv, SizeExpr::Variable(0), 128);
  GpuLaunch launch{.symbol = "sum_parts",
                   .grid = {tiles, 2, 1},
                   .block = {128, 1, 1},
                   .arguments = {{Kind::kBuffer, 0},
                                 {Kind::kBuffer, 1},
                                 {Kind::kWorkspace, 0},
                                 {Kind::kTickets, 0},
                                 {Kind::kShape, 0}}};
  return {.buffers = 2,
          .shapes = 1,
          .launches = {launch},
          .workspace_bytes = {Combine(SizeOp::kMul, tiles, 1024)}};
}

GpuKernel Twice() {
  SizeExpr n = SizeExpr::Variable(0);
  GpuTensorMap map{
      .array = {Kind::kBuffer, 0}, .type = GpuMapType::kF32, .extents = {n}, .box = {128}};
  GpuLaunch launch{.symbol = "twice",
                   .grid = {Combine(SizeOp::kCeilDiv, n, 128), 1, 1},
                   .block = {128, 1, 1},
                   .dynamic_shared_bytes = 1024,
                   .arguments = {{Kind::kShape, 0}, {Kind::kTensorMap, 0}, {Kind::kBuffer, 1}},
                   .maps = {map}};
  return {.buffers = 2, .shapes = 1, .launches = {launch}};
}

GpuKernel Step() {
  GpuLaunch launch{
      .symbol = "step",
      .arguments = {{Kind::kBuffer, 0}, {Kind::kBuffer, 1}, {Kind::kBuffer, 2}, {Kind::kShape, 0}}};
  return {.buffers = 3, .shapes = 1, .launches = {launch}};
}

Artefact WithKernels(std::vector<std::string> names, std::vector<GpuKernel> kernels) {
  GpuProgram program = HandProgram();
  program.kernels = std::move(kernels);
  Artefact artefact;
  artefact.target = "sm_86";
  artefact.device = "cuda";
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  for (std::string& name : names) artefact.metadata.kernels.push_back({std::move(name), {}, 0});
  return artefact;
}

// A copy of x, f32[N], and a kernel that makes y of it.
Artefact OfFreeSize(const std::string& name, GpuKernel kernel) {
  Artefact artefact = WithKernels({name}, {std::move(kernel)});
  SizeExpr n = SizeExpr::Variable(0), bytes = Combine(SizeOp::kMul, n, 4);
  artefact.metadata.shape_variables = {{"N", 0, 4096, 128}};
  artefact.metadata.kernels[0].shape_args = {{0, int64_t{1} << 24}};
  artefact.metadata.inputs = {{"x", kFloat32, {n}}};
  artefact.metadata.outputs = {{"y", kFloat32, {n}}};
  artefact.plan.shape_variables = 1;
  artefact.plan.arena_bytes = bytes;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .offset = 0, .bytes = bytes},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = bytes},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = bytes}};
  artefact.plan.body = {{PlanCopy{0, 1}}, {PlanCall{0, {1, 2}, {n}}}};
  return artefact;
}

// DeviceRow::make takes no captures.
template <int kArch>
std::shared_ptr<const Device> MakeEmulated(const DeviceOptions&) {
  return MakeCudaDevice(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kArch));
}

}  // namespace

GpuProgram HandProgram() {
  GpuProgram program{.sm = kSm, .code = GpuCode::kCudaText, .images = {}, .kernels = {}};
  const std::string text = kText;
  program.images = {{.code = {text.begin(), text.end()}}};
  return program;
}

Artefact ScaleReverseArtefact() {
  Artefact artefact = WithKernels({"scale_add", "reverse"}, {ScaleAdd(), Reverse()});
  Tensor weight = Floats({4}, {1, 2, 3, 4});
  artefact.weights = PackWeights({&weight, 1}).bytes;
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {4})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {4})};
  artefact.metadata.kernels[0].shape_args = {{0, 1000}};
  artefact.plan.arena_bytes = 512;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kWeight, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 16},
                           {.kind = BufferKind::kArena, .offset = 256, .bytes = 16},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = 16}};
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {4}}},
                        {PlanCall{0, {2, 1, 3}, {4}}},
                        {PlanCall{1, {3, 2}, {}}},
                        {PlanCopy{2, 4}}};
  return artefact;
}

Artefact DynamicArtefact() {
  return OfFreeSize("count_up", CountUp());
}

Artefact PartsArtefact() {
  return OfFreeSize("sum_parts", SumParts());
}

Artefact MapArtefact() {
  return Waiting(OfFreeSize("twice", Twice()));
}

Artefact LoopArtefact() {
  Artefact artefact = WithKernels({"step"}, {Step()});
  DescribeLoop(artefact, 256);
  return artefact;
}

Artefact Waiting(Artefact artefact) {
  GpuProgram program = ParseGpuProgram(artefact.kernels.bytes).value();
  program.sm = 90;
  std::vector<uint8_t>& code = program.images[0].code;
  const std::string text(code.begin(), code.end());
  const std::string waiting = std::regex_replace(text, std::regex(R"(TCC_KERNEL\([^{]*\{)"),
                                                 "$&\n  tcc_wait_for_launch_before();");
  code.assign(waiting.begin(), waiting.end());
  for (GpuKernel& kernel : program.kernels) {
    for (GpuLaunch& launch : kernel.launches) launch.waits = true;
  }
  artefact.target = "sm_90a";
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  return artefact;
}

std::span<const DeviceRow> EmulatedDevices() {
  static constexpr DeviceRow kRows[] = {{"cuda", MakeEmulated<kSm>}};
  return kRows;
}

StatusOr<Executor> MakeExecutor(Artefact artefact, int sm) {
  static constexpr DeviceRow kOther[] = {{"cuda", MakeEmulated<75>}};
  static constexpr DeviceRow kNewest[] = {{"cuda", MakeEmulated<90>}};
  LoadOptions options{.pool = {}, .threads = 1, .devices = EmulatedDevices()};
  if (sm == 75) options.devices = kOther;
  if (sm == 90) options.devices = kNewest;
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), options));
  return Executor(std::move(module));
}

Executor Made(Artefact artefact) {
  StatusOr<Executor> executor = MakeExecutor(std::move(artefact));
  TCC_CHECK(executor.ok()) << Message(executor.status());
  return *std::move(executor);
}

StatusOr<std::vector<double>> RunOne(Executor& executor, const std::vector<Tensor>& inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(inputs));
  std::vector<double> values;
  for (int64_t i = 0; i < *ElementCount(outputs[0].shape); ++i) {
    values.push_back(ElementAsDouble(outputs[0], i));
  }
  return values;
}

Tensor Floats(std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor tensor = MakeZeroTensor(kFloat32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) SetElement(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

}  // namespace tcc::test
