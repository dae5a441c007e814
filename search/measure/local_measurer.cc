#include "search/measure/local_measurer.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "search/candidate/result_bound.h"
#include "search/measure/local_network.h"
#include "support/check.h"

namespace tcc {
namespace {

class LocalMeasurer : public Measurer {
 public:
  LocalMeasurer(LocalMeasurerOptions options, std::unique_ptr<TaskRunner> runner)
      : options_(std::move(options)), runner_(std::move(runner)) {}

  std::string Name() const override { return "local"; }
  StatusOr<Measurement> Open(const Workload& workload, std::vector<uint8_t> reference) override;
  void Submit(MeasureRequest request) override;
  StatusOr<std::optional<MeasureReport>> Take() override;

 private:
  const LocalMeasurerOptions options_;
  const std::unique_ptr<TaskRunner> runner_;
  std::deque<MeasureRequest> queue_;
};

StatusOr<Measurement> LocalMeasurer::Open(const Workload& workload,
                                          std::vector<uint8_t> reference) {
  TCC_CHECK(queue_.empty()) << queue_.size() << " candidates of '" << runner_->name()
                            << "' are waiting";
  TaskMessage task = TaskOf(workload, options_);
  task.artefact = std::move(reference);
  return runner_->Open(workload.name, task);
}

void LocalMeasurer::Submit(MeasureRequest request) {
  TCC_CHECK(runner_->is_open()) << "no task is open";
  queue_.push_back(std::move(request));
}

StatusOr<std::optional<MeasureReport>> LocalMeasurer::Take() {
  if (queue_.empty()) return std::nullopt;
  MeasureRequest request = std::move(queue_.front());
  queue_.pop_front();
  TCC_ASSIGN_OR_RETURN(Measurement measurement,
                       runner_->Measure({.id = request.id,
                                         .stop_beyond = request.stop_beyond,
                                         .artefact = std::move(request.artefact)}));
  return MeasureReport{request.id, std::move(measurement)};
}

}  // namespace

// Candidates of all variants are compared with one reference, so the widest bound holds.
TaskMessage TaskOf(const Workload& workload, const LocalMeasurerOptions& options) {
  TCC_CHECK(!workload.variants.empty()) << workload.name;
  TaskMessage task{.roles = RolesOf(workload),
                   .seed = options.seed,
                   .policy = options.policy,
                   .gpu = options.gpu,
                   .artefact = {}};
  for (const Function& variant : workload.variants) {
    task.terms = std::max(task.terms, TermsOf(variant));
    task.epsilon = std::max(task.epsilon, EpsilonOf(variant));
  }
  return task;
}

StatusOr<std::unique_ptr<Measurer>> MakeLocalMeasurer(LocalMeasurerOptions options,
                                                      std::unique_ptr<TaskRunner> runner) {
  if (!runner) {
    TCC_ASSIGN_OR_RETURN(runner, TaskRunner::Start(options.runner));
  }
  return std::make_unique<LocalMeasurer>(std::move(options), std::move(runner));
}

}  // namespace tcc
