#include "search/measure/local_network.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/supervise/worker_process.h"
#include "support/check.h"

namespace tcc {
namespace {

constexpr size_t kSlots = 2;

class LocalNetwork : public NetworkMeasurer {
 public:
  LocalNetwork(const NetworkMessage& network, std::vector<size_t> task_of_kernel, size_t tasks,
               LocalNetworkOptions options)
      : options_(std::move(options)),
        network_(Encode(network)),
        task_of_kernel_(std::move(task_of_kernel)),
        bound_(tasks) {}

  Status Start();
  Status Bind(size_t task, size_t slot, const std::vector<uint8_t>& artefact) override;
  StatusOr<NetworkTiming> Run(std::span<const size_t> slots, int runs) override;
  bool TimesTasks() const override { return options_.hello.device == "cpu"; }

 private:
  StatusOr<MeasureFrame> Ask(FrameKind kind, std::span<const uint8_t> payload, double seconds);
  Status BindInWorker(size_t task, size_t slot);
  Status Restart();
  NetworkTiming TimingOf(const RanMessage& ran) const;
  double DeadlineSeconds(int runs) const;

  const LocalNetworkOptions options_;
  const std::vector<uint8_t> network_;  // kNetwork's payload, sent to each worker
  const std::vector<size_t> task_of_kernel_;
  std::unique_ptr<WorkerProcess> worker_;
  double slowest_ = 0;  // seconds of a run of the network
  // By task and slot; empty: none.
  std::vector<std::array<std::vector<uint8_t>, kSlots>> bound_;
};

// Sends a frame and waits for the answer. Aborted: the worker says that it failed. Unavailable: it
// ended or had to, and the message says how.
StatusOr<MeasureFrame> LocalNetwork::Ask(FrameKind kind, std::span<const uint8_t> payload,
                                         double seconds) {
  TCC_CHECK(worker_ != nullptr) << "the network's worker could not be started again";
  Status sent = worker_->Send(kind, payload, seconds);
  StatusOr<MeasureFrame> answer = sent.ok() ? worker_->Receive(seconds) : sent;
  if (absl::IsUnavailable(answer.status())) {
    return Missing("the worker that ran the network {}", worker_->End(kCrashSeconds));
  }
  if (absl::IsDeadlineExceeded(answer.status())) {
    worker_->End(0);
    return Missing("the worker that ran the network gave no answer within {:.3g} s", seconds);
  }
  if (!answer.ok() || answer->kind != FrameKind::kFailed) return answer;
  TCC_ASSIGN_OR_RETURN(FailedMessage failed, DecodeFailed(answer->payload));
  if (failed.ends) {
    return Missing("the worker that ran the network {}: {}", worker_->End(kCrashSeconds),
                   failed.message);
  }
  return absl::AbortedError("the network in the worker: " + failed.message);
}

Status LocalNetwork::Start() {
  WorkerOptions worker{.program = options_.worker, .log = options_.log, .hello = options_.hello};
  if (worker.program.empty()) {
    TCC_ASSIGN_OR_RETURN(worker.program, FindWorker());
  }
  TCC_ASSIGN_OR_RETURN(worker_, WorkerProcess::Start(worker));
  Status opened = Ask(FrameKind::kNetwork, network_, options_.open_seconds).status();
  return absl::IsAborted(opened) ? absl::InternalError(Message(opened)) : opened;
}

Status LocalNetwork::BindInWorker(size_t task, size_t slot) {
  for (size_t kernel = 0; kernel < task_of_kernel_.size(); ++kernel) {
    if (task_of_kernel_[kernel] != task) continue;
    BindMessage message{.kernel = static_cast<uint32_t>(kernel),
                        .slot = static_cast<uint8_t>(slot),
                        .artefact = bound_[task][slot]};
    TCC_RETURN_IF_ERROR(Ask(FrameKind::kBind, Encode(message), options_.open_seconds).status());
  }
  return OkStatus();
}

Status LocalNetwork::Bind(size_t task, size_t slot, const std::vector<uint8_t>& artefact) {
  TCC_CHECK(task < bound_.size() && slot < kSlots) << task << " " << slot;
  bound_[task][slot] = artefact;
  Status bound = BindInWorker(task, slot);
  if (absl::IsUnavailable(bound)) return Restart();
  // The slot is empty, and a run with it fails.
  return absl::IsAborted(bound) ? OkStatus() : bound;
}

// A new worker in the state of the one that ended.
Status LocalNetwork::Restart() {
  worker_.reset();
  TCC_RETURN_IF_ERROR(Start());
  for (size_t task = 0; task < bound_.size(); ++task) {
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (bound_[task][slot].empty()) continue;
      Status bound = BindInWorker(task, slot);
      if (!bound.ok() && !absl::IsAborted(bound)) return bound;
    }
  }
  return OkStatus();
}

// Nothing is known of the first runs, which prepare constants too; later ones have a hundred times
// what the slowest took.
double LocalNetwork::DeadlineSeconds(int runs) const {
  if (slowest_ == 0) return options_.run_seconds;
  return std::min(options_.run_seconds, 10 + 100 * (runs + 2) * slowest_);
}

StatusOr<NetworkTiming> LocalNetwork::Run(std::span<const size_t> slots, int runs) {
  TCC_CHECK(slots.size() == bound_.size()) << slots.size();
  RunNetworkMessage message{.slots = {}, .runs = static_cast<uint32_t>(runs)};
  for (size_t task : task_of_kernel_) message.slots.push_back(static_cast<uint8_t>(slots[task]));
  StatusOr<MeasureFrame> answer =
      Ask(FrameKind::kRunNetwork, Encode(message), DeadlineSeconds(runs));
  if (absl::IsUnavailable(answer.status())) {
    TCC_RETURN_IF_ERROR(Restart());
    return absl::AbortedError(Message(answer.status()));
  }
  if (!answer.ok()) return answer.status();
  TCC_ASSIGN_OR_RETURN(RanMessage ran, DecodeRan(answer->payload));
  const size_t expected = TimesTasks() ? task_of_kernel_.size() : 0;
  if (ran.kernel_seconds.size() != expected) {
    return InvalidInput("times of {} kernels came; expected {}", ran.kernel_seconds.size(),
                        expected);
  }
  slowest_ = std::max(slowest_, ran.seconds);
  return TimingOf(ran);
}

NetworkTiming LocalNetwork::TimingOf(const RanMessage& ran) const {
  NetworkTiming timing{.seconds = ran.seconds, .task_seconds = {}};
  if (!TimesTasks()) return timing;
  timing.task_seconds.resize(bound_.size(), 0);
  for (size_t kernel = 0; kernel < task_of_kernel_.size(); ++kernel) {
    timing.task_seconds[task_of_kernel_[kernel]] += ran.kernel_seconds[kernel];
  }
  return timing;
}

}  // namespace

std::vector<OperandRole> RolesOf(const Workload& workload) {
  const std::vector<Buffer>& params = workload.variants.front().params;
  std::vector<OperandRole> roles;
  for (size_t i = 0; i < params.size(); ++i) {
    const bool constant = params[i].scope == Scope::kConstant;
    roles.push_back(i >= workload.inputs ? OperandRole::kOutput
                    : constant           ? OperandRole::kConstant
                                         : OperandRole::kInput);
  }
  return roles;
}

StatusOr<std::unique_ptr<NetworkMeasurer>> MakeLocalNetwork(const NetworkParts& parts,
                                                            std::span<const Workload> workloads,
                                                            LocalNetworkOptions options) {
  NetworkMessage message{.skeleton = parts.skeleton, .roles = {}, .seed = options.seed};
  for (size_t task : parts.task_of_kernel) message.roles.push_back(RolesOf(workloads[task]));
  auto network = std::make_unique<LocalNetwork>(message, parts.task_of_kernel, workloads.size(),
                                                std::move(options));
  TCC_RETURN_IF_ERROR(network->Start());
  return network;
}

}  // namespace tcc
