#include "codegen_llvm/expr_emitter.h"

#include <llvm/IR/IRBuilder.h>

#include "codegen_llvm/convert.h"
#include "codegen_llvm/float_algebra.h"
#include "codegen_llvm/integer_ops.h"
#include "codegen_llvm/llvm_types.h"
#include "codegen_llvm/packed_bytes.h"
#include "codegen_llvm/popcount_sums.h"
#include "codegen_llvm/scalar_calls.h"
#include "codegen_llvm/word_dots.h"
#include "ir/expr/operators.h"
#include "ir/expr/visitor.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

using llvm::Value;

// Checks for 0, excluding -0.
bool IsZero(const Expr& expr) {
  if (const auto* broadcast = expr.as<Broadcast>()) return IsZero(broadcast->value);
  if (const auto* imm = expr.as<FloatImm>()) return __builtin_bit_cast(uint64_t, imm->value) == 0;
  return IsConstant(expr, 0);
}

bool IsNeverNan(Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* imm = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return imm && !imm->isNaN();
}

// Emits min or max; the result is NaN if either operand is. ARM has an instruction for it. x86's
// max gives its second operand when either is NaN: that is one instruction if one operand is a
// constant, as in relu. Otherwise the NaN check is on y, the new operand of a reduction, so that
// the dependency chain is the max alone.
Value* FloatMinMax(llvm::IRBuilderBase& b, bool is_min, Value* x, Value* y) {
  if (IsNeverNan(x)) std::swap(x, y);
  if (IsNeverNan(y) && IsForX86(b)) {
    Value* y_wins = is_min ? b.CreateFCmpOLT(y, x) : b.CreateFCmpOGT(y, x);
    return b.CreateSelect(y_wins, y, x);
  }
  llvm::IRBuilderBase::FastMathFlagGuard restore(b);
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros(true);
  b.setFastMathFlags(flags);
  auto id = is_min ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum;
  return b.CreateBinaryIntrinsic(id, y, x);
}

// Returns the number that all lanes are.
std::optional<int64_t> ConstantOfLanes(const Expr& expr) {
  const auto* broadcast = expr.as<Broadcast>();
  return AsConstant(broadcast ? broadcast->value : expr);
}

// Products of three coefficients fit 64 bits.
constexpr int64_t kMaxCoefficient = 1 << 20;

// Maps sign and magnitude to a two's complement integer of the same order, and back.
Value* TurnNegatives(llvm::IRBuilderBase& b, Value* bits) {
  Value* sign = b.CreateAShr(bits, 15);
  return b.CreateXor(bits, b.CreateAnd(sign, Int(bits, 0x7fff)));
}

// Returns the number of NaNs of each sign: the bit patterns beyond the infinity.
int64_t NansOfSign(DType dtype) {
  return dtype.code() == DTypeCode::kBFloat16 ? 0x7f : 0x3ff;
}

// Emits the minimum or maximum of 16-bit floats (f16 or bf16 in their register form, 16 bits per
// lane): NaN if either is, and -0 < +0. It compares the bits as integers, which needs no conversion
// and handles twice as many lanes per instruction as f32. The NaNs lie at both ends of the order,
// by sign. Adding their number, with wraparound, moves all of them to the end that wins.
Value* EmitMinMax16(llvm::IRBuilderBase& b, bool is_min, Value* x, Value* y, DType dtype) {
  Value* shift = Int(x, is_min ? NansOfSign(dtype) : -NansOfSign(dtype));
  auto key = [&](Value* bits) { return b.CreateAdd(TurnNegatives(b, bits), shift); };
  auto pick = is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
  return TurnNegatives(b, b.CreateSub(b.CreateBinaryIntrinsic(pick, key(x), key(y)), shift));
}

}  // namespace

void ExprEmitter::PushGuard(Value* condition) {
  Value*& part = condition->getType()->isVectorTy() ? guard_.lanes : guard_.scalar;
  part = part ? b_.CreateAnd(part, condition) : condition;
  memo_.emplace_back();
}

Value* ExprEmitter::AnyActive() {
  if (!guard_.lanes) return guard_.scalar;
  Value* any = b_.CreateOrReduce(guard_.lanes);
  return guard_.scalar ? b_.CreateAnd(guard_.scalar, any) : any;
}

