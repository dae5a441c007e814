#include "search/measure/local_network.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "ir/text/parser.h"
#include "runtime/measure/bound_network.h"
#include "tests/runtime/measured_artefact.h"
#include "tests/search/sample_database.h"

// A network of two kernels of measured_kernels.c, in the worker that users get.
namespace tcc {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

constexpr int64_t kBytes = kMeasuredCount * 4;

// The function of measured_kernels.c; its second operand may be a constant.
Workload AddWorkload(bool constant) {
  StatusOr<Function> fn = ParseFunction(fmt::format(R"(
    fn kernel(p0: f32[1024], p1: f32[1024]{}, p2: f32[1024]) tensor {{
      for i in 0..1024 @b0/i {{
        block b0(i: spatial 1024 = i) {{ p2[i] = p0[i] + p1[i] * 2.0 }} }} }})",
                                                    constant ? " constant" : ""));
  INFO(fn.status());
  REQUIRE(fn.ok());
  Workload workload;
  workload.name = constant ? "constant" : "plain";
  workload.variants = {*fn};
  workload.inputs = 2;
  return workload;
}

// Element i of the n-th constant.
float WeightAt(int64_t constant, int64_t i) {
  return static_cast<float>(i % 7) - 3 * static_cast<float>(constant);
}

SharedBytes Weights(int64_t constants) {
  std::vector<uint8_t> bytes;
  for (int64_t c = 0; c < constants; ++c) {
    std::vector<float> values;
    for (int64_t i = 0; i < kMeasuredCount; ++i) values.push_back(WeightAt(c, i));
    const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
    bytes.insert(bytes.end(), begin, begin + kBytes);
  }
  return OwnBytes(std::move(bytes));
}

// A skeleton that computes y from x through t in the arena, in two calls of `body`. Its buffers are
// 0: x, 1: t, 2: y, 3: the first constant, 4: the second one.
Artefact SkeletonOf(const std::vector<std::string>& kernels, const std::vector<PlanCall>& body) {
  Artefact artefact;
  artefact.target = "x86-64-v3";
  artefact.device = "cpu";
  artefact.weights = Weights(2);
  artefact.metadata.model = "skeleton";
  for (const std::string& kernel : kernels) artefact.metadata.kernels.push_back({kernel, {}, 0});
  artefact.metadata.inputs = {StaticTensor("x", kFloat32, {kMeasuredCount})};
  artefact.metadata.outputs = {StaticTensor("y", kFloat32, {kMeasuredCount})};
  artefact.plan.arena_bytes = kBytes;
  auto buffer = [](BufferKind kind, int64_t offset) {
    return PlanBuffer{.kind = kind, .index = 0, .offset = offset, .bytes = kBytes};
  };
  artefact.plan.buffers = {buffer(BufferKind::kInput, 0), buffer(BufferKind::kArena, 0),
                           buffer(BufferKind::kOutput, 0), buffer(BufferKind::kWeight, 0),
                           buffer(BufferKind::kWeight, kBytes)};
  for (const PlanCall& call : body) artefact.plan.body.push_back({call});
  Status valid = VerifyArtefact(artefact);
  INFO(valid);
  REQUIRE(valid.ok());
  return artefact;
}

// t = x + 2 * constant; y = t + 2 * x.
Artefact TwoKernels() {
  return SkeletonOf({"first", "second"}, {PlanCall{0, {0, 3, 1}, {}}, PlanCall{1, {1, 0, 2}, {}}});
}

// The same kernel twice, with a constant of its own each time.
Artefact OneKernelTwice() {
  return SkeletonOf({"both"}, {PlanCall{0, {0, 3, 1}, {}}, PlanCall{0, {1, 4, 2}, {}}});
}

std::vector<uint8_t> KernelBytes(const std::string& kernel) {
  return ArtefactBytes(MeasuredArtefact(kernel));
}

std::vector<uint8_t> PreparedBytes() {
  return ArtefactBytes(PreparedArtefact("prepare_double", "add_prepared"));
}

// --- in this process

using Roles = std::vector<std::vector<OperandRole>>;

std::unique_ptr<BoundNetwork> BoundNetworkOf(Artefact skeleton, const Roles& roles) {
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1});
  StatusOr<std::unique_ptr<BoundNetwork>> network =
      BoundNetwork::Create(std::move(skeleton), roles, pool, 5);
  INFO(network.status());
  REQUIRE(network.ok());
  return std::move(*network);
}

NetworkRun RunOf(BoundNetwork& network, const std::vector<uint8_t>& slots) {
  StatusOr<NetworkRun> run = network.Run(slots);
  INFO(run.status());
  REQUIRE(run.ok());
  return *run;
}

