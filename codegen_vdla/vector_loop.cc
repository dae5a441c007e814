#include "codegen_vdla/vector_loop.h"

#include <vector>

#include "codegen_vdla/byte_source.h"
#include "codegen_vdla/output_steps.h"
#include "codegen_vdla/refusal.h"
#include "ir/analysis/affine.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"

namespace tcc {
namespace {

class VectorLoopChecker {
 public:
  VectorLoopChecker(const Var& lane, const BufferPlaces& places) : lane_(lane), places_(places) {}

  Status Check(const Stmt& stmt) const {
    if (const auto* seq = stmt.as<Seq>()) {
      for (const Stmt& child : seq->stmts) TCC_RETURN_IF_ERROR(Check(child));
      return OkStatus();
    }
    if (const auto* branch = stmt.as<If>()) {
      TCC_RETURN_IF_ERROR(CheckStill(branch->condition, stmt));
      TCC_RETURN_IF_ERROR(Check(branch->then_body));
      return branch->else_body ? Check(branch->else_body) : OkStatus();
    }
    if (const auto* let = stmt.as<Let>()) {
      TCC_RETURN_IF_ERROR(CheckStill(let->value, stmt));
      return Check(let->body);
    }
    const auto* store = stmt.as<Store>();
    if (store == nullptr) return Refuse(stmt, "the accelerator has no such statement");
    if (store->mask) return Refuse(stmt, "expected no mask");
    TCC_RETURN_IF_ERROR(CheckValue(store->value, *store));
    return CheckNeighbours(store->indices, stmt);
  }

 private:
  // Checks that a condition or a variable is the same for a whole vector.
  Status CheckStill(const Expr& expr, const Stmt& in) const {
    if (!UsesVar(expr, lane_)) return OkStatus();
    return Refuse(in, "expected all elements of a vector to be alike");
  }

  Status CheckNeighbours(const std::vector<Expr>& indices, const Stmt& in) const {
    const auto form = indices.size() == 1 ? ToAffine(indices[0], {lane_}) : std::nullopt;
    const bool steps = form && !form->vars.empty();
    if (steps && IsConstant(Simplify(form->coefficients[0]), 1)) return OkStatus();
    return Refuse(in, "expected 16 neighbours in a loop");
  }

  Status CheckValue(const Expr& value, const Store& store) const {
    const Stmt in(store);
    if (const auto* select = value.as<Select>()) {
      TCC_RETURN_IF_ERROR(CheckStill(select->condition, in));
      TCC_RETURN_IF_ERROR(CheckValue(select->then_value, store));
      return CheckValue(select->else_value, store);
    }
    if (!places_.contains(store.buffer)) return CheckResult(value, in);
    if (IsSum(store.buffer)) {
      if (IsConstant(value, 0)) return OkStatus();
      return Refuse(in, "expected 0, which is all that sums are set to");
    }
    if (AsConstant(value)) return OkStatus();
    const std::optional<ByteSource> source = ReadByteSource(value);
    if (!source || places_.contains(source->element->buffer)) {
      return Refuse(in, "expected a copy of a parameter, or a constant");
    }
    return CheckNeighbours(source->element->indices, in);
  }

  // Checks that a result is a copy of sums, or what an output stage makes of it.
  Status CheckResult(const Expr& value, const Stmt& in) const {
    TCC_ASSIGN_OR_RETURN(const OutputSteps output, ReadOutputSteps(value, in));
    if (!IsSum(output.sum->buffer)) return Refuse(in, "expected a copy of sums");
    TCC_RETURN_IF_ERROR(CheckNeighbours(output.sum->indices, in));
    for (const OutputStep& step : output.steps) {
      if (step.operand) TCC_RETURN_IF_ERROR(CheckNeighbours(step.operand->indices, in));
    }
    return OkStatus();
  }

  bool IsSum(const Var& buffer) const {
    const auto place = places_.find(buffer);
    return place != places_.end() && place->second.memory == VdlaMemory::kSums;
  }

  const Var& lane_;
  const BufferPlaces& places_;
};

}  // namespace

Status CheckVectorLoop(const For& loop, const BufferPlaces& places) {
  return VectorLoopChecker(loop.var, places).Check(loop.body);
}

}  // namespace tcc