Value* ExprEmitter::ActiveLanes(int lanes) {
  if (!guard_.lanes) return guard_.scalar ? Splat(b_, guard_.scalar, lanes) : nullptr;
  TCC_CHECK(LanesOf(guard_.lanes) == lanes) << LanesOf(guard_.lanes) << " against " << lanes;
  Value* active =
      guard_.scalar ? b_.CreateAnd(guard_.lanes, Splat(b_, guard_.scalar, lanes)) : guard_.lanes;
  // A masked access, even with a constant mask, keeps a local buffer out of registers.
  const auto* known = llvm::dyn_cast<llvm::Constant>(active);
  return known && known->isAllOnesValue() ? nullptr : active;
}

Value* ExprEmitter::Known(const Expr& expr) const {
  for (const Memo& layer : memo_) {
    auto found = layer.find(expr);
    if (found != layer.end()) return found->second;
  }
  return nullptr;
}

Value* ExprEmitter::Emit(const Expr& expr) {
  if (Value* known = Known(expr)) return known;
  Value* value = EmitNode(expr);
  memo_.back().emplace(expr, value);
  return value;
}

Value* ExprEmitter::EmitNode(const Expr& expr) {
  if (Value* sum = EmitCountedSum(expr)) return sum;
  llvm::Type* type = RegisterType(b_.getContext(), expr.dtype());
  DType dtype = expr.dtype();
  return VisitExpr(
      expr,
      Overloaded{
          [&](const IntImm& imm) -> Value* { return llvm::ConstantInt::get(type, imm.value); },
          [&](const FloatImm& imm) -> Value* {
            Value* value = llvm::ConstantFP::get(b_.getDoubleTy(), imm.value);
            return Convert(b_, value, kFloat64, dtype);
          },
          [&](const VarNode& var) { return EmitVar(var); },
          [&](const Cast& cast) {
            return Convert(b_, Emit(cast.value), cast.value.dtype(), dtype);
          },
          [&](const And& node) { return EmitLogical(true, node.a, node.b); },
          [&](const Or& node) { return EmitLogical(false, node.a, node.b); },
          [&](const Not& node) { return b_.CreateNot(Emit(node.a)); },
          [&](const Select& node) { return EmitSelect(node); },
          [&](const Load& node) { return EmitLoad(node, nullptr); },
          [&](const Call& node) { return EmitCall(node); },
          [&](const Ramp& node) { return EmitRamp(node); },
          [&](const Broadcast& node) { return Splat(b_, Emit(node.value), node.lanes); },
          [&](const auto& node) {
            return IsComparison(node.kind) ? EmitComparison(node.kind, node.a, node.b)
                                           : EmitBinary(node.kind, node.a, node.b, dtype);
          },
      });
}

Value* ExprEmitter::EmitVar(const VarNode& var) {
  auto found = state_.vars.find(&var);
  TCC_CHECK(found != state_.vars.end()) << var.name << " has no value here";
  return found->second;
}

Value* ExprEmitter::EmitRamp(const Ramp& ramp) {
  std::vector<llvm::Constant*> steps;
  for (int64_t i = 0; i < ramp.lanes; ++i) steps.push_back(b_.getInt64(i));
  Value* base = Splat(b_, Emit(ramp.base), ramp.lanes);
  Value* stride = Splat(b_, Emit(ramp.stride), ramp.lanes);
  return b_.CreateAdd(base, b_.CreateMul(llvm::ConstantVector::get(steps), stride));
}

std::optional<ExprEmitter::AddedDot> ExprEmitter::DotIn(const Expr& a, const Expr& b,
                                                        ScalarOp op) const {
  for (const auto& [term, sum] : {std::pair(b, a), std::pair(a, b)}) {
    const auto* call = term.as<Call>();
    if (call && call->op == op && !Known(term)) return AddedDot{sum, call->args[0], call->args[1]};
  }
  return std::nullopt;
}

