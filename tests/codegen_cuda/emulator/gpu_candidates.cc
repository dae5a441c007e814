#include "tests/codegen_cuda/emulator/gpu_candidates.h"

#include "codegen_cuda/emulator/driver.h"
#include "runtime/cuda/cuda_device.h"
#include "support/check.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

namespace tcc::test {
namespace {

// Kernels of an input x, a constant w and a result y, 64 elements each; y is to be x + 2 w.
constexpr char kText[] = R"(#include "tcc_emulator.h"
#define TCC_TEST_KERNEL(name, x, w, body)               \
  TCC_KERNEL(name, 64)(x, w, TCC_OUTPUT(float, y)) {    \
    const int i = tcc_thread_x();                       \
    body                                                \
  }                                                     \
  TCC_END_KERNEL(name)
#define TCC_TEST_READER(name, body) \
  TCC_TEST_KERNEL(name, TCC_INPUT(float, x), TCC_INPUT(float, w), body)

TCC_TEST_READER(right, y[i] = x[i] + 2 * w[i];)
TCC_TEST_READER(wrong_by_one_element, y[i] = i == 17 ? 5 : x[i] + 2 * w[i];)
TCC_TEST_READER(forgets_the_last, if (i < 63) y[i] = x[i] + 2 * w[i];)
TCC_TEST_READER(wrong_for_large_values, y[i] = x[i] > 3 || x[i] < -3 ? 0 : x[i] + 2 * w[i];)
TCC_TEST_READER(writes_after_its_end, y[i] = x[i] + 2 * w[i]; if (i == 0) y[64] = 1;)
TCC_TEST_READER(writes_before_its_start, y[i] = x[i] + 2 * w[i]; if (i == 0) y.data[-1] = 1;)
TCC_TEST_READER(reads_far_beyond, y[i] = x[i + (1 << 28)];)
TCC_TEST_READER(add_prepared, y[i] = x[i] + w[i];)
TCC_TEST_KERNEL(writes_its_input, TCC_OUTPUT(float, x), TCC_INPUT(float, w),
                y[i] = x[i] + 2 * w[i]; x[i] = 1;)
TCC_TEST_KERNEL(writes_its_constant, TCC_INPUT(float, x), TCC_OUTPUT(float, w),
                y[i] = x[i] + 2 * w[i]; w[i] = 1;)

// tanh of a sum of `terms` products, each moved by that share of itself as if rounded otherwise.
#define TCC_TEST_TANH(name, terms, moved)                                  \
  TCC_TEST_READER(name, float sum = 0;                                     \
                  for (int k = 0; k < terms; ++k) {                        \
                    const float product = x[(i + k) % 64] * w[k];          \
                    sum += product + (k % 2 ? moved : -(moved)) * product; \
                  } y[i] = tanhf(sum);)
TCC_TEST_TANH(tanh_of_sum, 64, 0.0F)
TCC_TEST_TANH(tanh_rounded_otherwise, 64, 0x1p-18F)
TCC_TEST_TANH(tanh_without_a_term, 63, 0.0F)

TCC_KERNEL(prepare_double, 64)(TCC_INPUT(float, w), TCC_OUTPUT(float, packed)) {
  packed[tcc_thread_x()] = 2 * w[tcc_thread_x()];
}
TCC_END_KERNEL(prepare_double)
)";

using Kind = GpuArgument::Kind;

// The emulated driver that is not told where each buffer ends, as a real one is not.
std::shared_ptr<const Device> MakeUntoldDevice(const DeviceOptions& options) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.takes_notes = false;
  return MakeCudaDevice(driver, options.ordinal);
}
std::shared_ptr<const Device> MakeToldDevice(const DeviceOptions& options) {
  return MakeCudaDevice(emulator::EmulatedDriver(), options.ordinal);
}

constexpr int64_t kBytes = kCandidateCount * 4;  // of each operand

}  // namespace

std::span<const DeviceRow> UntoldDevices() {
  static constexpr DeviceRow kRows[] = {{"cuda", MakeUntoldDevice}};
  return kRows;
}
std::span<const DeviceRow> ToldDevices() {
  static constexpr DeviceRow kRows[] = {{"cuda", MakeToldDevice}};
  return kRows;
}

CudaMeasuringOptions OptionsFor(std::span<const DeviceRow> devices) {
  auto context = CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(kSm));
  TCC_CHECK(context.ok()) << Message(context.status());
  return {.context = *std::move(context),
          .pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1}),
          .devices = devices};
}

GpuKernel KernelOf(const std::string& name, uint32_t buffers) {
  GpuLaunch launch{.symbol = name, .block = {64, 1, 1}};
  for (uint32_t i = 0; i < buffers; ++i) launch.arguments.push_back({Kind::kBuffer, i});
  return {.buffers = buffers, .launches = {launch}};
}

// An artefact of kernels, as a search builds them.
Artefact ArtefactOf(std::vector<std::pair<std::string, GpuKernel>> kernels) {
  const std::string text = kText;
  GpuProgram program{.sm = kSm, .code = GpuCode::kCudaText, .images = {}, .kernels = {}};
  program.images = {{.code = {text.begin(), text.end()}}};
  Artefact artefact;
  artefact.target = "sm_86";
  artefact.device = "cuda";
  for (auto& [name, kernel] : kernels) {
    artefact.metadata.kernels.push_back({name, {}, 0});
    program.kernels.push_back(std::move(kernel));
  }
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  artefact.metadata.inputs = {StaticTensor("p0", kFloat32, {64}),
                              StaticTensor("p1", kFloat32, {64})};
  artefact.metadata.outputs = {StaticTensor("p2", kFloat32, {64})};
  artefact.plan.buffers = {{.kind = BufferKind::kInput, .index = 0, .offset = 0, .bytes = kBytes},
                           {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = kBytes},
                           {.kind = BufferKind::kOutput, .index = 0, .offset = 0, .bytes = kBytes}};
  return artefact;
}

Artefact Candidate(const std::string& name) {
  Artefact artefact = ArtefactOf({{name, KernelOf(name, 3)}});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact WithSharedBytes(int64_t bytes) {
  GpuKernel kernel = KernelOf("right", 3);
  kernel.launches[0].dynamic_shared_bytes = bytes;
  Artefact artefact = ArtefactOf({{"right", kernel}});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact WithWorkspace(int64_t bytes) {
  GpuKernel kernel = KernelOf("right", 3);
  kernel.workspace_bytes = {bytes};
  Artefact artefact = ArtefactOf({{"right", kernel}});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact Prepared() {
  Artefact artefact = ArtefactOf({{"prepare_double", KernelOf("prepare_double", 2)},
                                  {"add_prepared", KernelOf("add_prepared", 3)}});
  artefact.plan.arena_bytes = kBytes;
  artefact.plan.buffers.push_back(
      {.kind = BufferKind::kArena, .index = 0, .offset = 0, .bytes = kBytes});
  artefact.plan.body = {{PlanCall{0, {1, 3}, {}}}, {PlanCall{1, {0, 3, 2}, {}}}};
  return artefact;
}

}  // namespace tcc::test
