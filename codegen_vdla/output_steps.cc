#include "codegen_vdla/output_steps.h"

#include <optional>

#include "codegen_vdla/refusal.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

std::optional<VdlaOutputOp> NarrowingTo(DType dtype) {
  if (dtype == DType(DTypeCode::kInt8)) return VdlaOutputOp::kToInt8;
  if (dtype == DType(DTypeCode::kUInt8)) return VdlaOutputOp::kToUint8;
  return std::nullopt;
}

// The operands of an operation, and its step.
struct Combination {
  VdlaOutputOp op;
  const Expr* a;
  const Expr* b;
};

template <typename Node>
std::optional<Combination> As(const Expr& value, VdlaOutputOp op) {
  const auto* node = value.as<Node>();
  return node ? std::optional(Combination{op, &node->a, &node->b}) : std::nullopt;
}

std::optional<Combination> CombinationOf(const Expr& value) {
  if (value.dtype() == kInt32) {
    if (auto add = As<Add>(value, VdlaOutputOp::kAddInteger)) return add;
    return As<Sub>(value, VdlaOutputOp::kSubtractInteger);
  }
  if (value.dtype() != kFloat32) return std::nullopt;
  if (auto add = As<Add>(value, VdlaOutputOp::kAdd)) return add;
  if (auto subtract = As<Sub>(value, VdlaOutputOp::kSubtract)) return subtract;
  if (auto multiply = As<Mul>(value, VdlaOutputOp::kMultiply)) return multiply;
  if (auto divide = As<Div>(value, VdlaOutputOp::kDivide)) return divide;
  if (auto maximum = As<Max>(value, VdlaOutputOp::kMaximum)) return maximum;
  return As<Min>(value, VdlaOutputOp::kMinimum);
}

// Whether the operand may come first. The sum comes first in a sum of two loads of integers.
bool Commutes(VdlaOutputOp op) {
  return op == VdlaOutputOp::kAdd || op == VdlaOutputOp::kMultiply ||
         op == VdlaOutputOp::kMaximum || op == VdlaOutputOp::kMinimum;
}

bool IsOperand(const Expr& expr) {
  return expr.as<FloatImm>() != nullptr || expr.as<Load>() != nullptr;
}

class StepReader {
 public:
  explicit StepReader(const Stmt& in) : in_(in) {}

  StatusOr<OutputSteps> Read(const Expr& value) {
    TCC_RETURN_IF_ERROR(Visit(value));
    return std::move(result_);
  }

 private:
  // Adds the steps that make the value.
  Status Visit(const Expr& value) {
    if (const auto* load = value.as<Load>(); load && load->dtype == kInt32) {
      result_.sum = Ref<Load>(load);
      return OkStatus();
    }
    if (const auto* cast = value.as<Cast>()) return VisitCast(*cast);
    const auto* call = value.as<Call>();
    if (call && call->op == ScalarOp::kRound && call->dtype == kFloat32) {
      return Then(call->args[0], {{.op = VdlaOutputOp::kRound}, {}});
    }
    const std::optional<Combination> combination = CombinationOf(value);
    if (!combination) return Refuse(in_, "the output stage has no such operation");
    return VisitCombination(*combination);
  }

  Status VisitCast(const Cast& cast) {
    const DType from = cast.value.dtype();
    const bool is_float = from == kFloat32;
    if (!is_float && cast.dtype == kFloat32) {
      return Then(cast.value, {{.op = VdlaOutputOp::kToFloat}, {}});
    }
    if (!is_float && cast.dtype == kInt32) return Visit(cast.value);  // a wider byte
    const std::optional<VdlaOutputOp> narrowing = NarrowingTo(cast.dtype);
    if (!is_float || !narrowing) return Refuse(in_, "the output stage has no such conversion");
    return Then(cast.value, {{.op = *narrowing}, {}});
  }

  Status VisitCombination(const Combination& combination) {
    const auto& [op, a, b] = combination;
    const bool swaps = Commutes(op) && IsOperand(*a);
    const Expr& value = swaps ? *b : *a;
    const Expr& operand = swaps ? *a : *b;
    OutputStep step = {.step = {.op = op}, .operand = {}};
    if (const auto* number = operand.as<FloatImm>()) {
      step.step.number = static_cast<float>(number->value);
    } else if (const auto* load = operand.as<Load>()) {
      step.step.is_by_channel = true;
      step.operand = Ref<Load>(load);
    } else {
      return Refuse(in_, "expected a constant or a parameter as an operand of the output stage");
    }
    return Then(value, std::move(step));
  }

  // Adds the steps that make a value, and then one more.
  Status Then(const Expr& value, OutputStep step) {
    TCC_RETURN_IF_ERROR(Visit(value));
    result_.steps.push_back(std::move(step));
    return OkStatus();
  }

  const Stmt& in_;
  OutputSteps result_;
};

}  // namespace

StatusOr<OutputSteps> ReadOutputSteps(const Expr& value, const Stmt& in) {
  return StepReader(in).Read(value);
}

}  // namespace tcc
