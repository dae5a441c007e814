#include "runtime/measure/gpu_network.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "codegen_cuda/emulator/driver.h"
#include "runtime/measure/kernel_operands.h"
#include "support/temporary_folder.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"
#include "tests/codegen_cuda/emulator/gpu_candidates.h"
#include "tests/codegen_cuda/emulator/gpu_worker.h"

// Networks of calls of the kernels of gpu_candidates.h. They have these kernels themselves, so that
// the plain executor runs them too; a GpuNetwork runs the bound ones instead.
namespace tcc::test {
namespace {

using Catch::Matchers::Contains;
using Roles = std::vector<std::vector<OperandRole>>;

constexpr int64_t kBytes = kCandidateCount * 4;  // of each operand
constexpr uint64_t kSeed = 5;                    // of the inputs

const std::vector<OperandRole> kRoles = {OperandRole::kInput, OperandRole::kConstant,
                                         OperandRole::kOutput};

// Two constants that differ in each element.
SharedBytes Weights() {
  std::vector<float> values;
  for (int64_t i = 0; i < 2 * kCandidateCount; ++i) values.push_back(static_cast<float>(i) / 4);
  const auto* begin = reinterpret_cast<const uint8_t*>(values.data());
  return OwnBytes({begin, begin + 2 * kBytes});
}

// A network that computes y from x through t in the arena. Its buffers are 0: x, 1: t, 2: y, 3 and
// 4: the constants.
Artefact NetworkOf(size_t kernels, std::vector<Instruction> body) {
  std::vector<std::pair<std::string, GpuKernel>> named;
  for (size_t i = 0; i < kernels; ++i) {
    named.emplace_back(fmt::format("kernel{}", i), KernelOf("right", 3));
  }
  Artefact artefact = ArtefactOf(std::move(named));
  artefact.weights = Weights();
  artefact.metadata.inputs.resize(1);
  artefact.plan.arena_bytes = kBytes;
  auto buffer = [](BufferKind kind, int64_t offset) {
    return PlanBuffer{.kind = kind, .index = 0, .offset = offset, .bytes = kBytes};
  };
  artefact.plan.buffers = {buffer(BufferKind::kInput, 0), buffer(BufferKind::kArena, 0),
                           buffer(BufferKind::kOutput, 0), buffer(BufferKind::kWeight, 0),
                           buffer(BufferKind::kWeight, kBytes)};
  artefact.plan.body = std::move(body);
  return artefact;
}

const PlanCall kFirst = {0, {0, 3, 1}, {}};

Artefact TwoKernels() {
  return NetworkOf(2, {{kFirst}, {PlanCall{1, {1, 4, 2}, {}}}});
}

// The same kernel twice, with a constant of its own each time.
Artefact OneKernelTwice() {
  return NetworkOf(1, {{kFirst}, {PlanCall{0, {1, 4, 2}, {}}}});
}

// The first kernel runs again as often as a second input says.
Artefact WithLoop() {
  Artefact artefact = TwoKernels();
  artefact.metadata.inputs.push_back(StaticTensor("trips", kInt64, {1}));
  artefact.plan.buffers.push_back(
      {.kind = BufferKind::kInput, .index = 1, .offset = 0, .bytes = 8});
  artefact.plan.counters = 1;
  PlanLoop loop{.counter = 0,
                .extent = 3,
                .trip_count = BufferId{5},
                .condition = std::nullopt,
                .swaps = {},
                .body = {{kFirst}}};
  artefact.plan.body.insert(artefact.plan.body.begin() + 1, Instruction{std::move(loop)});
  return artefact;
}

std::unique_ptr<GpuNetwork> Opened(Artefact skeleton, const Roles& roles) {
  auto network =
      std::make_unique<GpuNetwork>(std::move(skeleton), roles, OptionsFor(ToldDevices()));
  Status opened = network->Open(kSeed);
  INFO(opened);
  REQUIRE(opened.ok());
  return network;
}

void BindTo(GpuNetwork& network, size_t kernel, size_t slot, const Artefact& artefact) {
  Status bound = network.Bind(kernel, slot, ArtefactBytes(artefact));
  INFO(bound);
  REQUIRE(bound.ok());
}

std::vector<float> ValuesOf(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

// Runs the plain executor on the inputs of the seed.
std::vector<float> Expected(const Artefact& artefact) {
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : artefact.metadata.inputs) {
    inputs.push_back(MakeZeroTensor(info.dtype, *StaticShape(info)));
    FillValues(info.dtype, MutableBytes(inputs.back()), kSeed + inputs.size() - 1);
  }
  Executor executor = Made(artefact);
  StatusOr<std::vector<Tensor>> outputs = executor.Run(inputs);
  INFO(outputs.status());
  REQUIRE(outputs.ok());
  return ValuesOf(outputs->at(0));
}

std::vector<float> ResultOf(GpuNetwork& network, const std::vector<uint8_t>& slots, int runs = 2) {
  StatusOr<double> seconds = network.Run(slots, runs);
  INFO(seconds.status());
  REQUIRE(seconds.ok());
  CHECK(*seconds > 0);
  StatusOr<std::vector<Tensor>> outputs = network.Outputs();
  REQUIRE(outputs.ok());
  return ValuesOf(outputs->at(0));
}

int64_t CountCalls(std::string_view name) {
  return std::ranges::count(emulator::RecordedDriverCalls(), name);
}

}  // namespace

TEST_CASE("a network of candidates on a GPU computes what the plain executor does",
          "[codegen_cuda][measure][gpu_network]") {
  const std::vector<float> expected = Expected(TwoKernels());
  std::unique_ptr<GpuNetwork> network = Opened(TwoKernels(), {kRoles, kRoles});
  BindTo(*network, 0, 0, Candidate("right"));
  BindTo(*network, 0, 1, Prepared());
  BindTo(*network, 1, 0, WithWorkspace(4096));
  BindTo(*network, 1, 1, Prepared());
  for (uint8_t first : {0, 1, 0}) {
    for (uint8_t second : {1, 0}) {
      INFO(int{first} << " " << int{second});
      CHECK(ResultOf(*network, {first, second}) == expected);
    }
  }
  // A candidate that computes something else shows that it is what ran.
  BindTo(*network, 0, 0, Candidate("wrong_by_one_element"));
  CHECK(ResultOf(*network, {0, 0}) != expected);
  CHECK(ResultOf(*network, {1, 0}) == expected);
  CHECK(network->end() == MeasureStatus::kOk);
}

TEST_CASE("constants on a GPU are prepared once for each call that has its own",
          "[codegen_cuda][measure][gpu_network]") {
  const std::vector<float> expected = Expected(OneKernelTwice());
  std::unique_ptr<GpuNetwork> network = Opened(OneKernelTwice(), {kRoles});
  BindTo(*network, 0, 0, Prepared());
  CHECK(ResultOf(*network, {0}) == expected);
  emulator::RecordDriverCalls();
  CHECK(ResultOf(*network, {0}) == expected);
  CHECK(CountCalls("cuMemAlloc_v2") == 0);
  // Another candidate in the slot prepares its own, of each constant.
  BindTo(*network, 0, 0, Prepared());
  emulator::RecordDriverCalls();
  CHECK(ResultOf(*network, {0}) == expected);
  CHECK(CountCalls("cuMemAlloc_v2") == 2);
}

TEST_CASE("runs of a network without loops are replays of its graph, which is made once",
          "[codegen_cuda][measure][gpu_network]") {
  std::unique_ptr<GpuNetwork> network = Opened(TwoKernels(), {kRoles, kRoles});
  for (size_t kernel : {0, 1}) {
    for (size_t slot : {0, 1}) BindTo(*network, kernel, slot, Candidate("right"));
  }
  const std::vector<uint8_t> choices[] = {{0, 0}, {1, 1}, {0, 1}};
  for (const std::vector<uint8_t>& slots : choices) ResultOf(*network, slots);
  emulator::RecordDriverCalls();
  for (const std::vector<uint8_t>& slots : choices) ResultOf(*network, slots, 7);
  CHECK(CountCalls("cuLaunchKernel") == 0);
  CHECK(CountCalls("cuStreamBeginCapture_v2") == 0);
  CHECK(CountCalls("cuGraphLaunch") == 3 * (1 + 7));
  // A graph with a candidate that is gone is made anew; others stay.
  BindTo(*network, 0, 1, Candidate("right"));
  emulator::RecordDriverCalls();
  for (const std::vector<uint8_t>& slots : choices) ResultOf(*network, slots);
  CHECK(CountCalls("cuStreamBeginCapture_v2") == 1);
}

TEST_CASE("a network with a loop is timed run by run on a GPU",
          "[codegen_cuda][measure][gpu_network]") {
  const std::vector<float> expected = Expected(WithLoop());
  std::unique_ptr<GpuNetwork> network = Opened(WithLoop(), {kRoles, kRoles});
  BindTo(*network, 0, 0, Prepared());
  BindTo(*network, 1, 0, Candidate("right"));
  emulator::RecordDriverCalls();
  CHECK(ResultOf(*network, {0, 0}) == expected);
  CHECK(CountCalls("cuGraphLaunch") == 0);
  CHECK(CountCalls("cuLaunchKernel") >= 2 * 4);
}

TEST_CASE("a slot of a network on a GPU that is empty is an error, and others run",
          "[codegen_cuda][measure][gpu_network]") {
  std::unique_ptr<GpuNetwork> network = Opened(TwoKernels(), {kRoles, kRoles});
  BindTo(*network, 0, 0, Candidate("right"));
  BindTo(*network, 1, 1, Candidate("right"));
  for (const Artefact& refused : {Candidate("is_missing"), WithSharedBytes(300 * 1024)}) {
    CHECK_FALSE(network->Bind(1, 0, ArtefactBytes(refused)).ok());
    Status empty = network->Run(std::vector<uint8_t>{0, 0}, 1).status();
    CHECK_THAT(Message(empty), Contains("kernel1"));
    CHECK_THAT(Message(empty), Contains("no candidate"));
  }
  CHECK(ResultOf(*network, {0, 1}) == Expected(TwoKernels()));
  CHECK_THAT(Message(network->Bind(2, 0, {})), Contains("no kernel 2"));
  CHECK_THAT(Message(network->Bind(0, 2, {})), Contains("no slot 2"));
  CHECK_THAT(Message(network->Run(std::vector<uint8_t>{0}, 1).status()), Contains("1 slots"));
  CHECK(network->end() == MeasureStatus::kOk);
  GpuNetwork other(TwoKernels(), {kRoles}, OptionsFor(ToldDevices()));
  CHECK_THAT(Message(other.Open(kSeed)), Contains("has 2 kernels; expected 1"));
}

TEST_CASE("a candidate that faults in a network on a GPU breaks the context, which it tells",
          "[codegen_cuda][measure][gpu_network]") {
  std::unique_ptr<GpuNetwork> network = Opened(TwoKernels(), {kRoles, kRoles});
  BindTo(*network, 0, 0, Candidate("right"));
  BindTo(*network, 0, 1, Candidate("reads_far_beyond"));
  BindTo(*network, 1, 0, Candidate("right"));
  CHECK(ResultOf(*network, {0, 0}) == Expected(TwoKernels()));
  CHECK_FALSE(network->Run(std::vector<uint8_t>{1, 0}, 1).ok());
  CHECK(network->end() == MeasureStatus::kFault);
}

namespace {

// A worker with the network, whose first kernel's slot 1 holds `candidate`.
class NetworkWorker {
 public:
  explicit NetworkWorker(const Artefact& candidate, const std::string& fault = "")
      : worker_(CudaHello(), TCC_EMULATED_CUDA, fault) {
    StatusOr<TemporaryFolder> folder = TemporaryFolder::Make("a network");
    TCC_CHECK(folder.ok());
    const std::string path = *folder / "network.tcc";
    TCC_CHECK(WriteArtefact(TwoKernels(), path).ok());
    TCC_CHECK(worker_.Read()->kind == FrameKind::kReady);
    Send(FrameKind::kNetwork,
         NetworkMessage{.skeleton = path, .roles = {kRoles, kRoles}, .seed = kSeed});
    Bind(0, 0, Candidate("right"));
    Bind(1, 0, Candidate("right"));
    Bind(0, 1, candidate);
  }

