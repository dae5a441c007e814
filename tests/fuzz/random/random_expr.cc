#include "tests/fuzz/random/random_expr.h"

#include <iterator>
#include <limits>

#include "ir/expr/operators.h"

namespace tcc {
namespace {

constexpr DTypeCode kElements[] = {
#define TCC_CODE(text, code, bits, kind) DTypeCode::code,
    TCC_DTYPES(TCC_CODE)
#undef TCC_CODE
};

Combiner BuildExpSum() {
  Combiner softmax = SoftmaxCombiner(kFloat32);
  auto* node = new CombinerNode;
  node->name = "exp sum";
  node->identities = softmax->identities;
  node->lhs = softmax->lhs;
  node->rhs = softmax->rhs;
  node->results = softmax->results;
  node->direct = {node->rhs[0], CallOf(ScalarOp::kExpDiff, {node->rhs[0], node->lhs[0]})};
  node->direct_ops = {MaxCombiner(kFloat32), SumCombiner(kFloat32)};
  return Combiner(node);
}

}  // namespace

std::string RandomName(Random& random) {
  static constexpr std::string_view kNames[] = {
      "i",   "j",   "k", "A",   "A",   "i_1",         "conv1.weight",
      "for", "x:0", "",  "min", "f32", "say \"x\"\n", "\xc3\xa9"};
  return std::string(kNames[random.Below(std::size(kNames))]);
}

DType RandomElement(Random& random) {
  if (random.OneIn(2)) return random.OneIn(2) ? kFloat32 : kInt64;
  return kElements[random.Below(std::size(kElements))];
}

int RandomLanes(Random& random) {
  return random.OneIn(4) ? 3 : 4;
}

Combiner RandomCombiner(Random& random) {
  static const Combiner* exp_sum = new Combiner(BuildExpSum());
  switch (random.Below(7)) {
    case 0:
      return SumCombiner(kInt64);
    case 1:
      return MaxCombiner(kFloat32);
    case 2:
      return ArgMaxCombiner(kFloat32, TieBreak::kFirst);
    case 3:
      return SoftmaxCombiner(kFloat32);
    case 4:
      return AttentionCombiner(kFloat32);
    case 5:
      return *exp_sum;
    default:
      return SumCombiner(kFloat32);
  }
}

Expr ExprGenerator::Make(DType dtype, int depth) {
  if (depth == 0) return Leaf(dtype);
  if (dtype.lanes() > 1 && random_.OneIn(3)) return Vector(dtype, depth);
  switch (random_.Below(6)) {
    case 0:
      return Leaf(dtype);
    case 1:
      return LoadOf(dtype, depth);
    case 2:
      return tcc::Make<Cast>(dtype,
                             Make(RandomElement(random_).WithLanes(dtype.lanes()), depth - 1));
    case 3: {
      DType asked = kBool.WithLanes(random_.OneIn(2) ? dtype.lanes() : 1);
      Expr condition = Make(asked, depth - 1);
      auto [a, b] = Two(dtype, depth);
      return SelectOf(condition, a, b);
    }
    case 4:
      return dtype.is_bool() ? Truth(dtype, depth) : Arithmetic(dtype, depth);
    default:
      return dtype.is_bool() ? Truth(dtype, depth) : CallTo(dtype, depth);
  }
}

std::pair<Expr, Expr> ExprGenerator::Two(DType dtype, int depth) {
  Expr first = Make(dtype, depth - 1);
  return {first, Make(dtype, depth - 1)};
}

Expr ExprGenerator::Leaf(DType dtype) {
  std::vector<Expr> fitting;
  for (const Var& var : vars_.scalars) {
    if (var.dtype() == dtype) fitting.push_back(var);
  }
  if (!fitting.empty() && random_.Below(4) > 0) return fitting[random_.Below(fitting.size())];
  return Constant(dtype);
}

// A storage type has no constants: one is cast.
Expr ExprGenerator::Constant(DType dtype) {
  using Limits = std::numeric_limits<double>;
  if (dtype.is_storage_only()) {
    return tcc::Make<Cast>(dtype, Constant(kFloat32.WithLanes(dtype.lanes())));
  }
  if (dtype.is_float()) {
    const double values[] = {0.0,
                             -0.0,
                             1.0,
                             0.1,
                             -2.5,
                             1e30,
                             Limits::infinity(),
                             -Limits::infinity(),
                             Limits::quiet_NaN(),
                             random_.Unit()};
    return FloatConst(dtype, values[random_.Below(std::size(values))]);
  }
  if (dtype.is_bool()) return IntConst(dtype, static_cast<int64_t>(random_.Below(2)));
  const int64_t values[] = {0, 1, 2, 7, MinValue(dtype), MaxValue(dtype)};
  return IntConst(dtype, values[random_.Below(std::size(values))]);
}

Expr ExprGenerator::LoadOf(DType dtype, int depth) {
  for (size_t tries = 0; tries < 2 * vars_.buffers.size(); ++tries) {
    const Var& buffer = vars_.buffers[random_.Below(vars_.buffers.size())];
    if (buffer.dtype() != dtype.element()) continue;
    std::vector<Expr> indices = {Make(kInt64.WithLanes(dtype.lanes()), depth - 1)};
    while (random_.OneIn(2)) indices.push_back(Make(kInt64, depth - 1));
    if (dtype.lanes() == 1 && random_.OneIn(6)) indices.clear();
    return tcc::Make<Load>(buffer, indices);
  }
  return Leaf(dtype);
}

Expr ExprGenerator::Arithmetic(DType dtype, int depth) {
  const BinaryOperator& row = kBinaryOperators[random_.Below(std::size(kBinaryOperators))];
  bool gives_type = row.rule != OperandRule::kComparison && Accepts(row.rule, dtype);
  if (!gives_type) return Leaf(dtype);
  auto [a, b] = Two(dtype, depth);
  return MakeBinary(row.kind, a, b);
}

Expr ExprGenerator::Truth(DType dtype, int depth) {
  if (random_.OneIn(5)) return tcc::Make<Not>(Make(dtype, depth - 1));
  if (random_.OneIn(5)) {
    ScalarOp op = random_.OneIn(2) ? ScalarOp::kIsNan : ScalarOp::kIsInf;
    DType operand = DType(random_.OneIn(2) ? DTypeCode::kFloat64 : DTypeCode::kFloat32);
    return CallOf(op, {Make(operand.WithLanes(dtype.lanes()), depth - 1)});
  }
  const BinaryOperator& row = kBinaryOperators[random_.Below(std::size(kBinaryOperators))];
  DType operand = dtype;
  if (row.rule == OperandRule::kComparison) {
    operand = RandomElement(random_).WithLanes(dtype.lanes());
  } else if (!Accepts(row.rule, dtype)) {
    return Leaf(dtype);
  }
  auto [a, b] = Two(operand, depth);
  return MakeBinary(row.kind, a, b);
}

Expr ExprGenerator::CallTo(DType dtype, int depth) {
  ScalarOp op = static_cast<ScalarOp>(random_.Below(static_cast<uint64_t>(ScalarOp::kIsInf) + 1));
  if (ResultType(op, dtype) != dtype) return Leaf(dtype);
  std::vector<Expr> args;
  for (int i = 0; i < RowOf(op).arity; ++i) args.push_back(Make(dtype, depth - 1));
  return CallOf(op, args);
}

Expr ExprGenerator::Vector(DType dtype, int depth) {
  if (dtype.element() == kInt64 && random_.OneIn(2)) {
    auto [base, stride] = Two(kInt64, depth);
    return tcc::Make<Ramp>(base, stride, dtype.lanes());
  }
  return tcc::Make<Broadcast>(Make(dtype.element(), depth - 1), dtype.lanes());
}

}  // namespace tcc
