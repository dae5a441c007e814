#include "runtime/measure/serve_measurements.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "runtime/cpu/cpu_features.h"
#include "runtime/cpu/cpu_rates.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/executor/thread_pool.h"
#include "runtime/measure/bound_network.h"
#include "runtime/measure/cuda_measuring_queue.h"
#include "runtime/measure/gpu_network.h"
#include "runtime/measure/gpu_task.h"
#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/open_task.h"
#include "runtime/measure/opencl_measuring_queue.h"
#include "runtime/measure/served_kernels.h"

namespace tcc {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__has_feature)
#define TCC_HAS_FEATURE(name) __has_feature(name)
#else
#define TCC_HAS_FEATURE(name) 0
#endif
// A sanitizer's shadow takes terabytes of addresses.
#if defined(__SANITIZE_ADDRESS__) || TCC_HAS_FEATURE(address_sanitizer)
constexpr bool kLimitsAddresses = false;
#else
constexpr bool kLimitsAddresses = true;
#endif
#undef TCC_HAS_FEATURE

// The exit codes of a worker that has said why its GPU cannot be used any more.
constexpr int kBrokenContext = 3;
constexpr int kHangingKernel = 4;

constexpr auto kCanaryPeriod = std::chrono::seconds(1);

std::string Describe(const Measurement& failure) {
  return fmt::format("{}: {}", NameOf(failure.status), failure.message);
}

// Ends the process when the tuner goes away, also in the middle of a kernel that never returns.
// Not PR_SET_PDEATHSIG: that signal comes when the thread that started the worker ends.
class Watchdog {
 public:
  explicit Watchdog(int input)
      : ended_(::eventfd(0, EFD_CLOEXEC)), thread_([this, input] { Watch(input); }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    ::eventfd_write(ended_, 1);
    thread_.join();
    ::close(ended_);
  }

 private:
  void Watch(int input) const {
    pollfd waited[] = {{.fd = input, .events = POLLRDHUP, .revents = 0},
                       {.fd = ended_, .events = POLLIN, .revents = 0}};
    while (waited[1].revents == 0) {
      if (::poll(waited, std::size(waited), -1) < 0) continue;
      if ((waited[0].revents & (POLLHUP | POLLRDHUP | POLLERR)) != 0) ::_exit(0);
      if ((waited[0].revents & POLLNVAL) != 0) return;
    }
  }

  int ended_;
  std::thread thread_;
};

// GFLOP/s of the machine, to tell a slow kernel from a slow moment.
class Canary {
 public:
  // Where instructions are counted, no moment is slow.
  double Now(ThreadPool& pool) {
    value_ = 0;
    if (EmulatorCounters::OfProcess().value_or(nullptr) != nullptr) return 0;
    Clock::time_point start = Clock::now();
    double operations = RunFmaLoop(pool);
    measured_ = Clock::now();
    std::chrono::duration<double> taken = measured_ - start;
    if (taken.count() > 0) value_ = operations / taken.count() * 1e-9;
    return value_;
  }
  double Recent(ThreadPool& pool) {
    return Clock::now() - measured_ < kCanaryPeriod ? value_ : Now(pool);
  }

 private:
  double value_ = 0;
  Clock::time_point measured_;
};

void SetLimit(decltype(RLIMIT_CORE) resource, rlim_t value) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  ::setrlimit(resource, &limit);
}

Status UnexpectedFrame(FrameKind kind, std::string_view expected) {
  return InvalidInput("a frame of kind {} came; expected {}", static_cast<uint32_t>(kind),
                      expected);
}

// The threads and the GPU that a worker runs kernels on.
struct Machine {
  std::shared_ptr<ThreadPool> pool;
  std::shared_ptr<const CudaContext> context;  // null: no CUDA
  MakeMeasuringQueue make_queue;               // null: a CPU
};

StatusOr<std::shared_ptr<const CudaContext>> OpenGpu(uint32_t ordinal) {
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  return CudaContext::Open(driver, static_cast<int>(ordinal));
}

StatusOr<GpuFacts> FactsOf(const CudaContext& context) {
  const CudaDeviceInfo& device = context.device();
  TCC_ASSIGN_OR_RETURN(const int version, CudaVersionOf(context.driver()));
  std::array<char, 32> bus{};
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(context.driver(), "asking a device where it is",
                                    cuDeviceGetPCIBusId, bus.data(), static_cast<int>(bus.size()),
                                    device.handle));
  return GpuFacts{.sm = static_cast<uint32_t>(device.sm),
                  .multiprocessors = static_cast<uint32_t>(device.multiprocessors),
                  .l2_bytes = static_cast<uint64_t>(device.l2_bytes),
                  .memory_bytes = static_cast<uint64_t>(device.memory_bytes),
                  .driver = CudaVersionText(version),
                  .bus = bus.data(),
                  .takes_text = context.driver().takes_notes};
}

