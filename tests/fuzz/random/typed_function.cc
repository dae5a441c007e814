#include "tests/fuzz/random/typed_function.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "support/check.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

constexpr int64_t kMaxValue = 8;
constexpr DTypeCode kTypes[] = {DTypeCode::kBool,    DTypeCode::kInt8,    DTypeCode::kInt16,
                                DTypeCode::kInt32,   DTypeCode::kInt64,   DTypeCode::kUInt8,
                                DTypeCode::kUInt16,  DTypeCode::kUInt32,  DTypeCode::kUInt64,
                                DTypeCode::kFloat16, DTypeCode::kFloat32, DTypeCode::kFloat64,
                                DTypeCode::kBFloat16};

constexpr DTypeCode kStorageTypes[] = {DTypeCode::kFloat8E4M3, DTypeCode::kFloat8E5M2,
                                       DTypeCode::kInt4,       DTypeCode::kUInt4,
                                       DTypeCode::kInt2,       DTypeCode::kUInt2};

// One that can be computed with.
DType AnyType(Random& random) {
  return kTypes[random.Below(std::size(kTypes))];
}

DType AnyStorageType(Random& random) {
  return kStorageTypes[random.Below(std::size(kStorageTypes))];
}

DType AnyTypeOfMemory(Random& random) {
  return random.OneIn(3) ? AnyStorageType(random) : AnyType(random);
}

bool IsUnsigned(DType dtype) {
  return dtype.is_integer() && !dtype.is_signed_integer();
}

Expr Number(DType dtype, int64_t value) {
  if (dtype.is_float()) return FloatConst(dtype, static_cast<double>(value));
  return IntConst(dtype, value);
}

// Writes expressions over inputs that it declares as it goes.
class TypedExprs {
 public:
  // `indices` are what inputs may be indexed by, with their extents.
  TypedExprs(Random& random, std::vector<std::pair<Var, int64_t>> indices)
      : random_(random), indices_(std::move(indices)) {}

  // Bools, or numbers from -8 (0 if unsigned) to 8; what a type holds that is only stored.
  Expr Value(DType dtype, int depth) {
    if (dtype.is_bool()) return Truth(depth);
    if (dtype.is_storage_only()) return Stored(dtype, depth);
    Expr value = depth == 0 || random_.OneIn(6) ? Leaf(dtype) : Compute(dtype, depth);
    return MaxOf(MinOf(value, Number(dtype, kMaxValue)),
                 Number(dtype, IsUnsigned(dtype) ? 0 : -kMaxValue));
  }

  const std::vector<Buffer>& inputs() const { return inputs_; }

 private:
  Expr Leaf(DType dtype) {
    if (random_.OneIn(5)) return Number(dtype, random_.Between(0, kMaxValue));
    if (random_.OneIn(4)) return Cast(dtype, 0);
    return Loaded(dtype);
  }

  Expr Stored(DType dtype, int depth) {
    if (depth == 0 || random_.OneIn(4)) return Loaded(dtype);
    if (random_.OneIn(3)) return SelectOf(Truth(depth - 1), Loaded(dtype), Loaded(dtype));
    return CastTo(dtype, Value(AnyType(random_), depth - 1));
  }

