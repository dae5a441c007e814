#include <catch2/catch.hpp>

#include "runtime/measure/gpu_task.h"
#include "runtime/measure/opencl_measuring_queue.h"
#include "runtime/opencl/opencl_device.h"
#include "tests/runtime/opencl/opencl_artefacts.h"
#include "tests/runtime/sample_artefact.h"

// Candidates written by hand, measured on the OpenCL device of this machine: y = x + 2 w.
namespace tcc::test {
namespace {

using Kind = GpuArgument::Kind;

constexpr int64_t kCount = 64;          // elements of an operand
constexpr int64_t kBytes = kCount * 4;  // of f32

constexpr char kText[] = R"(
#define AT(name) ((__global float*)((__global char*)name + name##_at))
#define CANDIDATE(name, body)                                                              \
  __kernel __attribute__((reqd_work_group_size(64, 1, 1)))                                 \
  void name(__global float* x, long x_at, __global float* w, long w_at, __global float* y, \
            long y_at) {                                                                   \
    const int i = get_local_id(0);                                                         \
    body                                                                                   \
  }
CANDIDATE(right, AT(y)[i] = AT(x)[i] + 2 * AT(w)[i];)
CANDIDATE(add_prepared, AT(y)[i] = AT(x)[i] + AT(w)[i];)
CANDIDATE(wrong_by_one_element, AT(y)[i] = i == 17 ? 5 : AT(x)[i] + 2 * AT(w)[i];)
CANDIDATE(writes_after_its_end, AT(y)[i] = AT(x)[i] + 2 * AT(w)[i]; if (i == 0) AT(y)[64] = 1;)
CANDIDATE(writes_its_input, AT(y)[i] = AT(x)[i] + 2 * AT(w)[i]; AT(x)[i] = 1;)

__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void prepare_double(__global float* w, long w_at, __global float* packed, long packed_at) {
  AT(packed)[get_local_id(0)] = 2 * AT(w)[get_local_id(0)];
}
)";

GpuKernel KernelOf(const std::string& name, uint32_t buffers) {
  GpuLaunch launch{.symbol = name, .block = {kCount, 1, 1}};
  for (uint32_t i = 0; i < buffers; ++i) launch.arguments.push_back({Kind::kBuffer, i});
  return {.buffers = buffers, .launches = {launch}};
}

PlanBuffer Operand(BufferKind kind, uint32_t index) {
  return {.kind = kind, .index = index, .offset = 0, .bytes = kBytes};
}

// An artefact as a search builds them, without a plan.
Artefact ArtefactOf(const std::vector<std::string>& names, std::vector<GpuKernel> kernels) {
  const std::string text = kText;
  GpuProgram program{.code = GpuCode::kOpenClText, .images = {}, .kernels = std::move(kernels)};
  program.images = {{.code = {text.begin(), text.end()}}};
  Artefact artefact;
  artefact.target = artefact.device = "opencl";
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  for (const std::string& name : names) artefact.metadata.kernels.push_back({name, {}, 0});
  artefact.metadata.inputs = {StaticTensor("p0", kFloat32, {kCount}),
                              StaticTensor("p1", kFloat32, {kCount})};
  artefact.metadata.outputs = {StaticTensor("p2", kFloat32, {kCount})};
  artefact.plan.buffers = {Operand(BufferKind::kInput, 0), Operand(BufferKind::kInput, 1),
                           Operand(BufferKind::kOutput, 0)};
  return artefact;
}

Artefact Candidate(const std::string& name) {
  Artefact artefact = ArtefactOf({name}, {KernelOf(name, 3)});
  artefact.plan.body = {{PlanCall{0, {0, 1, 2}, {}}}};
  return artefact;
}

Artefact Prepared() {
  Artefact artefact = ArtefactOf({"prepare_double", "add_prepared"},
                                 {KernelOf("prepare_double", 2), KernelOf("add_prepared", 3)});
  artefact.plan.arena_bytes = kBytes;
  artefact.plan.buffers.push_back(Operand(BufferKind::kArena, 0));
  artefact.plan.body = {{PlanCall{0, {1, 3}, {}}}, {PlanCall{1, {0, 3, 2}, {}}}};
  return artefact;
}

TEST_CASE("candidates on an OpenCL device are timed if they are right, and told apart if not",
          "[runtime][opencl][measure]") {
  StatusOr<std::shared_ptr<const OpenClContext>> context =
      OpenClContext::Open(OpenOpenClDriver().value(), ChosenOpenClOrdinal().value());
  REQUIRE(context.ok());
  const MakeMeasuringQueue queues =
      OpenClMeasuringQueues(std::make_shared<OpenClMemory>(*std::move(context)),
                            std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1}));
  for (MeasurePolicy policy : {MeasurePolicy::kWarm, MeasurePolicy::kRotateL2}) {
    GpuTask task({.roles = {OperandRole::kInput, OperandRole::kConstant, OperandRole::kOutput},
                  .seed = 1,
                  .epsilon = 0x1p-24,
                  .policy = policy,
                  .gpu = {.max_runs = 8, .max_sets = 3},
                  .artefact = ArtefactBytes(Candidate("right"))},
                 queues);
    const Measurement opened = task.Open();
    INFO(opened.message);
    REQUIRE(opened.status == MeasureStatus::kOk);
    CHECK(opened.seconds > 0);
    auto measured = [&](const Artefact& artefact) {
      return task.Measure({.id = 7, .artefact = ArtefactBytes(artefact)});
    };
    for (const Artefact& artefact : {Candidate("right"), Prepared()}) {
      const Measurement right = measured(artefact);
      INFO(right.message);
      CHECK(right.status == MeasureStatus::kOk);
      CHECK(right.seconds > 0);
      CHECK(right.calls >= 5);  // slow kernels have the fewest
      CHECK(right.calls <= 8);
    }
    for (const auto& [name, message] :
         {std::pair("wrong_by_one_element", "p2"), std::pair("writes_after_its_end", "right after"),
          std::pair("writes_its_input", "wrote its input p0")}) {
      const Measurement wrong = measured(Candidate(name));
      CHECK(wrong.status == MeasureStatus::kWrong);
      CHECK_THAT(wrong.message, Catch::Contains(message));
    }
    CHECK(measured(Candidate("right")).status == MeasureStatus::kOk);
    CHECK(task.end() == MeasureStatus::kOk);
  }
}

}  // namespace
}  // namespace tcc::test
