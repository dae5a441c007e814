#include "search/tuning/tuner.h"

#include "search/tuning/tune_session.h"
#include "support/check.h"

namespace tcc {

namespace {

// The network runs if each of its kernels has a candidate. Error: which one has none, and why;
// Cancelled where the end came before that was known.
Status ExpectAllRun(const TuneSession& session, size_t workloads) {
  if (session.IsStopped()) return absl::CancelledError("the search was stopped");
  for (const TaskState& task : session.tasks()) {
    if (!task.reference.empty()) continue;
    return absl::FailedPreconditionError(
        fmt::format("kernel '{}' cannot be run: {}", task.result.name, task.result.problem));
  }
  if (session.tasks().size() == workloads) return OkStatus();
  return absl::CancelledError("the budget ended before all kernels were looked at");
}

}  // namespace

BuildFunction BuildWith(const BuildOptions& options) {
  return [options](const Workload& workload, std::span<const Candidate> candidates,
                   const BuildFilter& filter) {
    BuildOptions with_filter = options;
    with_filter.filter = filter;
    return BuildCandidates(workload, candidates, with_filter);
  };
}

StatusOr<TuneResult> Tune(std::span<const Workload> workloads, const TuneOptions& options,
                          const Environment& environment, const TuneTools& tools,
                          Database& database) {
  TCC_CHECK(!options.in_place || (tools.network && tools.network->TimesTasks()))
      << "there is no network to measure in";
  TuneSession session(options, tools, database);
  session.result().policy = environment.policy;
  TCC_RETURN_IF_ERROR(session.Begin(workloads, environment));
  Status all_run = ExpectAllRun(session, workloads.size());
  if (absl::IsCancelled(all_run)) return session.Take(workloads);
  if (options.in_place) {
    TCC_RETURN_IF_ERROR(all_run);
    TCC_RETURN_IF_ERROR(TuneInPlace(session, *tools.network));
  } else {
    TCC_RETURN_IF_ERROR(TuneByTurns(session));
  }
  if (tools.network && all_run.ok() && !session.IsStopped()) {
    auto compare = tools.network->TimesTasks() ? CompareInPlace : CompareWhole;
    TCC_RETURN_IF_ERROR(compare(session, *tools.network));
  }
  return session.Take(workloads);
}

}  // namespace tcc