StatusOr<GpuFacts> OpenCuda(const HelloMessage& hello, Machine& machine, ReadyMessage& ready) {
  TCC_ASSIGN_OR_RETURN(machine.context, OpenGpu(hello.ordinal));
  machine.make_queue = CudaMeasuringQueues({.context = machine.context, .pool = machine.pool});
  ready.device = machine.context->device().name;
  return FactsOf(*machine.context);
}

StatusOr<GpuFacts> OpenOpenCl(const HelloMessage& hello, Machine& machine, ReadyMessage& ready) {
  TCC_ASSIGN_OR_RETURN(OpenClDriver driver, OpenOpenClDriver());
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const OpenClContext> context,
                       OpenClContext::Open(driver, static_cast<int>(hello.ordinal)));
  const OpenClDeviceInfo& device = context->device();
  ready.device = device.name;
  GpuFacts facts{.multiprocessors = static_cast<uint32_t>(device.compute_units),
                 .l2_bytes = static_cast<uint64_t>(device.cache_bytes),
                 .memory_bytes = static_cast<uint64_t>(device.memory_bytes),
                 .driver = fmt::format("{} {}", device.platform_name, device.driver_version),
                 .on_host = device.is_cpu};
  machine.make_queue =
      OpenClMeasuringQueues(std::make_shared<OpenClMemory>(std::move(context)), machine.pool);
  return facts;
}

StatusOr<ReadyMessage> Prepare(const HelloMessage& hello, Machine& machine) {
  machine.pool =
      std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = static_cast<int>(hello.threads)});
  ReadyMessage ready;
  ready.threads = static_cast<uint32_t>(machine.pool->threads());
  if (hello.device == "cpu" || hello.device == "vdla") {
    TCC_ASSIGN_OR_RETURN(const EmulatorCounters* counters, EmulatorCounters::OfProcess());
    ready.device = counters != nullptr ? kCountedDevice : CpuModelName();
    return ready;
  }
  const bool on_cuda = hello.device == "cuda";
  if (!on_cuda && hello.device != "opencl") {
    return InvalidInput("there is no device '{}'", hello.device);
  }
  TCC_ASSIGN_OR_RETURN(
      ready.gpu, on_cuda ? OpenCuda(hello, machine, ready) : OpenOpenCl(hello, machine, ready));
  return ready;
}

// Answers the first frame: who is there, and what the process may take.
StatusOr<Machine> Greet(int input, int output) {
  TCC_ASSIGN_OR_RETURN(MeasureFrame frame, ReadFrame(input));
  if (frame.kind != FrameKind::kHello) return UnexpectedFrame(frame.kind, "a hello");
  TCC_ASSIGN_OR_RETURN(HelloMessage hello, DecodeHello(frame.payload));
  Machine machine;
  StatusOr<ReadyMessage> ready = Prepare(hello, machine);
  if (!ready.ok()) {
    FailedMessage failed{.message = Message(ready.status())};
    TCC_RETURN_IF_ERROR(WriteFrame(output, FrameKind::kFailed, Encode(failed)));
    return ready.status();
  }
  if (kLimitsAddresses && hello.address_space_bytes > 0) {
    SetLimit(RLIMIT_AS, hello.address_space_bytes);
  }
  TCC_RETURN_IF_ERROR(WriteFrame(output, FrameKind::kReady, Encode(*ready)));
  return machine;
}

// The worker's side of the protocol: a task and a network, and what is asked of them.
class Server {
 public:
  Server(int output, Machine machine) : output_(output), machine_(std::move(machine)) {}

