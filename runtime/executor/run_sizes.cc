#include "runtime/executor/run_sizes.h"

#include <algorithm>

namespace tcc {
namespace {

// Returns whether no loop counter is in the size.
bool IsFixed(const Plan& plan, const SizeExpr& size) {
  return std::ranges::all_of(VariablesOf(size), [&](int64_t variable) {
    return static_cast<size_t>(variable) < plan.fixed_variables();
  });
}

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// Collects the steps of a run; `is_fixed` ends as false where more than shapes decides them.
struct StepCounter {
  const Plan& plan;
  std::span<const int64_t> variables;
  std::vector<RepeatedStep> steps;
  bool is_fixed = true;

  void Count(const std::vector<Instruction>& body, int64_t times) {
    for (const Instruction& step : body) {
      if (const auto* loop = std::get_if<PlanLoop>(&step.op)) {
        Count(*loop, times);
      } else if (const auto* choice = std::get_if<PlanSwitch>(&step.op)) {
        Count(*choice, times);
      } else if (std::holds_alternative<PlanIf>(step.op)) {
        is_fixed = false;
      } else {
        steps.push_back({&step, times});
      }
    }
  }

  void Count(const PlanLoop& loop, int64_t times) {
    std::optional<int64_t> trips = ValueOf(loop.extent);
    is_fixed = is_fixed && trips && !loop.trip_count && !loop.condition;
    if (is_fixed && *trips > 0) Count(loop.body, SaturatingProduct(times, *trips));
  }

  void Count(const PlanSwitch& choice, int64_t times) {
    std::optional<int64_t> which = ValueOf(choice.which);
    is_fixed =
        is_fixed && which && *which >= 0 && static_cast<size_t>(*which) < choice.bodies.size();
    if (is_fixed) Count(choice.bodies[static_cast<size_t>(*which)], times);
  }

  std::optional<int64_t> ValueOf(const SizeExpr& size) const {
    if (!IsFixed(plan, size)) return std::nullopt;
    StatusOr<int64_t> value = Evaluate(size, variables);
    return value.ok() ? std::optional(*value) : std::nullopt;
  }
};

}  // namespace

std::optional<std::vector<RepeatedStep>> StepsOfRun(const Plan& plan,
                                                    std::span<const int64_t> variables) {
  StepCounter counter{.plan = plan, .variables = variables, .steps = {}};
  counter.Count(plan.body, 1);
  if (!counter.is_fixed) return std::nullopt;
  return std::move(counter.steps);
}

bool MayBeRecorded(const Plan& plan, std::span<const int64_t> variables) {
  std::optional<std::vector<RepeatedStep>> run = StepsOfRun(plan, variables);
  if (!run) return false;
  int64_t steps = 0;
  for (const RepeatedStep& step : *run) {
    if (step.times > kMostRecordedSteps - steps) return false;
    steps += step.times;
  }
  return true;
}

bool MayBeRecorded(const Artefact& artefact) {
  StatusOr<std::shared_ptr<const RunSizes>> usual =
      RunSizesByShape(artefact.plan).For(artefact.metadata.UsualSizes());
  return usual.ok() && MayBeRecorded(artefact.plan, (*usual)->variables);
}

std::vector<bool> MovingBuffers(const Plan& plan) {
  std::vector<bool> moves;
  for (const PlanBuffer& buffer : plan.buffers) {
    moves.push_back(!IsFixed(plan, buffer.offset) || !IsFixed(plan, buffer.bytes));
  }
  return moves;
}

StatusOr<std::shared_ptr<const RunSizes>> RunSizesByShape::For(
    std::span<const int64_t> shape_variables) {
  auto found = std::ranges::find_if(latest_, [&](const std::shared_ptr<const RunSizes>& sizes) {
    return std::ranges::equal(std::span(sizes->variables).first(shape_variables.size()),
                              shape_variables);
  });
  if (found == latest_.end()) {
    TCC_ASSIGN_OR_RETURN(RunSizes sizes, Evaluated(shape_variables));
    if (latest_.size() == kMostShapes) latest_.pop_back();
    found = latest_.insert(latest_.end(), std::make_shared<const RunSizes>(std::move(sizes)));
  }
  std::rotate(latest_.begin(), found, found + 1);
  return latest_.front();
}

StatusOr<RunSizes> RunSizesByShape::Evaluated(std::span<const int64_t> shape_variables) const {
  RunSizes sizes;
  sizes.variables.assign(shape_variables.begin(), shape_variables.end());
  for (const SizeExpr& let : plan_->lets) {
    TCC_ASSIGN_OR_RETURN(int64_t value, Evaluate(let, sizes.variables));
    sizes.variables.push_back(value);
  }
  for (const PlanCheck& check : plan_->checks) {
    TCC_ASSIGN_OR_RETURN(int64_t holds, Evaluate(check.holds, sizes.variables));
    if (holds == 0) return InvalidInput("{}", check.message);
  }
  TCC_ASSIGN_OR_RETURN(sizes.arena_bytes, Evaluate(plan_->arena_bytes, sizes.variables));
  sizes.extents.resize(plan_->buffers.size());
  for (size_t i = 0; i < sizes.extents.size(); ++i) {
    if (moves_[i]) continue;
    TCC_ASSIGN_OR_RETURN(sizes.extents[i].offset,
                         Evaluate(plan_->buffers[i].offset, sizes.variables));
    TCC_ASSIGN_OR_RETURN(sizes.extents[i].bytes,
                         Evaluate(plan_->buffers[i].bytes, sizes.variables));
  }
  return sizes;
}

}  // namespace tcc