// Whether y is x + 2 * first constant + 2 * second constant.
bool AddsBothConstants(BoundNetwork& network) {
  std::span<const float> x = network.inputs()[0].values<float>();
  std::span<const float> y = network.outputs()[0].values<float>();
  for (int64_t i = 0; i < kMeasuredCount; ++i) {
    auto at = static_cast<size_t>(i);
    if (y[at] != x[at] + 2 * WeightAt(0, i) + 2 * WeightAt(1, i)) return false;
  }
  return true;
}

void Forget(BoundNetwork& network) {
  std::span<const uint8_t> bytes = network.outputs()[0].bytes;
  std::fill_n(const_cast<uint8_t*>(bytes.data()), bytes.size(), 0xff);
}

// --- in a worker

// Removed with the test's folder.
struct SkeletonFile {
  explicit SkeletonFile(const Artefact& skeleton) {
    Status written = WriteArtefact(skeleton, path);
    INFO(written);
    REQUIRE(written.ok());
  }
  DatabaseFolder folder;
  std::string path = folder / "skeleton.tcc";
};

std::unique_ptr<NetworkMeasurer> OpenTwoKernels(const SkeletonFile& file,
                                                double run_seconds = 100) {
  std::vector<Workload> workloads = {AddWorkload(true), AddWorkload(false)};
  StatusOr<std::unique_ptr<NetworkMeasurer>> network =
      MakeLocalNetwork({.skeleton = file.path, .task_of_kernel = {0, 1}}, workloads,
                       {.worker = TCC_REAL_WORKER, .run_seconds = run_seconds});
  INFO(network.status());
  REQUIRE(network.ok());
  return std::move(*network);
}

void BindKernel(NetworkMeasurer& network, size_t task, size_t slot, const std::string& kernel) {
  Status bound = network.Bind(task, slot, KernelBytes(kernel));
  INFO(bound);
  REQUIRE(bound.ok());
}

StatusOr<NetworkTiming> TimingOf(NetworkMeasurer& network, const std::vector<size_t>& slots,
                                 int runs = 3) {
  return network.Run(slots, runs);
}

void CheckRuns(NetworkMeasurer& network, const std::vector<size_t>& slots) {
  StatusOr<NetworkTiming> timing = TimingOf(network, slots);
  INFO(timing.status());
  REQUIRE(timing.ok());
  REQUIRE(timing->task_seconds.size() == slots.size());
  double sum = 0;
  for (double seconds : timing->task_seconds) {
    CHECK(seconds > 0);
    sum += seconds;
  }
  CHECK(timing->seconds >= sum);
  CHECK(timing->seconds < 10);
}

// Children of this process, from /proc/N/stat: "N (name) state parent ...".
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(line.substr(name_end + 1));
    char state = 0;
    pid_t parent = 0;
    rest >> state >> parent;
    if (parent == getpid()) children.push_back(std::stoi(line));
  }
  return children;
}

bool HasChildren() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

// Returns once the only worker is dead; its exit status stays to be collected.
void KillWorker() {
  std::vector<pid_t> workers = Children();
  REQUIRE(workers.size() == 1);
  REQUIRE(kill(workers[0], SIGKILL) == 0);
  siginfo_t ignored{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(workers[0]), &ignored, WEXITED | WNOWAIT) == 0);
}

}  // namespace

TEST_CASE("a workload's parameters have the roles that its function gives them",
          "[search][network]") {
  using enum OperandRole;
  CHECK(RolesOf(AddWorkload(true)) == std::vector{kInput, kConstant, kOutput});
  CHECK(RolesOf(AddWorkload(false)) == std::vector{kInput, kInput, kOutput});
}

TEST_CASE("constants are prepared once for each call that has its own", "[search][network]") {
  using enum OperandRole;
  std::unique_ptr<BoundNetwork> network =
      BoundNetworkOf(OneKernelTwice(), {{kInput, kConstant, kOutput}});
  REQUIRE(network->Bind(0, 0, PreparedBytes()).ok());
  REQUIRE(network->Bind(0, 1, KernelBytes("right")).ok());
  CHECK(RunOf(*network, {0}).prepared);
  CHECK(AddsBothConstants(*network));
  for (uint8_t slot : {0, 1, 0}) {
    INFO("slot " << int{slot});
    Forget(*network);
    CHECK_FALSE(AddsBothConstants(*network));
    CHECK_FALSE(RunOf(*network, {slot}).prepared);
    CHECK(AddsBothConstants(*network));
  }
  // Another candidate in the slot prepares its own.
  REQUIRE(network->Bind(0, 0, PreparedBytes()).ok());
  Forget(*network);
  CHECK(RunOf(*network, {0}).prepared);
  CHECK(AddsBothConstants(*network));
  REQUIRE(network->Bind(0, 0, KernelBytes("right")).ok());
  Forget(*network);
  CHECK_FALSE(RunOf(*network, {0}).prepared);
  CHECK(AddsBothConstants(*network));
}