  // Answers a frame. Error: it makes no sense, or the tuner is gone.
  Status Answer(MeasureFrame frame) {
    switch (frame.kind) {
      case FrameKind::kTask:
        return OpenTheTask(frame.payload);
      case FrameKind::kMeasure:
        return Measure(frame.payload);
      case FrameKind::kNetwork:
        return OpenTheNetwork(frame.payload);
      case FrameKind::kBind:
        return Bind(frame.payload);
      case FrameKind::kRunNetwork:
        return RunTheNetwork(frame.payload);
      case FrameKind::kLoad:
        return Load(frame.payload);
      case FrameKind::kLaunch:
        return Launch(frame.payload);
      case FrameKind::kHello:
      case FrameKind::kReady:
      case FrameKind::kMeasured:
      case FrameKind::kFailed:
      case FrameKind::kDone:
      case FrameKind::kRan:
      case FrameKind::kLaunched:
      case FrameKind::kPart:
        break;
    }
    return UnexpectedFrame(frame.kind, "a task, a candidate, a network or an artefact");
  }

 private:
  template <typename Message>
  Status Write(FrameKind kind, const Message& message) {
    return WriteFrame(output_, kind, Encode(message));
  }

  Status WriteOutcome(const Status& status) {
    if (status.ok()) return WriteFrame(output_, FrameKind::kDone, {});
    return WriteFailed(Message(status));
  }

  Status WriteFailed(std::string message) {
    const bool ends = LossOfGpu() != MeasureStatus::kOk;
    TCC_RETURN_IF_ERROR(
        Write(FrameKind::kFailed, FailedMessage{.message = std::move(message), .ends = ends}));
    EndIfBroken();
    return OkStatus();
  }

  Status OpenTheTask(std::span<const uint8_t> payload) {
    TCC_ASSIGN_OR_RETURN(TaskMessage message, DecodeTask(payload));
    Measurement opened = Open(std::move(message));
    if (opened.status == MeasureStatus::kOk) {
      return Write(FrameKind::kMeasured, MeasuredMessage{.id = 0, .measurement = opened});
    }
    TCC_RETURN_IF_ERROR(WriteFailed(Describe(opened)));
    cpu_task_.reset();
    gpu_task_.reset();
    return OkStatus();
  }

  Measurement Open(TaskMessage message) {
    if (machine_.make_queue) {
      gpu_task_.emplace(std::move(message), machine_.make_queue);
      return gpu_task_->Open();
    }
    cpu_task_.emplace(std::move(message), machine_.pool);
    return cpu_task_->Open(canary_.Now(*machine_.pool));
  }

  // Returns kOk, or the kFault or kHang by which the GPU is lost.
  MeasureStatus LossOfGpu() const {
    const MeasureStatus task = gpu_task_ ? gpu_task_->end() : MeasureStatus::kOk;
    return task == MeasureStatus::kOk && gpu_network_ ? gpu_network_->end() : task;
  }

  // A broken context breaks every later call, the destruction of what lies in it too; with a kernel
  // that does not end, each would wait for it.
  void EndIfBroken() const {
    if (LossOfGpu() == MeasureStatus::kOk) return;
    ::_exit(LossOfGpu() == MeasureStatus::kHang ? kHangingKernel : kBrokenContext);
  }

  Status Measure(std::span<const uint8_t> payload) {
    TCC_ASSIGN_OR_RETURN(MeasureMessage message, DecodeMeasure(payload));
    MeasuredMessage answer{.id = message.id, .measurement = {}};
    if (gpu_task_) {
      answer.measurement = gpu_task_->Measure(std::move(message));
    } else if (cpu_task_) {
      answer.measurement = cpu_task_->Measure(std::move(message), canary_.Recent(*machine_.pool));
    } else {
      answer.measurement.status = MeasureStatus::kLaunchFailed;
      answer.measurement.message = "no task is open";
    }
    TCC_RETURN_IF_ERROR(Write(FrameKind::kMeasured, answer));
    EndIfBroken();
    return OkStatus();
  }

  Status OpenTheNetwork(std::span<const uint8_t> payload) {
    TCC_ASSIGN_OR_RETURN(NetworkMessage message, DecodeNetwork(payload));
    network_.reset();
    gpu_network_.reset();
    const Status made = MakeNetwork(std::move(message));
    TCC_RETURN_IF_ERROR(WriteOutcome(made));
    if (!made.ok()) gpu_network_.reset();
    return OkStatus();
  }

  Status MakeNetwork(NetworkMessage message) {
    if (machine_.make_queue && !machine_.context)
      return Unsupported("a worker on OpenCL runs no networks");
    TCC_ASSIGN_OR_RETURN(Artefact skeleton, ReadArtefact(message.skeleton));
    if (machine_.context) {
      gpu_network_.emplace(
          std::move(skeleton), std::move(message.roles),
          CudaMeasuringOptions{.context = machine_.context, .pool = machine_.pool});
      return gpu_network_->Open(message.seed);
    }
    TCC_ASSIGN_OR_RETURN(
        network_, BoundNetwork::Create(std::move(skeleton), std::move(message.roles), machine_.pool,
                                       message.seed));
    return OkStatus();
  }

