#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "search/measure/measurer.h"
#include "tests/search/fake_measurer.h"

// A network whose kernels are neither compiled nor run.
namespace tcc {

struct FakeNetworkOptions {
  // Seconds of a call of a candidate; empty: FakeSeconds of `fake`.
  std::function<double(const std::string& artefact)> seconds = {};
  FakeOptions fake = {};
  // A factor of the seconds of a call of `task` when the tasks run these artefacts: a neighbour
  // that slows it, a candidate that is slower here than by itself. Empty: 1.
  std::function<double(size_t task, std::span<const std::string> artefacts)> factor = {};
  // The machine's speed, a factor of all seconds of the n-th Run. Empty: 1.
  std::function<double(size_t run)> clock = {};
  // Artefacts that end the worker, in their first `endings` Runs.
  std::function<bool(const std::string& artefact)> ends = {};
  size_t endings = std::numeric_limits<size_t>::max();
  bool whole = false;  // timings have no seconds of tasks
};

struct FakeBind {
  size_t task = 0;
  size_t slot = 0;
  std::string artefact;
};

// Each task takes the seconds of its candidate times its workload's runs, and the network the sum.
class FakeNetwork final : public NetworkMeasurer {
 public:
  explicit FakeNetwork(std::span<const Workload> workloads, FakeNetworkOptions options = {});

  Status Bind(size_t task, size_t slot, const std::vector<uint8_t>& artefact) override;
  StatusOr<NetworkTiming> Run(std::span<const size_t> slots, int runs) override;
  bool TimesTasks() const override { return !options_.whole; }

  const std::vector<FakeBind>& binds() const { return binds_; }
  // How often each artefact was bound.
  std::map<std::string, int> BindCounts() const;
  size_t runs() const { return runs_; }        // calls of Run, those that were aborted included
  size_t aborted() const { return aborted_; }  // of them
  int64_t network_runs() const { return network_runs_; }  // that the calls asked for together

 private:
  const FakeNetworkOptions options_;
  std::vector<double> runs_of_task_;
  std::vector<std::string> bound_[2];  // by slot and task; "": none
  std::vector<FakeBind> binds_;
  size_t runs_ = 0, aborted_ = 0;
  int64_t network_runs_ = 0;
};

}  // namespace tcc
