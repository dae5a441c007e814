#include "ir/expr/expr.h"

#include <algorithm>

#include "ir/expr/operators.h"
#include "support/check.h"

namespace tcc {
namespace {

DType BinaryType(OperandRule rule, const Expr& a, const Expr& b) {
  TCC_CHECK(a && b) << "operand is missing";
  DType type = a.dtype();
  TCC_CHECK(type == b.dtype()) << ToString(type) << " against " << ToString(b.dtype());
  TCC_CHECK(Accepts(rule, type)) << ToString(type);
  return rule == OperandRule::kComparison ? kBool.WithLanes(type.lanes()) : type;
}

DType LoadType(const Var& buffer, const std::vector<Expr>& indices) {
  TCC_CHECK(buffer && buffer->role == VarRole::kBuffer) << "load from something that is no buffer";
  int lanes = 1;
  for (const Expr& index : indices) {
    TCC_CHECK(index && index.dtype().element() == kInt64) << "index of " << buffer->name;
    lanes = std::max(lanes, index.dtype().lanes());
  }
  return buffer.dtype().WithLanes(lanes);
}

DType CallType(ScalarOp op, const std::vector<Expr>& args) {
  const ScalarOpRow& row = RowOf(op);
  TCC_CHECK(static_cast<int>(args.size()) == row.arity) << row.text;
  for (const Expr& arg : args) TCC_CHECK(arg.dtype() == args[0].dtype()) << row.text;
  std::optional<DType> type = ResultType(op, args[0].dtype());
  TCC_CHECK(type) << row.text << " of " << ToString(args[0].dtype());
  return *type;
}

Expr SmallInt(int64_t value) {
  // Extents and indices are mostly small; sharing their nodes saves half of all allocations.
  static const std::vector<Expr>* cache = [] {
    auto* exprs = new std::vector<Expr>;
    for (int64_t i = -16; i <= 256; ++i) exprs->push_back(Make<IntImm>(kInt64, i));
    return exprs;
  }();
  if (value >= -16 && value <= 256) return (*cache)[value + 16];
  return Make<IntImm>(kInt64, value);
}

Var MakeVar(std::string name, VarRole role, DType dtype, int64_t low, int64_t high) {
  Expr node = Make<VarNode>(std::move(name), role, dtype, low, high, low);
  return Var(node.as<VarNode>());
}

}  // namespace

uint64_t FieldHash(const std::string& value) {
  uint64_t seed = value.size();
  for (char c : value) seed = HashMix(seed, static_cast<unsigned char>(c));
  return seed;
}

Expr Expr::Index(int64_t value) {
  return SmallInt(value);
}

IntImm::IntImm(DType type, int64_t value) : ExprNode(kKind, type), value(value) {
  TCC_CHECK(type.is_integer() || type.is_bool()) << ToString(type);
}

FloatImm::FloatImm(DType type, double value) : ExprNode(kKind, type), value(value) {
  TCC_CHECK(type.is_float()) << ToString(type);
}

VarNode::VarNode(std::string name, VarRole role, DType type, int64_t low, int64_t high,
                 int64_t usual)
    : ExprNode(kKind, type), name(std::move(name)), role(role), low(low), high(high), usual(usual) {
  TCC_CHECK(low <= usual && usual <= high) << this->name;
}

Cast::Cast(DType type, Expr value) : ExprNode(kKind, type), value(std::move(value)) {
  TCC_CHECK(type.lanes() == this->value.dtype().lanes()) << "a cast keeps the lanes";
}

template <ExprKind K>
constexpr OperandRule kRuleOf = OperatorOf(K)->rule;

template <ExprKind K>
Binary<K>::Binary(Expr a, Expr b)
    : ExprNode(K, BinaryType(kRuleOf<K>, a, b)), a(std::move(a)), b(std::move(b)) {}

template struct Binary<ExprKind::kAdd>;
template struct Binary<ExprKind::kSub>;
template struct Binary<ExprKind::kMul>;
template struct Binary<ExprKind::kDiv>;
template struct Binary<ExprKind::kFloorDiv>;
template struct Binary<ExprKind::kFloorMod>;
template struct Binary<ExprKind::kCeilDiv>;
template struct Binary<ExprKind::kMin>;
template struct Binary<ExprKind::kMax>;
template struct Binary<ExprKind::kEq>;
template struct Binary<ExprKind::kNe>;
template struct Binary<ExprKind::kLt>;
template struct Binary<ExprKind::kLe>;
template struct Binary<ExprKind::kAnd>;
template struct Binary<ExprKind::kOr>;

Not::Not(Expr a) : ExprNode(kKind, a.dtype()), a(std::move(a)) {
  TCC_CHECK(dtype.is_bool()) << ToString(dtype);
}

Select::Select(Expr condition, Expr then_value, Expr else_value)
    : ExprNode(kKind, then_value.dtype()),
      condition(std::move(condition)),
      then_value(std::move(then_value)),
      else_value(std::move(else_value)) {
  TCC_CHECK(this->condition.dtype().is_bool()) << ToString(this->condition.dtype());
  TCC_CHECK(dtype == this->else_value.dtype())
      << ToString(dtype) << " or " << ToString(this->else_value.dtype());
  int lanes = this->condition.dtype().lanes();
  TCC_CHECK(lanes == 1 || lanes == dtype.lanes()) << lanes;
}

Load::Load(Var buffer, std::vector<Expr> indices)
    : ExprNode(kKind, LoadType(buffer, indices)),
      buffer(std::move(buffer)),
      indices(std::move(indices)) {}

Call::Call(ScalarOp op, std::vector<Expr> args)
    : ExprNode(kKind, CallType(op, args)), op(op), args(std::move(args)) {}

Ramp::Ramp(Expr base, Expr stride, int lanes)
    : ExprNode(kKind, kInt64.WithLanes(lanes)),
      base(std::move(base)),
      stride(std::move(stride)),
      lanes(lanes) {
  TCC_CHECK(lanes >= 2 && this->base.dtype() == kInt64 && this->stride.dtype() == kInt64) << lanes;
}

Broadcast::Broadcast(Expr value, int lanes)
    : ExprNode(kKind, value.dtype().WithLanes(lanes)), value(std::move(value)), lanes(lanes) {
  TCC_CHECK(lanes >= 2 && this->value.dtype().lanes() == 1) << lanes;
}

Var LoopVar(std::string name) {
  return MakeVar(std::move(name), VarRole::kLoop, kInt64, 0, INT64_MAX);
}
Var IterationVar(std::string name, DType dtype) {
  return MakeVar(std::move(name), VarRole::kIter, dtype, 0, INT64_MAX);
}
Var TileVar(std::string name, int64_t low, int64_t high) {
  return MakeVar(std::move(name), VarRole::kTile, kInt64, low, high);
}
Var ShapeVar(std::string name, int64_t low, int64_t high, int64_t usual) {
  Expr node = Make<VarNode>(std::move(name), VarRole::kShape, kInt64, low, high, usual);
  return Var(node.as<VarNode>());
}
Var ShapeVar(std::string name, int64_t low, int64_t high) {
  return ShapeVar(std::move(name), low, high, std::clamp(kUsualExtent, low, high));
}
Var BufferVar(std::string name, DType element) {
  return MakeVar(std::move(name), VarRole::kBuffer, element, 0, 0);
}

Expr operator+(const Expr& a, const Expr& b) {
  return Make<Add>(a, b);
}
Expr operator-(const Expr& a, const Expr& b) {
  return Make<Sub>(a, b);
}
Expr operator*(const Expr& a, const Expr& b) {
  return Make<Mul>(a, b);
}
Expr operator<(const Expr& a, const Expr& b) {
  return Make<Lt>(a, b);
}
Expr operator<=(const Expr& a, const Expr& b) {
  return Make<Le>(a, b);
}
Expr operator>(const Expr& a, const Expr& b) {
  return Make<Lt>(b, a);
}
Expr operator>=(const Expr& a, const Expr& b) {
  return Make<Le>(b, a);
}
Expr BothOf(const Expr& a, const Expr& b) {
  return Make<And>(a, b);
}
Expr EitherOf(const Expr& a, const Expr& b) {
  return Make<Or>(a, b);
}
Expr MinOf(const Expr& a, const Expr& b) {
  return Make<Min>(a, b);
}
Expr MaxOf(const Expr& a, const Expr& b) {
  return Make<Max>(a, b);
}
Expr FloorDivide(const Expr& a, const Expr& b) {
  return Make<FloorDiv>(a, b);
}
Expr FloorModulo(const Expr& a, const Expr& b) {
  return Make<FloorMod>(a, b);
}
Expr CeilDivide(const Expr& a, const Expr& b) {
  return Make<CeilDiv>(a, b);
}
Expr SelectOf(const Expr& condition, const Expr& then_value, const Expr& else_value) {
  return Make<Select>(condition, then_value, else_value);
}
Expr CallOf(ScalarOp op, std::vector<Expr> args) {
  return Make<Call>(op, std::move(args));
}
Expr CastTo(DType dtype, const Expr& value) {
  return value.dtype() == dtype ? value : Make<Cast>(dtype, value);
}

Expr IntConst(DType dtype, int64_t value) {
  return Make<IntImm>(dtype, value);
}
Expr FloatConst(DType dtype, double value) {
  return Make<FloatImm>(dtype, value);
}

Expr Const(DType dtype, double value) {
  // Storage types have no constants.
  if (dtype.is_storage_only()) return CastTo(dtype, FloatConst(kFloat32, value));
  return dtype.is_float() ? FloatConst(dtype, value) : IntConst(dtype, static_cast<int64_t>(value));
}

std::optional<int64_t> AsConstant(const Expr& expr) {
  if (const auto* imm = expr.as<IntImm>()) return imm->value;
  return std::nullopt;
}

bool IsConstant(const Expr& expr, int64_t value) {
  return AsConstant(expr) == value;
}

}  // namespace tcc
