#include "tests/runtime/opencl/opencl_artefacts.h"

#include "tests/runtime/loop_plan.h"

namespace tcc::test {
namespace {

constexpr char kText[] = R"(
#define AT(type, name) ((__global type*)((__global char*)name + name##_at))

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void scale_add(__global float* x, long x_at, __global float* w, long w_at, __global float* y,
               long y_at, long count) {
  const int i = get_global_id(0);
  if (i < count) AT(float, y)[i] = AT(float, x)[i] + 2 * AT(float, w)[i];
}

__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void put(__global float* x, long x_at, __global float* middle, long middle_at) {
  AT(float, middle)[get_local_id(0)] = AT(float, x)[get_local_id(0)];
}

__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void take(__global float* middle, long middle_at, __global float* y, long y_at) {
  __local float tile[16];
  const int t = get_local_id(0);
  tile[4 * t] = AT(float, middle)[t];
  barrier(CLK_LOCAL_MEM_FENCE);
  AT(float, y)[t] = tile[4 * (3 - t)];
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void count_up(__global float* x, long x_at, __global float* y, long y_at, long count) {
  const int i = get_global_id(0);
  if (i < count) AT(float, y)[i] = AT(float, x)[i] + i;
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void sum_parts(__global float* x, long x_at, __global float* y, long y_at, __global float* parts,
               long parts_at, __global uint* tickets, long tickets_at, long count) {
  __local uint arrived;
  const int t = get_local_id(0), tile = get_group_id(0), i = tile * 128 + t;
  const int cell = tile * 256 + t;
  __global volatile float* part = AT(float, parts);
  if (i < count) part[cell + 128 * get_group_id(1)] = AT(float, x)[i] * (1 + get_group_id(1));
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (t == 0) arrived = atomic_inc((volatile __global uint*)AT(uint, tickets) + tile);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (arrived == 1) {
    if (t == 0) AT(uint, tickets)[tile] = 0;
    if (i < count) AT(float, y)[i] = part[cell] + part[cell + 128];
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void advance(__global float* x, long x_at, __global float* y, long y_at, __global uchar* more,
          long more_at, long i) {
  const float next = 2 * AT(float, x)[0] + i;
  AT(float, y)[0] = next;
  AT(uchar, more)[0] = next < 1000;
}
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
                 .static_shared_bytes = 64,
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
                   .static_shared_bytes = 4,
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

GpuKernel Step() {
  GpuLaunch launch{
      .symbol = "advance",
      .arguments = {{Kind::kBuffer, 0}, {Kind::kBuffer, 1}, {Kind::kBuffer, 2}, {Kind::kShape, 0}}};
  return {.buffers = 3, .shapes = 1, .launches = {launch}};
}

Artefact WithKernels(std::vector<std::string> names, std::vector<GpuKernel> kernels) {
  const std::string text = HandText();
  GpuProgram program{.sm = 0, .code = GpuCode::kOpenClText, .images = {}, .kernels = {}};
  program.images = {{.code = {text.begin(), text.end()}}};
  program.kernels = std::move(kernels);
  Artefact artefact;
  artefact.target = "opencl";
  artefact.device = "opencl";
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

}  // namespace

std::string HandText() {
  return kText;
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

Artefact LoopArtefact() {
  Artefact artefact = WithKernels({"advance"}, {Step()});
  DescribeLoop(artefact, 256);
  return artefact;
}

Artefact ShiftArtefact() {
  Artefact artefact = WithKernels({}, {});
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {8})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {8})};
  artefact.plan.arena_bytes = 64;
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .offset = 0, .bytes = 32},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 32},
                           {.kind = BufferKind::kArena, .offset = 4, .bytes = 28},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 28},
                           {.kind = BufferKind::kArena, .offset = 8, .bytes = 24},
                           {.kind = BufferKind::kArena, .offset = 0, .bytes = 24},
                           {.kind = BufferKind::kOutput, .offset = 0, .bytes = 32}};
  artefact.plan.body = {{PlanCopy{0, 1}}, {PlanCopy{3, 2}}, {PlanCopy{4, 5}}, {PlanCopy{1, 6}}};
  return artefact;
}

Artefact Changed(Artefact artefact, const std::function<void(GpuProgram&)>& change) {
  GpuProgram program = ParseGpuProgram(artefact.kernels.bytes).value();
  change(program);
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  return artefact;
}

StatusOr<Executor> MakeExecutor(Artefact artefact) {
  TCC_ASSIGN_OR_RETURN(Module module,
                       Module::FromArtefact(std::move(artefact), {.pool = {}, .threads = 1}));
  return Executor(std::move(module));
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