  Expr Loaded(DType dtype) {
    std::vector<size_t> known;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].dtype() == dtype) known.push_back(i);
    }
    size_t chosen = inputs_.size();
    if (!known.empty() && (inputs_.size() >= 5 || random_.OneIn(2))) {
      chosen = known[random_.Below(known.size())];
    } else if (inputs_.size() >= 5) {
      return Cast(dtype, 0);
    } else {
      Declare(dtype);
    }
    return Make<Load>(inputs_[chosen].var, subscripts_[chosen]);
  }

  // With some of the indices, in any order.
  void Declare(DType dtype) {
    std::vector<std::pair<Var, int64_t>> order = indices_;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
    if (random_.OneIn(3)) order.resize(1 + random_.Below(order.size()));
    if (random_.OneIn(2)) order = indices_;
    Buffer buffer;
    buffer.var = BufferVar(fmt::format("X{}", inputs_.size()), dtype);
    std::vector<Expr>& subscript = subscripts_.emplace_back();
    for (const auto& [var, extent] : order) {
      buffer.shape.emplace_back(extent);
      subscript.emplace_back(var);
    }
    inputs_.push_back(buffer);
  }

  Expr Cast(DType dtype, int depth) {
    // Of a type that there is an input of, or a new one.
    DType from = inputs_.empty() || (inputs_.size() < 5 && random_.OneIn(2))
                     ? AnyTypeOfMemory(random_)
                     : inputs_[random_.Below(inputs_.size())].dtype();
    Expr value = depth > 0 ? Value(from, depth - 1) : Loaded(from);
    // A negative float is out of an unsigned type's range.
    if (from.is_float() && IsUnsigned(dtype)) value = MaxOf(value, Number(from, 0));
    return from == dtype ? value : CastTo(dtype, value);
  }

  Expr Compute(DType dtype, int depth) {
    if (random_.OneIn(5)) return Cast(dtype, depth);
    if (random_.OneIn(3)) return dtype.is_float() ? OfFloats(dtype, depth) : OfInts(dtype, depth);
    Expr a = Value(dtype, depth - 1);
    Expr b = Value(dtype, depth - 1);
    switch (random_.Below(6)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return MinOf(a, b);
      case 4:
        return MaxOf(a, b);
      default:
        return SelectOf(Truth(depth - 1), a, b);
    }
  }

  Expr OfFloats(DType dtype, int depth) {
    constexpr ScalarOp kOps[] = {ScalarOp::kFloor, ScalarOp::kCeil, ScalarOp::kRound,
                                 ScalarOp::kTrunc};
    Expr a = Value(dtype, depth - 1);
    if (dtype == kFloat32 && random_.OneIn(6)) {
      Expr b = Value(dtype, depth - 1);
      Expr dot = CallOf(ScalarOp::kDotBf16x2, {CallOf(ScalarOp::kPackBf16x2, {a, b}),
                                               CallOf(ScalarOp::kPackBf16x2, {b, a - b})});
      return random_.OneIn(2) ? dot + a : dot;
    }
    if (random_.OneIn(3)) return CallOf(random_.OneIn(2) ? ScalarOp::kAbs : ScalarOp::kSign, {a});
    return CallOf(kOps[random_.Below(4)], {a * FloatConst(dtype, 0.5)});
  }

  Expr OfInts(DType dtype, int depth) {
    constexpr ScalarOp kBits[] = {ScalarOp::kBitAnd, ScalarOp::kBitOr, ScalarOp::kBitXor,
                                  ScalarOp::kShiftLeft, ScalarOp::kShiftRight};
    Expr a = Value(dtype, depth - 1);
    Expr b = Value(dtype, depth - 1);
    Expr positive = MaxOf(b, Number(dtype, 1));
    if (dtype == kInt32 && random_.OneIn(6)) {
      const ScalarOp bytes = random_.OneIn(2) ? ScalarOp::kDotU8I8x4 : ScalarOp::kDotI8I8x4;
      Expr dot = CallOf(random_.OneIn(2) ? ScalarOp::kDotI16x2 : bytes, {a, b});
      return random_.OneIn(2) ? dot + a : dot;
    }
    switch (random_.Below(6)) {
      case 0:
        return FloorDivide(a, positive);
      case 1:
        return FloorModulo(a, positive);
      case 2:
        return CallOf(random_.OneIn(2) ? ScalarOp::kTruncDiv : ScalarOp::kTruncMod, {a, positive});
      case 3:
        return CallOf(random_.OneIn(2) ? ScalarOp::kBitNot : ScalarOp::kPopcount, {a});
      case 4:
        return CallOf(random_.OneIn(2) ? ScalarOp::kAbs : ScalarOp::kSign, {a});
      default:
        return CallOf(kBits[random_.Below(5)], {a, b});
    }
  }

  Expr Truth(int depth) {
    if (depth <= 0 || random_.OneIn(4)) return Loaded(kBool);
    DType dtype = AnyType(random_);
    if (dtype.is_bool()) {
      Expr a = Truth(depth - 1);
      Expr b = Truth(depth - 1);
      return random_.OneIn(3) ? Make<Not>(a) : random_.OneIn(2) ? BothOf(a, b) : EitherOf(a, b);
    }
    Expr a = Value(dtype, depth - 1);
    Expr b = Value(dtype, depth - 1);
    switch (random_.Below(4)) {
      case 0:
        return a < b;
      case 1:
        return a <= b;
      case 2:
        return Make<Eq>(a, b);
      default:
        return Make<Ne>(a, b);
    }
  }

  Random& random_;
  std::vector<std::pair<Var, int64_t>> indices_;
  std::vector<Buffer> inputs_;
  std::vector<std::vector<Expr>> subscripts_;
};

