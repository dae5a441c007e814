#include <algorithm>
#include <cmath>

#include "tests/fuzz/random/random_model.h"

namespace tcc {
namespace {

using namespace onnx_bytes;

// What a function makes of its operand's bound, and whether multiples of 1/8 stay such.
struct UnaryRule {
  const char* op;
  double largest;  // operands beyond this are not given
  double (*bound)(double operand);
  bool keeps_exact = false;
  bool needs_exact = false;  // has jumps
};

double Same(double x) {
  return x;
}
double One(double) {
  return 1;
}
double PlusOne(double x) {
  return x + 1;
}

constexpr UnaryRule kUnary[] = {
    {"Abs", 1e6, Same, true},
    {"Neg", 1e6, Same, true},
    {"Relu", 1e6, Same, true},
    {"Identity", 1e6, Same, true},
    {"LeakyRelu", 1e3, Same},
    {"Elu", 1e3, PlusOne},
    {"Selu", 1e3, [](double x) { return 1.1 * x + 2; }},
    {"Celu", 1e3, PlusOne},
    {"Mish", 1e3, PlusOne},
    {"Gelu", 1e3, PlusOne},
    {"HardSwish", 1e3, PlusOne},
    {"Softplus", 50, PlusOne},
    {"Softsign", 1e3, One},
    {"Sigmoid", 1e3, One},
    {"HardSigmoid", 1e3, One},
    {"Tanh", 1e3, One},
    {"Erf", 1e3, One},
    {"Exp", 4, [](double x) { return std::exp(x); }},
    {"Sin", 50, One},
    {"Cos", 50, One},
    {"Atan", 1e3, [](double) { return 1.6; }},
    {"Sinh", 4, [](double x) { return std::exp(x); }},
    {"Cosh", 4, [](double x) { return std::exp(x); }},
    {"Asinh", 1e3, Same},
    {"Shrink", 1e3, PlusOne, false, true},
    {"ThresholdedRelu", 1e3, Same, false, true},
    {"Floor", 1e3, PlusOne, true, true},
    {"Ceil", 1e3, PlusOne, true, true},
    {"Round", 1e3, PlusOne, true, true},
    {"Sign", 1e3, One, true, true},
};

bool AddUnary(ModelBuilder& model, const std::string& op) {
  const UnaryRule* rule = std::find_if(std::begin(kUnary), std::end(kUnary),
                                       [&](const UnaryRule& row) { return row.op == op; });
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    if (op == "Celu" && value.type != DTypeCode::kFloat32) return false;  // ONNX has no other
    return value.is_float() && value.bound <= rule->largest && (value.exact || !rule->needs_exact);
  });
  if (!x) return false;
  ModelValue result = *x;
  result.bound = rule->bound(x->bound);
  result.exact = x->exact && rule->keeps_exact && result.bound <= 1e3;
  model.Add(op, {x->name}, result);
  return true;
}

// A shape that `shape` broadcasts with: some dimensions 1, some in front left out.
std::vector<int64_t> BroadcastTo(ModelBuilder& model, const std::vector<int64_t>& shape) {
  Random& random = model.random;
  std::vector<int64_t> other = shape;
  for (int64_t& extent : other) {
    if (random.OneIn(3) || (model.Varies(extent) && !random.OneIn(40))) extent = 1;
  }
  if (random.OneIn(3)) {
    other.erase(other.begin(),
                other.begin() + static_cast<int64_t>(random.Below(shape.size() + 1)));
  }
  return other;
}

bool Broadcasts(const std::vector<int64_t>& a, const std::vector<int64_t>& b,
                std::vector<int64_t>* result) {
  size_t rank = std::max(a.size(), b.size());
  result->assign(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    int64_t left = d < a.size() ? a[a.size() - 1 - d] : 1;
    int64_t right = d < b.size() ? b[b.size() - 1 - d] : 1;
    if (left != right && left != 1 && right != 1) return false;
    (*result)[rank - 1 - d] = left == 1 ? right : left;
  }
  int64_t count = 1;
  for (int64_t extent : *result) count *= extent;
  return count <= 20000;
}

// An operand for `x`: another value that fits, or a new constant.
ModelValue PartnerOf(ModelBuilder& model, const ModelValue& x, double bound) {
  std::vector<int64_t> ignored;
  std::optional<ModelValue> other = model.Pick([&](const ModelValue& value) {
    return value.type == x.type && value.bound <= bound &&
           Broadcasts(value.shape, x.shape, &ignored);
  });
  if (other && model.Chance(60)) return *other;
  return model.AddConstant(x.type, BroadcastTo(model, x.shape), std::min(bound, 3.0));
}