bool ExprEmitter::CollectCounts(const Expr& expr, int64_t factor, CountedSum& sum) {
  if (Known(expr)) return false;
  if (const auto* call = expr.as<Call>(); call && call->op == ScalarOp::kPopcount) {
    sum.words.push_back({Emit(call->args[0]), factor});
    return true;
  }
  if (const auto* product = expr.as<Mul>()) {
    const std::optional<int64_t> by = ConstantOfLanes(product->b);
    return by && std::abs(*by) <= kMaxCoefficient && std::abs(factor) <= kMaxCoefficient &&
           CollectCounts(product->a, factor * *by, sum);
  }
  auto collect = [&](const Expr& a, const Expr& b, int64_t factor_of_b) {
    const bool has_a = CollectCounts(a, factor, sum);
    const bool has_b = CollectCounts(b, factor_of_b, sum);
    if (has_a && !has_b) sum.others.emplace_back(b, factor_of_b);
    if (has_b && !has_a) sum.others.emplace_back(a, factor);
    return has_a || has_b;
  };
  if (const auto* add = expr.as<Add>()) return collect(add->a, add->b, factor);
  if (const auto* sub = expr.as<Sub>()) return collect(sub->a, sub->b, -factor);
  return false;
}

Value* ExprEmitter::EmitCountedSum(const Expr& expr) {
  const DType dtype = expr.dtype();
  if (!dtype.is_integer() || dtype.bits() != 32) return nullptr;
  if (!SumsPopcounts(state_, dtype.lanes())) return nullptr;
  CountedSum counted;
  if (!CollectCounts(expr, 1, counted)) return nullptr;
  Value* sum = nullptr;
  for (const auto& [other, factor] : counted.others) {
    Value* value = Emit(other);
    if (factor != 1) value = b_.CreateMul(value, Int(value, factor));
    sum = sum ? b_.CreateAdd(sum, value) : value;
  }
  if (!sum) sum = llvm::Constant::getNullValue(RegisterType(b_.getContext(), dtype));
  return EmitSumOfPopcounts(state_, sum, counted.words);
}

Value* ExprEmitter::EmitBinary(ExprKind kind, const Expr& a, const Expr& b, DType dtype) {
  if (!dtype.is_float()) return EmitIntegerBinary(kind, a, b, dtype);
  bool picks = kind == ExprKind::kMin || kind == ExprKind::kMax;
  if (picks && dtype.bits() == 16) {
    return EmitMinMax16(b_, kind == ExprKind::kMin, Emit(a), Emit(b), dtype);
  }
  if (kind == ExprKind::kAdd) {
    if (auto dot = DotIn(a, b, ScalarOp::kDotBf16x2)) {
      return EmitDotOfBFloats(state_, Emit(dot->sum), Emit(dot->x), Emit(dot->y));
    }
  }
  Value* x = Widen(b_, Emit(a), dtype);
  Value* y = Widen(b_, Emit(b), dtype);
  return Narrow(b_, EmitFloatBinary(kind, x, y, dtype), dtype);
}

Value* ExprEmitter::EmitFloatBinary(ExprKind kind, Value* x, Value* y, DType dtype) {
  // A product may be fused with a sum that uses it: the numeric policy bounds the error, and a
  // fused one is smaller. Nothing else is allowed.
  llvm::IRBuilderBase::FastMathFlagGuard restore(b_);
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
  if (kind == ExprKind::kAdd) return b_.CreateFAdd(x, y);
  if (kind == ExprKind::kSub) return b_.CreateFSub(x, y);
  if (kind == ExprKind::kMul) return b_.CreateFMul(x, y);
  b_.setFastMathFlags({});
  if (kind == ExprKind::kDiv) return b_.CreateFDiv(x, y);
  TCC_CHECK(kind == ExprKind::kMin || kind == ExprKind::kMax) << ToString(dtype);
  return FloatMinMax(b_, kind == ExprKind::kMin, x, y);
}

Value* ExprEmitter::EmitIntegerBinary(ExprKind kind, const Expr& a, const Expr& b, DType dtype) {
  if (kind == ExprKind::kAdd) {
    for (ScalarOp op : {ScalarOp::kDotU8I8x4, ScalarOp::kDotI8I8x4}) {
      if (auto dot = DotIn(a, b, op)) {
        return EmitDotOfBytes(state_, op, Emit(dot->sum), Emit(dot->x), Emit(dot->y));
      }
    }
  }
  Value* x = Emit(a);
  Value* y = Emit(b);
  bool is_signed = dtype.is_signed_integer();
  using llvm::Intrinsic::ID;
  if (kind == ExprKind::kAdd) return b_.CreateAdd(x, y);
  if (kind == ExprKind::kSub) return b_.CreateSub(x, y);
  if (kind == ExprKind::kMul) return b_.CreateMul(x, y);
  if (kind == ExprKind::kMin)
    return b_.CreateBinaryIntrinsic(is_signed ? ID(llvm::Intrinsic::smin) : llvm::Intrinsic::umin,
                                    x, y);
  if (kind == ExprKind::kMax)
    return b_.CreateBinaryIntrinsic(is_signed ? ID(llvm::Intrinsic::smax) : llvm::Intrinsic::umax,
                                    x, y);
  Sign sign = IsNonNegative(a) ? Sign::kNonNegative : Sign::kAny;
  return EmitRoundedDivision(b_, kind, x, y, dtype, sign);
}

