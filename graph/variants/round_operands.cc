#include "graph/variants/variants.h"

#include <algorithm>
#include <unordered_map>

#include "graph/variants/stage_parts.h"
#include "ir/expr/compare.h"
#include "ir/expr/constant_fold.h"
#include "ir/expr/visitor.h"
#include "support/check.h"

namespace tcc {
namespace {

// Returns the product that a stage sums, or nullptr.
const Mul* ProductOf(const TensorExpr& expr) {
  const auto* stage = std::get_if<ComputeExpr>(&expr);
  bool sums = stage && stage->combiner && stage->values.size() == 1 &&
              stage->combiner.get() == SumCombiner(kFloat32).get();
  const auto* product = sums ? stage->values[0].as<Mul>() : nullptr;
  bool fits =
      product && !Equal(product->a, product->b) && HasLoad(product->a) && HasLoad(product->b);
  return fits ? product : nullptr;
}

// Returns the bits of the mantissa, the leading one included.
int MantissaBits(DType type) {
  if (type == kFloat16) return 11;
  if (type == DType(DTypeCode::kTFloat32)) return 11;
  if (type == DType(DTypeCode::kBFloat16)) return 8;
  return type.is_integer() || type.is_bool() ? type.bits() : 53;
}

// Returns whether `type` holds exactly the value before it was widened to f32.
bool IsExactIn(const Expr& value, DType type) {
  const auto* cast = value.as<Cast>();
  if (!cast) return false;
  DType from = cast->value.dtype();
  if (from == type) return true;
  // bfloat16 has exponents that float16 lacks.
  bool in_range = type != kFloat16 || from.is_integer() || from.is_bool();
  return in_range && MantissaBits(from) <= MantissaBits(type);
}

bool IsRounded(const Expr& value, DType type) {
  return IsExactIn(value, type) || value.dtype() != kFloat32;
}

// Returns whether the value was f16 or bf16 before it was widened.
bool WasNarrow(const Expr& value) {
  const auto* cast = value.as<Cast>();
  return cast && cast->value.dtype().is_float() && cast->value.dtype().bits() == 16;
}

// Returns whether the product needs no rounding. Two factors of 16 bits keep the model's types
// under any mode: their product is exact, and there are tensor cores for both types.
bool IsRoundedProduct(const Mul& product, DType type) {
  return (WasNarrow(product.a) && WasNarrow(product.b)) ||
         (IsRounded(product.a, type) && IsRounded(product.b, type));
}

// Returns whether all the stage's loads of the buffer, if any, are whole factors of a contraction.
bool ReadsAsFactor(const TensorExpr& stage, const Var& buffer) {
  int loads = 0;
  ForEachExpr(stage, [&](const Expr& expr) {
    PreOrder(expr, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      loads += static_cast<int>(load && load->buffer == buffer);
    });
  });
  const Mul* product = ProductOf(stage);
  if (!product || loads == 0) return loads == 0;
  auto is_load = [&](const Expr& factor) {
    const auto* load = factor.as<Load>();
    return static_cast<int>(load && load->buffer == buffer);
  };
  return loads == is_load(product->a) + is_load(product->b);
}

// Returns whether the value only moves elements.
bool IsMovement(const Expr& value) {
  const auto* choice = value.as<Select>();
  if (choice) return IsMovement(choice->then_value) && IsMovement(choice->else_value);
  return value.as<Load>() || value.as<FloatImm>();
}

// Returns the buffer to which a map moves elements of `from`, zeros beside them, or nullptr.
const Buffer* MovedTo(const TensorExpr& expr, const Var& from) {
  const auto* map = std::get_if<ComputeExpr>(&expr);
  if (!map || map->combiner || map->outputs.size() != 1) return nullptr;
  const auto* choice = map->values[0].as<Select>();
  const auto* load = (choice ? choice->then_value : map->values[0]).as<Load>();
  const auto* fill = choice ? choice->else_value.as<FloatImm>() : nullptr;
  bool moves = load && load->buffer == from && (!choice || (fill && fill->value == 0));
  return moves ? &map->outputs[0] : nullptr;
}

// Returns whether all the program's loads of the buffer are whole factors of contractions, perhaps
// of a copy of it.
bool IsReadAsFactor(const TensorProgram& program, const Var& buffer) {
  return std::ranges::all_of(program.stages, [&](const TensorExpr& stage) {
    if (ReadsAsFactor(stage, buffer)) return true;
    const Buffer* copy = MovedTo(stage, buffer);
    return copy && std::ranges::all_of(program.stages, [&](const TensorExpr& reader) {
             return ReadsAsFactor(reader, copy->var);
           });
  });
}

constexpr DType kTf32(DTypeCode::kTFloat32);
constexpr double kMaxTf32 = 0x1.ffcp127;

Expr RoundedToTf32(const Expr& value) {
  return CastTo(kFloat32, CastTo(kTf32, value));
}

// Rounds to tf32 and clamps to its largest number. An infinity becomes 1 or -1 here and stays
// infinite in the small part, so that no infinity meets a zero or an infinity of the other sign in
// the three products.
Expr BigPart(const Expr& x) {
  Expr below = MinOf(MaxOf(x, FloatConst(kFloat32, -kMaxTf32)), FloatConst(kFloat32, kMaxTf32));
  return SelectOf(CallOf(ScalarOp::kIsInf, {x}), CallOf(ScalarOp::kSign, {x}),
                  RoundedToTf32(below));
}

class Rounder {
 public:
  Rounder(const TensorProgram& program, const NumericModeRow& mode)
      : result_(program), mode_(mode), type_(mode.type.value_or(kTf32)) {}