bool AddArithmetic(ModelBuilder& model, const std::string& op) {
  bool product = op == "Mul";
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    return value.type != DTypeCode::kBool && value.bound <= (product ? 100 : 1e5);
  });
  if (!x) return false;
  ModelValue y = PartnerOf(model, *x, product ? 100 : 1e5);
  ModelValue result = *x;
  if (!Broadcasts(x->shape, y.shape, &result.shape)) return false;
  bool selects = op == "Max" || op == "Min";
  result.bound = product   ? x->bound * y.bound
                 : selects ? std::max(x->bound, y.bound)
                           : x->bound + y.bound;
  result.exact = x->exact && y.exact && !product && result.bound <= 1e3;
  bool swap = model.Chance(30);
  model.Add(op, {swap ? y.name : x->name, swap ? x->name : y.name}, result);
  return true;
}

// By constants away from zero.
bool AddDiv(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick(
      [](const ModelValue& value) { return value.type != DTypeCode::kBool && value.bound <= 1e4; });
  if (!x) return false;
  std::vector<int64_t> shape = BroadcastTo(model, x->shape);
  Tensor divisor = MakeZeroTensor(x->type, shape);
  int64_t count = ElementCount(shape).value();
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = model.random.Between(1, 5) * (model.Chance(50) ? 1 : -1);
    SetElement(divisor, i, static_cast<double>(number));
  }
  ModelValue result = *x;
  result.exact = false;
  model.Add(op, {x->name, model.AddTensor(divisor)}, result);
  return true;
}

bool AddPow(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.PickFloat(20);
  if (!x) return false;
  Tensor exponent = MakeZeroTensor(x->type, {});
  SetElement(exponent, 0, model.Chance(50) ? 2 : 3);
  ModelValue result = *x;
  result.bound = std::pow(x->bound, 3) + 1;
  result.exact = false;
  model.Add(op, {x->name, model.AddTensor(exponent)}, result);
  return true;
}

// Of something that is at least 1/4.
bool AddRootOrLog(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.PickFloat(1e3);
  if (!x) return false;
  Tensor shift = MakeZeroTensor(x->type, {});
  SetElement(shift, 0, 0.25);
  ModelValue positive = *x;
  positive.exact = false;
  positive.bound = x->bound + 1;
  ModelValue size = model.Add("Abs", {x->name}, positive);
  ModelValue moved = model.Add("Add", {size.name, model.AddTensor(shift)}, positive);
  positive.bound = op == "Reciprocal" ? 4 : positive.bound + 2;
  model.Add(op, {moved.name}, positive);
  return true;
}

bool AddClip(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.PickFloat(1e4);
  if (!x) return false;
  Tensor low = MakeZeroTensor(x->type, {}), high = MakeZeroTensor(x->type, {});
  SetElement(low, 0, -1);
  SetElement(high, 0, 1.5);
  std::vector<std::string> inputs = {x->name, model.Chance(70) ? model.AddTensor(low) : ""};
  if (model.Chance(70)) inputs.push_back(model.AddTensor(high));
  model.Add(op, inputs, *x);
  return true;
}

bool AddPRelu(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.PickFloat(100);
  if (!x) return false;
  std::vector<int64_t> shape = x->shape;
  for (int64_t& extent : shape) extent = model.Varies(extent) || model.Chance(50) ? 1 : extent;
  ModelValue slope = model.AddConstant(x->type, shape, 2);
  ModelValue result = *x;
  result.bound = 2 * x->bound;
  result.exact = false;
  model.Add(op, {x->name, slope.name}, result);
  return true;
}

bool AddComparison(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x = model.Pick(
      [](const ModelValue& value) { return value.exact && value.type != DTypeCode::kBool; });
  if (!x) return false;
  std::vector<int64_t> shape;
  std::optional<ModelValue> y = model.Pick([&](const ModelValue& value) {
    return value.exact && value.type == x->type && Broadcasts(value.shape, x->shape, &shape);
  });
  if (!y || model.Chance(40)) y = model.AddConstant(x->type, BroadcastTo(model, x->shape), 2);
  ModelValue result{"", DTypeCode::kBool, {}, 1, true};
  if (!Broadcasts(x->shape, y->shape, &result.shape)) return false;
  model.Add(op, {x->name, y->name}, result);
  return true;
}

bool AddLogical(ModelBuilder& model, const std::string& op) {
  auto is_bool = [](const ModelValue& value) { return value.type == DTypeCode::kBool; };
  std::optional<ModelValue> x = model.Pick(is_bool);
  if (!x) return false;
  if (op == "Not") {
    model.Add(op, {x->name}, *x);
    return true;
  }
  ModelValue y = PartnerOf(model, *x, 1);
  ModelValue result = *x;
  if (!Broadcasts(x->shape, y.shape, &result.shape)) return false;
  model.Add(op, {x->name, y.name}, result);
  return true;
}