TEST_CASE("a network reads the inputs that its caller fills", "[search][network]") {
  using enum OperandRole;
  std::unique_ptr<BoundNetwork> network =
      BoundNetworkOf(OneKernelTwice(), {{kInput, kConstant, kOutput}});
  REQUIRE(network->Bind(0, 0, KernelBytes("right")).ok());
  for (float value : {0.5F, -3.0F}) {
    for (int64_t i = 0; i < kMeasuredCount; ++i) SetElement(network->inputs()[0], i, value);
    NetworkRun run = RunOf(*network, {0});
    CHECK(AddsBothConstants(*network));
    CHECK(network->outputs()[0].values<float>()[0] == value - 6);
    REQUIRE(run.kernel_seconds.size() == 1);
    CHECK(run.kernel_seconds[0] > 0);
    CHECK(run.seconds >= run.kernel_seconds[0]);
  }
}

TEST_CASE("a bound network refuses what it does not have", "[search][network]") {
  using enum OperandRole;
  std::unique_ptr<BoundNetwork> network =
      BoundNetworkOf(OneKernelTwice(), {{kInput, kConstant, kOutput}});
  CHECK_THAT(Message(network->Bind(1, 0, KernelBytes("right"))), Contains("no kernel 1"));
  CHECK_THAT(Message(network->Bind(0, 2, KernelBytes("right"))), Contains("no slot 2"));
  CHECK_FALSE(network->Bind(0, 0, {1, 2, 3}).ok());
  CHECK_THAT(Message(network->Run(std::vector<uint8_t>{0, 0}).status()), Contains("2 slots"));
  CHECK_THAT(Message(network->Run(std::vector<uint8_t>{0}).status()), Contains("both"));
  // A candidate that does not load leaves none.
  REQUIRE(network->Bind(0, 0, KernelBytes("right")).ok());
  RunOf(*network, {0});
  CHECK_FALSE(network->Bind(0, 0, {1, 2, 3}).ok());
  CHECK_FALSE(network->Run(std::vector<uint8_t>{0}).ok());
}

TEST_CASE("tasks are timed in the worker, from either slot", "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::unique_ptr<NetworkMeasurer> network = OpenTwoKernels(file);
  BindKernel(*network, 0, 0, "right");
  BindKernel(*network, 1, 0, "right");
  BindKernel(*network, 1, 1, "parallel");
  REQUIRE(network->Bind(0, 1, PreparedBytes()).ok());
  for (size_t first : {0, 1, 0}) {
    for (size_t second : {0, 1}) {
      INFO(first << " " << second);
      CheckRuns(*network, {first, second});
    }
  }
  network.reset();
  CHECK_FALSE(HasChildren());
}

TEST_CASE("kernels of one task are bound and timed together", "[search][network]") {
  SkeletonFile file(
      SkeletonOf({"first", "second"}, {PlanCall{0, {0, 3, 1}, {}}, PlanCall{1, {1, 4, 2}, {}}}));
  std::vector<Workload> workloads = {AddWorkload(true)};
  StatusOr<std::unique_ptr<NetworkMeasurer>> network = MakeLocalNetwork(
      {.skeleton = file.path, .task_of_kernel = {0, 0}}, workloads, {.worker = TCC_REAL_WORKER});
  REQUIRE(network.ok());
  BindKernel(**network, 0, 0, "right");
  CheckRuns(**network, {0});
}

TEST_CASE("an empty slot is an error that names the kernel", "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::unique_ptr<NetworkMeasurer> network = OpenTwoKernels(file);
  BindKernel(*network, 0, 0, "right");
  Status empty = TimingOf(*network, {0, 0}).status();
  CHECK(absl::IsAborted(empty));
  CHECK_THAT(Message(empty), Contains("second"));
  CHECK_THAT(Message(empty), Contains("no candidate"));
  // The worker is there for another try.
  BindKernel(*network, 1, 0, "right");
  CheckRuns(*network, {0, 0});
  CHECK_THAT(Message(TimingOf(*network, {1, 0}).status()), Contains("first"));
}

TEST_CASE("a candidate that does not load or fails is an error, and others run",
          "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::unique_ptr<NetworkMeasurer> network = OpenTwoKernels(file);
  BindKernel(*network, 0, 0, "right");
  BindKernel(*network, 1, 0, "right");
  // The slot is empty then, which its run tells.
  for (const std::vector<uint8_t>& artefact :
       {std::vector<uint8_t>{1, 2, 3}, std::vector<uint8_t>(KernelBytes("is_missing"))}) {
    CHECK(network->Bind(0, 1, artefact).ok());
    Status damaged = TimingOf(*network, {1, 0}).status();
    CHECK(absl::IsAborted(damaged));
    CHECK_THAT(Message(damaged), Contains("the network in the worker: "));
    CHECK_THAT(Message(damaged), Contains("no candidate"));
  }
  CheckRuns(*network, {0, 0});
  BindKernel(*network, 0, 1, "fails");
  Status failed = TimingOf(*network, {1, 0}).status();
  CHECK(absl::IsAborted(failed));
  CHECK_THAT(Message(failed), Contains("7"));
  CheckRuns(*network, {0, 0});
}