Value* ExprEmitter::EmitComparison(ExprKind kind, const Expr& a, const Expr& b) {
  using P = llvm::CmpInst::Predicate;
  DType dtype = a.dtype();
  bool is_float = dtype.is_float();
  bool is_signed = dtype.is_signed_integer();
  Value* x = is_float ? Widen(b_, Emit(a), dtype) : Emit(a);
  Value* y = is_float ? Widen(b_, Emit(b), dtype) : Emit(b);
  P predicate = P::BAD_ICMP_PREDICATE;
  if (kind == ExprKind::kEq) predicate = is_float ? P::FCMP_OEQ : P::ICMP_EQ;
  if (kind == ExprKind::kNe) predicate = is_float ? P::FCMP_UNE : P::ICMP_NE;
  if (kind == ExprKind::kLt)
    predicate = is_float ? P::FCMP_OLT : is_signed ? P::ICMP_SLT : P::ICMP_ULT;
  if (kind == ExprKind::kLe)
    predicate = is_float ? P::FCMP_OLE : is_signed ? P::ICMP_SLE : P::ICMP_ULE;
  return b_.CreateCmp(predicate, x, y);
}

Value* ExprEmitter::EmitLogical(bool is_and, const Expr& a, const Expr& b) {
  Value* first = Emit(a);
  Value* undecided = is_and ? first : b_.CreateNot(first);
  Value* second = Guarded(undecided, [&] { return Emit(b); });
  return is_and ? b_.CreateLogicalAnd(first, second) : b_.CreateLogicalOr(first, second);
}

Value* ExprEmitter::EmitSelect(const Select& select) {
  Value* condition = Emit(select.condition);
  int lanes = select.dtype.lanes();
  const auto* load = select.then_value.as<Load>();
  bool masked_load = load && !IsPacked(select.dtype) && !Known(select.then_value);
  if (masked_load && lanes == 1 && IsZero(select.else_value))
    return Guarded(condition,
                   [&] { return LoadScalar(load->buffer, load->indices[0], condition); });

  Value* else_value = Guarded(b_.CreateNot(condition), [&] { return Emit(select.else_value); });
  if (masked_load && lanes > 1)
    return Guarded(condition, [&] { return EmitLoad(*load, else_value); });
  Value* then_value = Guarded(condition, [&] { return Emit(select.then_value); });
  if (LanesOf(condition) == 1) condition = Splat(b_, condition, lanes);
  return b_.CreateSelect(condition, then_value, else_value);
}

Value* ExprEmitter::EmitCall(const Call& call) {
  if (auto bytes = MatchPackedBytes(call)) return LoadWords(*bytes, call.dtype.lanes());
  DType dtype = call.args[0].dtype();
  std::vector<Value*> args;
  for (const Expr& arg : call.args) args.push_back(Emit(arg));
  if (call.op == ScalarOp::kTruncDiv || call.op == ScalarOp::kTruncMod) {
    Value* active = dtype.lanes() == 1 ? AnyActive() : ActiveLanes(dtype.lanes());
    Value* one = llvm::ConstantInt::get(args[1]->getType(), 1);
    if (active) args[1] = b_.CreateSelect(active, args[1], one);
  }
  return EmitScalarCall(state_, call.op, args, dtype);
}

bool ExprEmitter::IsNonNegative(const Expr& expr) const {
  if (!expr.dtype().is_signed_integer()) return true;
  if (const auto* ramp = expr.as<Ramp>())
    return IsNonNegative(ramp->base) && IsNonNegative(ramp->stride);
  if (const auto* broadcast = expr.as<Broadcast>()) return IsNonNegative(broadcast->value);
  if (const auto* add = expr.as<Add>(); add && expr.dtype().lanes() > 1)
    return expr.dtype().element() == kInt64 && IsNonNegative(add->a) && IsNonNegative(add->b);
  return expr.dtype() == kInt64 && BoundsOf(expr, state_.bounds).low >= 0;
}

}  // namespace tcc