std::string ParamsText(const std::vector<Buffer>& inputs) {
  std::string text;
  for (const Buffer& buffer : inputs) {
    std::string dims;
    for (const Expr& extent : buffer.shape) dims += (dims.empty() ? "" : ", ") + Print(extent);
    text += fmt::format("{}: {}[{}], ", buffer.var->name, ToString(buffer.dtype()), dims);
  }
  return text;
}

std::string MapText(const std::string& inputs, DType to, int64_t m, int64_t n, const Expr& value) {
  return fmt::format(R"(
fn typed({0}Z: {1}[{2}, {3}]) tensor {{
  for i in 0..{2} @z/i {{ for j in 0..{3} @z/j {{
    block z(i: spatial {2} = i, j: spatial {3} = j) {{
      Z[i, j] = {4}
    }}
  }} }}
}})",
                     inputs, ToString(to), m, n, Print(value));
}

struct SumText {
  std::string combiner;  // "sum"
  DType dtype;
  int64_t extent;
  std::string value;
};

// Z = the reduction's result, from -8 to 8, as another type.
std::string ReductionText(const std::string& inputs, DType to, int64_t m, int64_t n,
                          const SumText& sum) {
  Buffer buffer;
  buffer.var = BufferVar("R", sum.dtype);
  Expr loaded = Make<Load>(buffer.var, std::vector<Expr>{LoopVar("i"), LoopVar("j")});
  if (!sum.dtype.is_bool()) {
    loaded = MaxOf(MinOf(loaded, Number(sum.dtype, kMaxValue)), Number(sum.dtype, 0));
  }
  Expr value = sum.dtype == to ? loaded : CastTo(to, loaded);
  return fmt::format(R"(
fn typed({0}Z: {1}[{2}, {3}]) tensor {{
  alloc R: {4}[{2}, {3}]
  for i in 0..{2} @r/i {{ for j in 0..{3} @r/j {{ for k in 0..{5} @r/k {{
    block r(i: spatial {2} = i, j: spatial {3} = j, k: reduce {5} = k) {{
      reduce {6} init (R[i, j]) with ({7})
    }}
  }} }} }}
  for i in 0..{2} @z/i {{ for j in 0..{3} @z/j {{
    block z(i: spatial {2} = i, j: spatial {3} = j) {{
      Z[i, j] = {8}
    }}
  }} }}
}})",
                     inputs, ToString(to), m, n, ToString(sum.dtype), sum.extent, sum.combiner,
                     sum.value, Print(value));
}

int64_t AnyExtent(Random& random) {
  constexpr int64_t kExtents[] = {1, 2, 3, 7, 8, 13, 16, 32, 33, 64};
  return kExtents[random.Below(std::size(kExtents))];
}

// Sums of at most 15 terms fit the narrowest types.
std::string TextOf(Random& random) {
  int64_t m = AnyExtent(random);
  int64_t n = AnyExtent(random);
  DType to = AnyTypeOfMemory(random);
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  if (random.OneIn(2)) {
    TypedExprs exprs(random, {{i, m}, {j, n}});
    Expr value = exprs.Value(to, static_cast<int>(random.Between(1, 3)));
    return MapText(ParamsText(exprs.inputs()), to, m, n, value);
  }
  constexpr const char* kCombiners[] = {"sum", "max", "min"};
  SumText sum{
      .combiner = {}, .dtype = AnyType(random), .extent = random.Between(1, 15), .value = {}};
  sum.combiner = sum.dtype.is_bool()
                     ? (random.OneIn(2) ? "and_bool" : "or_bool")
                     : fmt::format("{}_{}", kCombiners[random.Below(3)], ToString(sum.dtype));
  TypedExprs exprs(random, {{i, m}, {j, n}, {LoopVar("k"), sum.extent}});
  sum.value = Print(exprs.Value(sum.dtype, static_cast<int>(random.Between(0, 2))));
  return ReductionText(ParamsText(exprs.inputs()), to, m, n, sum);
}