TEST_CASE("a candidate that ends the worker aborts the run, and another slot runs",
          "[search][network]") {
  SkeletonFile file(TwoKernels());
  for (const char* kernel : {"stores_to_null", "exits"}) {
    INFO(kernel);
    std::unique_ptr<NetworkMeasurer> network = OpenTwoKernels(file);
    BindKernel(*network, 0, 0, "right");
    BindKernel(*network, 1, 0, "right");
    BindKernel(*network, 0, 1, kernel);
    for (int round = 0; round < 2; ++round) {
      Status ended = TimingOf(*network, {1, 0}).status();
      CHECK(absl::IsAborted(ended));
      CHECK_THAT(Message(ended), Contains("the worker that ran the network ended "));
      CheckRuns(*network, {0, 0});
    }
    BindKernel(*network, 0, 1, "right");
    CheckRuns(*network, {1, 0});
    network.reset();
    CHECK_FALSE(HasChildren());
  }
}

TEST_CASE("a candidate that never returns aborts the run as well", "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::unique_ptr<NetworkMeasurer> network = OpenTwoKernels(file, 0.7);
  BindKernel(*network, 0, 0, "right");
  BindKernel(*network, 1, 0, "right");
  BindKernel(*network, 1, 1, "never_returns");
  Status ended = TimingOf(*network, {0, 1}).status();
  CHECK(absl::IsAborted(ended));
  CHECK_THAT(Message(ended), Contains("the worker that ran the network "));
  CheckRuns(*network, {0, 0});
  network.reset();
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a worker that is killed between runs is replaced", "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::unique_ptr<NetworkMeasurer> network = OpenTwoKernels(file);
  BindKernel(*network, 0, 0, "right");
  BindKernel(*network, 1, 0, "right");
  REQUIRE(network->Bind(0, 1, PreparedBytes()).ok());
  CheckRuns(*network, {1, 0});
  KillWorker();
  Status ended = TimingOf(*network, {1, 0}).status();
  CHECK(absl::IsAborted(ended));
  CHECK_THAT(Message(ended), Contains("ended by SIGKILL"));
  CheckRuns(*network, {1, 0});
  CheckRuns(*network, {0, 0});

  KillWorker();
  BindKernel(*network, 1, 1, "parallel");
  CheckRuns(*network, {1, 1});
  CheckRuns(*network, {0, 0});
  network.reset();
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a skeleton that does not load is an error with its message", "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::vector<Workload> workloads = {AddWorkload(true), AddWorkload(false)};
  auto failure = [&](const std::string& path, const std::vector<size_t>& task_of_kernel) {
    Status status = MakeLocalNetwork({.skeleton = path, .task_of_kernel = task_of_kernel},
                                     workloads, {.worker = TCC_REAL_WORKER})
                        .status();
    CHECK(absl::IsInternal(status));
    CHECK_THAT(Message(status), Contains("the network in the worker: "));
    return Message(status);
  };
  CHECK_THAT(failure(file.path, {0}), Contains("has 2 kernels; expected 1"));
  CHECK_THAT(failure(file.folder / "nowhere.tcc", {0, 1}), Contains("nowhere.tcc"));
  std::string content;
  {
    std::ostringstream text;
    text << std::ifstream(file.path, std::ios::binary).rdbuf();
    content = text.str();
  }
  REQUIRE(content.size() > 100);
  std::string flipped = content;
  flipped[flipped.size() / 2] ^= 1;
  for (const std::string& damaged : {flipped, content.substr(0, content.size() - 64)}) {
    std::ofstream(file.folder / "damaged.tcc", std::ios::binary) << damaged;
    CHECK_THAT(failure(file.folder / "damaged.tcc", {0, 1}), Contains("damaged.tcc"));
  }
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a network without a worker is unavailable", "[search][network]") {
  SkeletonFile file(TwoKernels());
  std::vector<Workload> workloads = {AddWorkload(true), AddWorkload(false)};
  Status status = MakeLocalNetwork({.skeleton = file.path, .task_of_kernel = {0, 1}}, workloads,
                                   {.worker = file.folder / "no-worker"})
                      .status();
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(Message(status), Contains("no-worker"));
}

}  // namespace tcc