  std::optional<TensorProgram> Run() {
    if (mode_.type) NarrowIntermediates();
    for (size_t s = 0; s < result_.stages.size(); ++s) {
      const Mul* product = ProductOf(result_.stages[s]);
      if (!product || IsRoundedProduct(*product, type_)) continue;
      Expr a = product->a;
      Expr b = product->b;
      size_t maps = stages_before_;
      Expr value = Product(a, b, s);
      s += stages_before_ - maps;
      std::get<ComputeExpr>(result_.stages[s]).values[0] = value;
      changed_ = true;
    }
    if (!changed_) return std::nullopt;
    // Moves the stages to the front that run when the model is linked: schedule rules visit stages
    // in order and must see them first.
    std::stable_partition(result_.stages.begin(), result_.stages.end(),
                          [&](const TensorExpr& stage) { return IsRoundedConstant(stage); });
    return std::move(result_);
  }

 private:
  Expr Product(const Expr& a, const Expr& b, size_t stage) {
    switch (mode_.mode) {
      case NumericMode::kStrict:
        return a * b;
      case NumericMode::k3xTf32: {
        Expr big_a = BigPart(a);
        Expr big_b = BigPart(b);
        Expr small_a = RoundedToTf32(a - big_a);
        Expr small_b = RoundedToTf32(b - big_b);
        return (big_a * small_b + small_a * big_b) + big_a * big_b;
      }
      case NumericMode::kTf32:
      case NumericMode::kBf16:
      case NumericMode::kFp16: {
        size_t before = stages_before_;
        Expr narrow_a = Narrowed(a, stage);
        Expr narrow_b = Narrowed(b, stage + stages_before_ - before);
        return narrow_a * narrow_b;
      }
    }
    TCC_UNREACHABLE();
  }

  // Returns f32(value as the mode's type). A load reads a rounded copy of its buffer, if that is
  // worth one. `stage` is the reader.
  Expr Narrowed(const Expr& value, size_t stage) {
    if (IsRounded(value, type_)) return value;
    if (const auto* choice = value.as<Select>()) {
      size_t before = stages_before_;
      Expr then_value = Narrowed(choice->then_value, stage);
      Expr else_value = Narrowed(choice->else_value, stage + stages_before_ - before);
      return SelectOf(choice->condition, then_value, else_value);
    }
    if (const auto* number = value.as<FloatImm>())
      return FloatConst(kFloat32, RoundFloat(type_, number->value));
    const auto* load = value.as<Load>();
    if (!load || IsWrittenFrom(load->buffer, stage) || !IsWorthCopy(load->buffer)) {
      return CastTo(kFloat32, CastTo(type_, value));
    }
    const Buffer& copy = RoundedCopy(load->buffer, stage);
    return CastTo(kFloat32, Make<Load>(copy.var, load->indices));
  }

  // Returns whether a rounded copy of the buffer gains: tf32 takes no less memory than f32, and a
  // copy without rounding can be asynchronous.
  bool IsWorthCopy(const Var& buffer) const {
    return type_ != kTf32 || IsMadeOfConstants(result_, buffer);
  }

  // Returns whether the stage is a map from constants to the mode's type.
  bool IsRoundedConstant(const TensorExpr& expr) const {
    const auto* map = std::get_if<ComputeExpr>(&expr);
    if (!map || map->combiner || map->outputs[0].dtype() != type_) return false;
    bool constant = true;
    ForEachExpr(expr, [&](const Expr& value) {
      PreOrder(value, [&](const Expr& node) {
        const auto* load = node.as<Load>();
        constant = constant && (!load || FindBuffer(load->buffer)->scope == Scope::kConstant);
      });
    });
    return constant;
  }

