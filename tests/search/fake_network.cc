#include "tests/search/fake_network.h"

#include <algorithm>
#include <utility>

#include "support/check.h"

namespace tcc {

FakeNetwork::FakeNetwork(std::span<const Workload> workloads, FakeNetworkOptions options)
    : options_(std::move(options)) {
  for (const Workload& workload : workloads) runs_of_task_.push_back(workload.runs);
  for (std::vector<std::string>& bound : bound_) bound.resize(workloads.size());
}

Status FakeNetwork::Bind(size_t task, size_t slot, const std::vector<uint8_t>& artefact) {
  TCC_CHECK(task < runs_of_task_.size() && slot < 2 && !artefact.empty()) << task << " " << slot;
  bound_[slot][task].assign(artefact.begin(), artefact.end());
  binds_.push_back({.task = task, .slot = slot, .artefact = bound_[slot][task]});
  return OkStatus();
}

StatusOr<NetworkTiming> FakeNetwork::Run(std::span<const size_t> slots, int runs) {
  TCC_CHECK(slots.size() == runs_of_task_.size() && runs >= 1) << slots.size() << " " << runs;
  const double clock = options_.clock ? options_.clock(runs_) : 1;
  ++runs_;
  network_runs_ += runs;
  std::vector<std::string> artefacts;
  for (size_t task = 0; task < slots.size(); ++task) {
    artefacts.push_back(bound_[slots[task]][task]);
    if (artefacts.back().empty()) {
      return absl::InternalError(fmt::format("task {} has no candidate", task));
    }
  }
  if (options_.ends && aborted_ < options_.endings &&
      std::ranges::any_of(artefacts, options_.ends)) {
    ++aborted_;
    return absl::AbortedError("the worker that ran the network ended by SIGFAKE");
  }
  NetworkTiming timing;
  for (size_t task = 0; task < slots.size(); ++task) {
    const double alone = options_.seconds ? options_.seconds(artefacts[task])
                                          : FakeSeconds(options_.fake, artefacts[task]);
    const double factor = options_.factor ? options_.factor(task, artefacts) : 1;
    timing.task_seconds.push_back(alone * runs_of_task_[task] * factor * clock);
    timing.seconds += timing.task_seconds.back();
  }
  if (options_.whole) timing.task_seconds.clear();
  return timing;
}

std::map<std::string, int> FakeNetwork::BindCounts() const {
  std::map<std::string, int> counts;
  for (const FakeBind& bind : binds_) ++counts[bind.artefact];
  return counts;
}

}  // namespace tcc