// One to three casts of a tensor, one of whose types is only stored.
std::string ConversionText(Random& random) {
  int64_t m = AnyExtent(random);
  int64_t n = AnyExtent(random);
  std::vector<DType> types(2 + random.Below(3));
  for (DType& type : types) type = AnyTypeOfMemory(random);
  types[random.Below(types.size())] = AnyStorageType(random);
  Buffer from;
  from.var = BufferVar("X", types[0]);
  std::vector<std::pair<Var, int64_t>> order = {{LoopVar("i"), m}, {LoopVar("j"), n}};
  if (random.OneIn(3)) std::swap(order[0], order[1]);
  std::vector<Expr> indices;
  for (const auto& [var, extent] : order) {
    from.shape.emplace_back(extent);
    indices.emplace_back(var);
  }
  Expr value = Make<Load>(from.var, indices);
  for (size_t i = 1; i < types.size(); ++i) {
    if (types[i] != types[i - 1]) value = CastTo(types[i], value);
  }
  return MapText(ParamsText({from}), types.back(), m, n, value);
}

double AnyReal(Random& random) {
  constexpr double kSpecial[] = {
      -0.0,     0x1p-10, 0x1.8p-10, 0x1p-17,  0x1.8p-17, 0.5,
      7.5,      8.5,     14.5,      15.5,     -8.5,      -9,
      448,      464,     464.25,    480,      57344,     61440,
      61440.25, 65504,   1e300,     HUGE_VAL, -HUGE_VAL, std::numeric_limits<double>::quiet_NaN()};
  if (random.OneIn(3)) return kSpecial[random.Below(std::size(kSpecial))];
  // Few bits, so that halves between two numbers come up.
  auto units = static_cast<double>(random.Between(-64, 64));
  return std::ldexp(units, static_cast<int>(random.Between(-20, 12)));
}

// Of the whole range of a type, with what it rounds or saturates.
void SetAnything(Tensor& tensor, int64_t element, Random& random) {
  DType dtype = tensor.dtype;
  if (dtype.is_float()) return SetElement(tensor, element, AnyReal(random));
  if (IsFloat8(dtype)) {
    MutableBytes(tensor)[element] = static_cast<uint8_t>(random.Below(256));
  } else {
    // Small ones too, which narrow types hold.
    auto bits = static_cast<int64_t>(random.Next()) >> random.Below(64);
    SetElementInt(tensor, element, dtype.is_bool() ? bits & 1 : bits);
  }
}

void SetSmall(Tensor& tensor, int64_t element, Random& random) {
  int64_t low = IsUnsigned(tensor.dtype) ? 0 : -kMaxValue;
  SetElementInt(tensor, element,
                tensor.dtype.is_bool() ? random.Between(0, 1) : random.Between(low, kMaxValue));
}

}  // namespace

TypedFunction RandomTypedFunction(Random& random) {
  bool converts = random.OneIn(4);
  std::string text = converts ? ConversionText(random) : TextOf(random);
  StatusOr<Function> fn = ParseFunction(text);
  TCC_CHECK(fn.ok()) << Message(fn.status()) << text;
  TypedFunction made{*fn, {}};
  for (const Buffer& param : fn->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.shape) shape.push_back(*AsConstant(extent));
    Tensor tensor = MakeZeroTensor(param.dtype(), shape);
    bool input = &param != &fn->params.back();
    for (int64_t e = 0; input && e < ElementCount(shape).value(); ++e) {
      converts ? SetAnything(tensor, e, random) : SetSmall(tensor, e, random);
    }
    made.arguments.push_back(std::move(tensor));
  }
  return made;
}

}  // namespace tcc