  bool IsWrittenFrom(const Var& buffer, size_t stage) const {
    auto writes = [&](const TensorExpr& expr) {
      if (const auto* ordered = std::get_if<OrderedExpr>(&expr))
        return ordered->output.var == buffer;
      const auto& outputs = std::get<ComputeExpr>(expr).outputs;
      return std::ranges::any_of(outputs,
                                 [&](const Buffer& output) { return output.var == buffer; });
    };
    return std::any_of(result_.stages.begin() + static_cast<std::ptrdiff_t>(stage),
                       result_.stages.end(), writes);
  }

  // Returns the rounded copy of a buffer, computed before its first reader, `stage` or an earlier
  // one.
  const Buffer& RoundedCopy(const Var& buffer, size_t stage) {
    auto known = copies_.find(buffer);
    if (known != copies_.end()) return known->second;
    Buffer copy = NarrowBuffer(*FindBuffer(buffer));
    copy.scope = Scope::kGlobal;
    copy.layout = {};
    ComputeExpr map = StageOver(copy);
    map.values = {CastTo(type_, Make<Load>(buffer, map.indices[0]))};
    auto at = result_.stages.begin() + static_cast<std::ptrdiff_t>(stage);
    result_.stages.insert(at, std::move(map));
    ++stages_before_;
    result_.intermediates.push_back(copy);
    result_.kept.push_back(copy.var);
    return copies_.emplace(buffer, copy).first->second;
  }

  // Narrows the f32 intermediates that one map writes and only contractions read, as their whole
  // factor.
  void NarrowIntermediates() {
    for (Buffer& buffer : result_.intermediates) {
      size_t writer = result_.stages.size();
      if (buffer.dtype() != kFloat32 || !IsOnlyOperand(buffer.var, writer)) continue;
      auto& map = std::get<ComputeExpr>(result_.stages[writer]);
      if (IsExactIn(map.values[0], type_) || WasNarrow(map.values[0])) continue;
      if (IsMovement(map.values[0]) && !IsWorthCopy(buffer.var)) continue;
      Buffer narrow = NarrowBuffer(buffer);
      map.values[0] = CastTo(type_, map.values[0]);
      map.outputs[0] = narrow;
      WidenLoads(result_, buffer.var, narrow.var);
      std::ranges::replace(result_.kept, buffer.var, narrow.var);
      if (!Holds(result_, narrow.var)) result_.kept.push_back(narrow.var);
      buffer = narrow;
      changed_ = true;
    }
  }

  static bool Holds(const TensorProgram& program, const Var& var) {
    return std::ranges::find(program.kept, var) != program.kept.end();
  }

  // Returns whether one map writes the buffer and only contractions read it. Sets `writer` to the
  // map.
  bool IsOnlyOperand(const Var& buffer, size_t& writer) const {
    int writers = 0;
    for (size_t s = 0; s < result_.stages.size(); ++s) {
      const auto* compute = std::get_if<ComputeExpr>(&result_.stages[s]);
      const auto* ordered = std::get_if<OrderedExpr>(&result_.stages[s]);
      if (ordered && ordered->output.var == buffer) return false;
      for (size_t e = 0; compute && e < compute->outputs.size(); ++e) {
        if (!(compute->outputs[e].var == buffer)) continue;
        if (compute->combiner || compute->outputs.size() > 1 || ++writers > 1) return false;
        writer = s;
      }
      if (!ReadsAsFactor(result_.stages[s], buffer)) return false;
    }
    return writers == 1;
  }

  Buffer NarrowBuffer(const Buffer& buffer) const {
    Buffer narrow = buffer;
    narrow.var = BufferVar(FreeName(result_, buffer.var->name + "_" + ToString(type_)), type_);
    return narrow;
  }

  const Buffer* FindBuffer(const Var& var) const {
    for (const auto* list : {&result_.inputs, &result_.outputs, &result_.intermediates}) {
      for (const Buffer& buffer : *list) {
        if (buffer.var == var) return &buffer;
      }
    }
    TCC_UNREACHABLE();
  }

  TensorProgram result_;
  const NumericModeRow& mode_;
  const DType type_;  // that operands, or their parts, are rounded to
  std::unordered_map<Var, Buffer, VarHash> copies_;
  size_t stages_before_ = 0;  // the number of inserted maps
  bool changed_ = false;
};

}  // namespace

bool HasF32Contraction(const TensorProgram& program) {
  return std::ranges::any_of(program.stages, [](const TensorExpr& stage) {
    const Mul* product = ProductOf(stage);
    return product && !IsRoundedProduct(*product, kFloat16);
  });
}

bool RoundsAllOf(const TensorProgram& program, const Var& input, NumericMode mode) {
  return RowOf(mode).type && IsReadAsFactor(program, input);
}

std::optional<TensorProgram> RoundOperands(const TensorProgram& program, NumericMode mode) {
  if (mode == NumericMode::kStrict) return std::nullopt;
  return Rounder(program, RowOf(mode)).Run();
}

}  // namespace tcc
