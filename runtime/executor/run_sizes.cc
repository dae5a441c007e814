#include "runtime/executor/run_sizes.h"

#include <algorithm>

namespace tcc {

std::vector<bool> MovingBuffers(const Plan& plan) {
  auto is_counter = [&](int64_t variable) {
    return static_cast<size_t>(variable) >= plan.fixed_variables();
  };
  std::vector<bool> moves;
  for (const PlanBuffer& buffer : plan.buffers) {
    moves.push_back(std::ranges::any_of(VariablesOf(buffer.offset), is_counter) ||
                    std::ranges::any_of(VariablesOf(buffer.bytes), is_counter));
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