  Status Bind(std::span<const uint8_t> payload) {
    TCC_ASSIGN_OR_RETURN(BindMessage message, DecodeBind(payload));
    if (gpu_network_) {
      return WriteOutcome(
          gpu_network_->Bind(message.kernel, message.slot, std::move(message.artefact)));
    }
    if (!network_) return WriteOutcome(InvalidInput("no network is open"));
    return WriteOutcome(network_->Bind(message.kernel, message.slot, std::move(message.artefact)));
  }

  Status RunTheNetwork(std::span<const uint8_t> payload) {
    TCC_ASSIGN_OR_RETURN(RunNetworkMessage message, DecodeRunNetwork(payload));
    if (!network_ && !gpu_network_) return WriteOutcome(InvalidInput("no network is open"));
    StatusOr<RanMessage> ran =
        gpu_network_ ? MeanOfRuns(*gpu_network_, message) : LeastOfRuns(*network_, message);
    if (!ran.ok()) return WriteOutcome(ran.status());
    return Write(FrameKind::kRan, *ran);
  }

  Status Load(std::span<const uint8_t> artefact) {
    kernels_.reset();
    StatusOr<ServedKernels> loaded = ServedKernels::Load(artefact, machine_.pool);
    const Status status = loaded.status();
    if (status.ok()) kernels_ = *std::move(loaded);
    return WriteOutcome(status);
  }

  Status Launch(std::span<const uint8_t> payload) {
    TCC_ASSIGN_OR_RETURN(LaunchMessage message, DecodeLaunch(payload));
    if (!kernels_) return WriteOutcome(InvalidInput("no artefact is loaded"));
    StatusOr<LaunchedMessage> launched = kernels_->Launch(message);
    if (!launched.ok()) return WriteOutcome(launched.status());
    return Write(FrameKind::kLaunched, *launched);
  }

  static StatusOr<RanMessage> MeanOfRuns(GpuNetwork& network, const RunNetworkMessage& message) {
    TCC_ASSIGN_OR_RETURN(double seconds,
                         network.Run(message.slots, static_cast<int>(message.runs)));
    return RanMessage{.seconds = seconds, .kernel_seconds = {}};
  }

  // A run that prepares constants is not counted.
  static StatusOr<RanMessage> LeastOfRuns(BoundNetwork& network, const RunNetworkMessage& message) {
    TCC_ASSIGN_OR_RETURN(NetworkRun run, network.Run(message.slots));
    if (run.prepared) {
      TCC_ASSIGN_OR_RETURN(run, network.Run(message.slots));
    }
    RanMessage least{.seconds = run.seconds, .kernel_seconds = run.kernel_seconds};
    for (uint32_t r = 1; r < message.runs; ++r) {
      TCC_ASSIGN_OR_RETURN(run, network.Run(message.slots));
      least.seconds = std::min(least.seconds, run.seconds);
      for (size_t k = 0; k < run.kernel_seconds.size(); ++k) {
        least.kernel_seconds[k] = std::min(least.kernel_seconds[k], run.kernel_seconds[k]);
      }
    }
    return least;
  }

  int output_;
  Machine machine_;
  Canary canary_;
  std::optional<OpenTask> cpu_task_;
  std::optional<GpuTask> gpu_task_;
  std::unique_ptr<BoundNetwork> network_;
  std::optional<GpuNetwork> gpu_network_;
  std::optional<ServedKernels> kernels_;
};

// Serves frames until one makes no sense or the tuner is gone.
Status Serve(int input, int output) {
  TCC_ASSIGN_OR_RETURN(Machine machine, Greet(input, output));
  Server server(output, std::move(machine));
  while (true) {
    TCC_ASSIGN_OR_RETURN(MeasureFrame frame, ReadFrame(input));
    TCC_RETURN_IF_ERROR(server.Answer(std::move(frame)));
  }
}

}  // namespace

int ServeMeasurements(int input, int output) {
  SetLimit(RLIMIT_CORE, 0);
  Watchdog watchdog(input);
  Status status = Serve(input, output);
  if (absl::IsUnavailable(status)) return 0;
  fmt::print(stderr, "tcc-worker: {}\n", Message(status));
  return 2;
}

}  // namespace tcc