  MeasureFrame Run(std::vector<uint8_t> slots) {
    worker_.Send(FrameKind::kRunNetwork,
                 Encode(RunNetworkMessage{.slots = std::move(slots), .runs = 2}));
    StatusOr<MeasureFrame> frame = worker_.Read();
    TCC_CHECK(frame.ok()) << Message(frame.status());
    return *frame;
  }
  int ExitCode() { return worker_.ExitCode(); }

 private:
  template <typename Sent>
  void Send(FrameKind kind, const Sent& message) {
    worker_.Send(kind, Encode(message));
    StatusOr<MeasureFrame> frame = worker_.Read();
    TCC_CHECK(frame.ok() && frame->kind == FrameKind::kDone) << Message(frame.status());
  }
  void Bind(uint32_t kernel, uint8_t slot, const Artefact& artefact) {
    Send(FrameKind::kBind,
         BindMessage{.kernel = kernel, .slot = slot, .artefact = ArtefactBytes(artefact)});
  }

  GpuWorker worker_;
};

}  // namespace

TEST_CASE("a worker times a network on a GPU whole, tells of a fault in it and ends",
          "[codegen_cuda][measure][gpu_network]") {
  NetworkWorker worker(Candidate("reads_far_beyond"));
  MeasureFrame frame = worker.Run({0, 0});
  REQUIRE(frame.kind == FrameKind::kRan);
  RanMessage ran = DecodeRan(frame.payload).value();
  CHECK(ran.seconds > 0);
  CHECK(ran.kernel_seconds.empty());
  frame = worker.Run({1, 0});
  REQUIRE(frame.kind == FrameKind::kFailed);
  FailedMessage failed = DecodeFailed(frame.payload).value();
  CHECK(failed.ends);
  CHECK_THAT(failed.message, Contains("CUDA_ERROR"));
  CHECK(worker.ExitCode() == 3);
}

TEST_CASE("a worker tells of a network on a GPU that does not end, and ends",
          "[codegen_cuda][measure][gpu_network]") {
  emulator::RecordDriverCalls();
  std::unique_ptr<GpuNetwork> network = Opened(TwoKernels(), {kRoles, kRoles});
  for (size_t kernel : {0, 1}) BindTo(*network, kernel, 0, Candidate("right"));
  BindTo(*network, 0, 1, Candidate("right"));
  REQUIRE(network->Run(std::vector<uint8_t>{0, 0}, 2).ok());
  // Once the time of a run is known, no event is ever reached.
  const int64_t queries = CountCalls("cuEventQuery");
  REQUIRE(queries > 0);
  NetworkWorker worker(Candidate("right"), fmt::format("cuEventQuery:{}+:600", queries + 1));
  REQUIRE(worker.Run({0, 0}).kind == FrameKind::kRan);
  MeasureFrame frame = worker.Run({0, 0});
  REQUIRE(frame.kind == FrameKind::kFailed);
  FailedMessage failed = DecodeFailed(frame.payload).value();
  CHECK(failed.ends);
  CHECK_THAT(failed.message, Contains("not done after"));
  CHECK(worker.ExitCode() == 4);
}

}  // namespace tcc::test