bool AddWhere(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> condition =
      model.Pick([](const ModelValue& value) { return value.type == DTypeCode::kBool; });
  if (!condition) return false;
  std::vector<int64_t> shape;
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    return value.bound <= 1e5 && Broadcasts(value.shape, condition->shape, &shape);
  });
  if (!x) return false;
  ModelValue y = PartnerOf(model, *x, 1e5);
  ModelValue result = *x;
  if (!Broadcasts(x->shape, condition->shape, &shape)) return false;
  if (!Broadcasts(shape, y.shape, &result.shape)) return false;
  result.bound = std::max(x->bound, y.bound);
  result.exact = x->exact && y.exact;
  model.Add(op, {condition->name, x->name, y.name}, result);
  return true;
}

bool AddCast(ModelBuilder& model, const std::string& op) {
  constexpr DTypeCode kTypes[] = {DTypeCode::kFloat32, DTypeCode::kFloat64, DTypeCode::kFloat16,
                                  DTypeCode::kInt32,   DTypeCode::kInt64,   DTypeCode::kBool};
  DTypeCode to = kTypes[model.random.Below(model.Chance(70) ? 2 : std::size(kTypes))];
  std::optional<ModelValue> x = model.Pick([&](const ModelValue& value) {
    return DType(to).is_float() ? value.bound <= 1e3 : value.exact;
  });
  if (!x) return false;
  ModelValue result = *x;
  result.type = to;
  result.exact = x->exact;
  if (to == DTypeCode::kBool) result.bound = 1;
  model.Add(op, {x->name}, result, {IntAttr("to", OnnxTypeOf(to))});
  return true;
}

bool AddIntegerMod(ModelBuilder& model, const std::string& op) {
  std::optional<ModelValue> x =
      model.Pick([](const ModelValue& value) { return DType(value.type).is_integer(); });
  if (!x) return false;
  Tensor divisor = MakeZeroTensor(x->type, {});
  SetElementInt(divisor, 0, model.Chance(50) ? 3 : -4);
  ModelValue result = *x;
  result.bound = 4;
  std::vector<Wire> attributes;
  if (model.Chance(40)) attributes.push_back(IntAttr("fmod", 1));
  model.Add(op, {x->name, model.AddTensor(divisor)}, result, attributes);
  return true;
}

constexpr ModelOpRow kRows[] = {
    {"Abs", 13, AddUnary},
    {"Neg", 13, AddUnary},
    {"Relu", 13, AddUnary},
    {"Identity", 13, AddUnary},
    {"LeakyRelu", 13, AddUnary},
    {"Elu", 13, AddUnary},
    {"Selu", 13, AddUnary},
    {"Celu", 13, AddUnary},
    {"Mish", 18, AddUnary},
    {"Gelu", 20, AddUnary},
    {"HardSwish", 14, AddUnary},
    {"Softplus", 13, AddUnary},
    {"Softsign", 13, AddUnary},
    {"Sigmoid", 13, AddUnary},
    {"HardSigmoid", 13, AddUnary},
    {"Tanh", 13, AddUnary},
    {"Erf", 13, AddUnary},
    {"Exp", 13, AddUnary},
    {"Sin", 13, AddUnary},
    {"Cos", 13, AddUnary},
    {"Atan", 13, AddUnary},
    {"Sinh", 13, AddUnary},
    {"Cosh", 13, AddUnary},
    {"Asinh", 13, AddUnary},
    {"Shrink", 13, AddUnary},
    {"ThresholdedRelu", 13, AddUnary},
    {"Floor", 13, AddUnary},
    {"Ceil", 13, AddUnary},
    {"Round", 13, AddUnary},
    {"Sign", 13, AddUnary},
    {"Add", 13, AddArithmetic},
    {"Sub", 13, AddArithmetic},
    {"Mul", 13, AddArithmetic},
    {"Max", 13, AddArithmetic},
    {"Min", 13, AddArithmetic},
    {"Add", 13, AddArithmetic},
    {"Mul", 13, AddArithmetic},
    {"Div", 13, AddDiv},
    {"Pow", 13, AddPow},
    {"Sqrt", 13, AddRootOrLog},
    {"Log", 13, AddRootOrLog},
    {"Reciprocal", 13, AddRootOrLog},
    {"Clip", 13, AddClip},
    {"PRelu", 16, AddPRelu},
    {"Equal", 13, AddComparison},
    {"Less", 13, AddComparison},
    {"Greater", 13, AddComparison},
    {"LessOrEqual", 13, AddComparison},
    {"GreaterOrEqual", 13, AddComparison},
    {"And", 13, AddLogical},
    {"Or", 13, AddLogical},
    {"Xor", 13, AddLogical},
    {"Not", 13, AddLogical},
    {"Where", 13, AddWhere},
    {"Where", 13, AddWhere},
    {"Cast", 13, AddCast},
    {"Cast", 13, AddCast},
    {"Mod", 13, AddIntegerMod},
};

}  // namespace

std::span<const ModelOpRow> ElementwiseRows() {
  return kRows;
}

}  // namespace tcc
