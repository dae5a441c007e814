#include <algorithm>
#include <array>
#include <utility>

#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/expr/compare.h"
#include "ir/expr/constant_fold.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// More queries or keys than this are padded to a multiple of it, so that blocks share them evenly.
constexpr int64_t kMany = 32;

// The stages of an attention whose core is one reduction.
struct Stages {
  size_t scores = 0, logits = 0, core = 0;
  Axis i, t, e;  // of the scores: queries, keys, and what their product contracts
  Axis d;        // of the core: columns of the values
  Axis core_i, core_t;
  Expr query, key, value;  // the factors, over the axes of their stages
};

// Returns the only stage that writes the buffer, a map or a reduction; nullopt if there are
// several.
std::optional<size_t> OnlyWriter(const TensorProgram& program, const Var& buffer) {
  std::optional<size_t> writer;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* ordered = std::get_if<OrderedExpr>(&program.stages[s]);
    if (ordered && ordered->output.var == buffer) return std::nullopt;
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    auto is_it = [&](const Buffer& output) { return output.var == buffer; };
    if (!stage || std::ranges::none_of(stage->outputs, is_it)) continue;
    if (writer) return std::nullopt;
    writer = s;
  }
  return writer;
}

const ComputeExpr& StageAt(const TensorProgram& program, size_t stage) {
  return std::get<ComputeExpr>(program.stages[stage]);
}

// Returns whether the stage writes one buffer at exactly its axes.
bool WritesAtAxes(const ComputeExpr& stage) {
  bool plain = stage.outputs.size() == 1 && stage.indices[0].size() == stage.axes.size() &&
               IsConstant(stage.predicate, 1);
  for (size_t a = 0; plain && a < stage.axes.size(); ++a) {
    plain = stage.indices[0][a].same_as(stage.axes[a].var);
  }
  return plain;
}

bool HasKnownExtents(const ComputeExpr& stage) {
  auto known = [](const Axis& axis) { return AsConstant(axis.extent).has_value(); };
  return std::ranges::all_of(stage.axes, known) && std::ranges::all_of(stage.reduce_axes, known);
}

// Returns the value with a load from a map's result replaced by what the map computes.
Expr ThroughMap(const TensorProgram& program, const Expr& value) {
  const auto* load = value.as<Load>();
  std::optional<size_t> writer = load ? OnlyWriter(program, load->buffer) : std::nullopt;
  if (!writer) return value;
  const ComputeExpr& map = StageAt(program, *writer);
  if (map.combiner || !WritesAtAxes(map)) return value;
  Substitution places;
  for (size_t a = 0; a < map.axes.size(); ++a) places.emplace(map.axes[a].var, load->indices[a]);
  return Substitute(map.values[0], places);
}

std::optional<size_t> FindCore(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    if (stage && stage->combiner.get() == AttentionCombiner(kFloat32).get()) return s;
  }
  return std::nullopt;
}

// Returns the axis of `stage` that the reader's variable is at, in a load of the stage's result.
const Axis* AxisAt(const ComputeExpr& stage, const Load& load, const Var& var) {
  for (size_t a = 0; a < load.indices.size(); ++a) {
    if (load.indices[a].same_as(var)) return &stage.axes[a];
  }
  return nullptr;
}

// Finds the scores that the logits are made of, a sum of products along one axis.
std::optional<size_t> FindScores(const TensorProgram& program, const ComputeExpr& logits) {
  std::optional<size_t> scores;
  PreOrder(logits.values[0], [&](const Expr& node) {
    const auto* load = node.as<Load>();
    std::optional<size_t> writer = load ? OnlyWriter(program, load->buffer) : std::nullopt;
    if (!writer || load->indices.size() != logits.axes.size()) return;
    const ComputeExpr& stage = StageAt(program, *writer);
    bool plain = stage.combiner.get() == SumCombiner(kFloat32).get() && WritesAtAxes(stage) &&
                 stage.reduce_axes.size() == 1 && stage.values[0].as<Mul>();
    for (size_t a = 0; plain && a < logits.axes.size(); ++a) {
      plain = load->indices[a].same_as(logits.axes[a].var);
    }
    if (plain) scores = writer;
  });
  return scores;
}

std::optional<Stages> FindStages(const TensorProgram& program) {
  Stages found;
  std::optional<size_t> core_at = FindCore(program);
  if (!core_at) return std::nullopt;
  found.core = *core_at;
  const ComputeExpr& core = StageAt(program, found.core);
  const auto* logit = core.values[0].as<Load>();
  std::optional<size_t> logits_at = logit ? OnlyWriter(program, logit->buffer) : std::nullopt;
  if (!logits_at || core.axes.size() < 2 || core.reduce_axes.size() != 1) return std::nullopt;
  found.logits = *logits_at;
  const ComputeExpr& logits = StageAt(program, found.logits);
  if (logits.combiner || !WritesAtAxes(logits)) return std::nullopt;
  std::optional<size_t> scores_at = FindScores(program, logits);
  if (!scores_at) return std::nullopt;
  found.scores = *scores_at;
  const ComputeExpr& scores = StageAt(program, found.scores);
  found.core_i = core.axes[core.axes.size() - 2];
  found.core_t = core.reduce_axes[0];
  found.d = core.axes.back();
  const Axis* i = AxisAt(scores, *logit, found.core_i.var);
  const Axis* t = AxisAt(scores, *logit, found.core_t.var);
  if (!i || !t || !HasKnownExtents(scores) || !HasKnownExtents(core)) return std::nullopt;
  found.i = *i;
  found.t = *t;
  found.e = scores.reduce_axes[0];
  const auto* product = scores.values[0].as<Mul>();
  found.query = product->a;
  found.key = product->b;
  if (UsesVar(found.key, found.i.var)) std::swap(found.query, found.key);
  found.value = core.values.back();
  bool apart = UsesVar(found.query, found.i.var) && !UsesVar(found.query, found.t.var) &&
               UsesVar(found.key, found.t.var) && !UsesVar(found.key, found.i.var) &&
               !UsesVar(found.value, found.core_i.var);
  return apart ? std::optional(found) : std::nullopt;
}

// Returns the type of 16 bits that the value was widened from.
std::optional<DType> NarrowType(const Expr& value) {
  if (const auto* choice = value.as<Select>()) return NarrowType(choice->then_value);
  const auto* cast = value.as<Cast>();
  bool narrow = cast && cast->value.dtype().is_float() && cast->value.dtype().bits() == 16;
  return narrow ? std::optional(cast->value.dtype()) : std::nullopt;
}

// Rounds a value of f32. One of that type that was widened stays as it was, so that a copy of it
// takes no arithmetic.
Expr RoundedTo(DType type, const Expr& value) {
  const auto* cast = value.as<Cast>();
  if (cast && cast->value.dtype() == type) return cast->value;
  if (const auto* choice = value.as<Select>()) {
    return SelectOf(choice->condition, RoundedTo(type, choice->then_value),
                    RoundedTo(type, choice->else_value));
  }
  if (const auto* number = value.as<FloatImm>()) {
    return FloatConst(type, RoundFloat(type, number->value));
  }
  return CastTo(type, value);
}

Expr WholeTiles(const Expr& extent) {
  return Expr(CeilDivision(*AsConstant(extent), kAttentionTile) * kAttentionTile);
}

// Returns the extent of queries or keys in whole tiles.
Expr WholeRows(const Expr& extent) {
  const int64_t rows = *AsConstant(extent);
  return rows > kMany ? Expr(CeilDivision(rows, kMany) * kMany) : WholeTiles(extent);
}

// Returns the value before the end of the axis, where it is a choice between that and another one.
Expr WithoutEnd(const Expr& value, const Axis& axis) {
  const auto* choice = value.as<Select>();
  bool at_end = choice && Equal(choice->condition, Expr(axis.var) < axis.extent);
  return at_end ? choice->then_value : value;
}

bool IsSame(const Axis& a, const Axis& b) {
  return a.var == b.var;
}

class Tiler {
 public:
  Tiler(const TensorProgram& program, Stages stages, DType type)
      : result_(program), s_(std::move(stages)), type_(type) {}

  TensorProgram Run() {
    const ComputeExpr scores = StageAt(result_, s_.scores), core = StageAt(result_, s_.core);
    const Expr query = ThroughMap(result_, s_.query), key = ThroughMap(result_, s_.key);
    const Expr value = ThroughMap(result_, s_.value);
    const Expr depth = WholeTiles(s_.e.extent);
    const Axis keys{s_.t.var, s_.core_t.extent};
    Operand q = OperandOf("queries", scores, {{{s_.i, Queries()}, {s_.e, depth}}}, query);
    Operand k = OperandOf("keys", scores, {{{keys, Keys()}, {s_.e, depth}}}, key);
    Operand v = OperandOf("values", core, {{{s_.core_t, Keys()}, {s_.d, s_.d.extent}}}, value);
    SetScores(q, k);
    SetLogits();
    SetCore(v);
    // The maps come before the first stage that reads them.
    result_.stages.insert(result_.stages.begin() + static_cast<std::ptrdiff_t>(s_.core), v.map);
    auto at = result_.stages.begin() + static_cast<std::ptrdiff_t>(s_.scores);
    result_.stages.insert(at, {q.map, k.map});
    DropUnread();
    return std::move(result_);
  }

 private:
  struct Operand {
    ComputeExpr map;
    Expr element;  // over the axes of the stage that multiplies it
  };

  // An axis, and the extent that it has in whole tiles.
  struct TiledAxis {
    Axis axis;
    Expr extent;
  };

  // Returns a copy of a stage's factor in the narrow type: the axes before the last two of the
  // stage that it uses, then `tile`, zero behind their ends.
  Operand OperandOf(const std::string& hint, const ComputeExpr& stage,
                    const std::array<TiledAxis, 2>& tile, const Expr& factor) {
    std::vector<Axis> axes;
    for (const Axis& axis : stage.axes) {
      bool in_tile = IsSame(axis, tile[0].axis) || IsSame(axis, tile[1].axis);
      if (!in_tile && UsesVar(factor, axis.var)) axes.push_back(axis);
    }
    for (const TiledAxis& tiled : tile) axes.push_back({tiled.axis.var, tiled.extent});
    std::vector<Expr> shape, places;
    for (const Axis& axis : axes) {
      shape.push_back(axis.extent);
      places.emplace_back(axis.var);
    }
    Buffer buffer = AddIntermediate(result_, result_.name + "_" + hint, type_, shape);
    result_.kept.push_back(buffer.var);
    Operand operand;
    operand.map = StageOver(buffer);
    Expr inside = True();
    Expr value = factor;
    for (const TiledAxis& tiled : tile) {
      value = WithoutEnd(value, tiled.axis);
      if (Equals(tiled.axis.extent, tiled.extent)) continue;
      inside = BothOf(inside, Expr(tiled.axis.var) < tiled.axis.extent);
    }
    value = RoundedTo(type_, value);
    if (!IsConstant(inside, 1)) value = SelectOf(inside, value, Const(type_, 0));
    Substitution own;
    for (size_t a = 0; a < axes.size(); ++a) own.emplace(axes[a].var, operand.map.axes[a].var);
    operand.map.values = {Substitute(value, own)};
    operand.element = CastTo(kFloat32, Make<Load>(buffer.var, places));
    return operand;
  }

  static bool Equals(const Expr& a, const Expr& b) { return AsConstant(a) == AsConstant(b); }

  ComputeExpr& Stage(size_t stage) { return std::get<ComputeExpr>(result_.stages[stage]); }

  // Sets the extent of an axis of the stage and of what it writes.
  void Grow(size_t stage, const Axis& axis, const Expr& extent) {
    ComputeExpr& grown = Stage(stage);
    for (auto* axes : {&grown.axes, &grown.reduce_axes}) {
      for (Axis& own : *axes) {
        if (IsSame(own, axis)) own.extent = extent;
      }
    }
    for (size_t e = 0; e < grown.outputs.size(); ++e) {
      for (size_t d = 0; d < grown.indices[e].size(); ++d) {
        if (grown.indices[e][d].same_as(axis.var)) GrowBuffer(grown.outputs[e].var, d, extent);
      }
    }
  }

  void GrowBuffer(const Var& var, size_t dim, const Expr& extent) {
    for (Buffer& buffer : result_.intermediates) {
      if (buffer.var == var) buffer.shape[dim] = extent;
    }
    for (TensorExpr& expr : result_.stages) {
      auto* stage = std::get_if<ComputeExpr>(&expr);
      for (size_t e = 0; stage && e < stage->outputs.size(); ++e) {
        if (stage->outputs[e].var == var) stage->outputs[e].shape[dim] = extent;
      }
    }
  }

  Expr Queries() const { return WholeRows(s_.core_i.extent); }
  Expr Keys() const { return WholeRows(s_.core_t.extent); }

  void SetScores(const Operand& q, const Operand& k) {
    Stage(s_.scores).values[0] = q.element * k.element;
    Grow(s_.scores, s_.i, Queries());
    Grow(s_.scores, s_.t, Keys());
    Grow(s_.scores, s_.e, WholeTiles(s_.e.extent));
  }

  // Keys that are not there have no weight. Masks end where queries and keys do.
  void SetLogits() {
    ComputeExpr& logits = Stage(s_.logits);
    const Var scores = Stage(s_.scores).outputs[0].var;
    Axis i, t;
    for (size_t a = 0; a < logits.axes.size(); ++a) {
      if (IsSame(Stage(s_.scores).axes[a], s_.i)) i = logits.axes[a];
      if (IsSame(Stage(s_.scores).axes[a], s_.t)) t = logits.axes[a];
    }
    bool masks = false;
    PreOrder(logits.values[0], [&](const Expr& node) {
      const auto* load = node.as<Load>();
      masks = masks || (load && !(load->buffer == scores));
    });
    const Axis keys{t.var, s_.core_t.extent};
    Expr value = WithoutEnd(logits.values[0], keys);
    Expr inside = True();
    if (masks && !Equals(i.extent, Queries())) inside = Expr(i.var) < i.extent;
    if (!Equals(keys.extent, Keys())) inside = BothOf(inside, Expr(t.var) < keys.extent);
    Expr none = MaxCombiner(kFloat32)->identities[0];
    logits.values[0] = IsConstant(inside, 1) ? value : SelectOf(inside, value, none);
    Grow(s_.logits, i, Queries());
    Grow(s_.logits, t, Keys());
  }

  void SetCore(const Operand& v) {
    ComputeExpr& core = Stage(s_.core);
    core.values.back() = v.element;
    core.combiner = FindStandardCombiner("attention_by_" + ToString(type_) + "_f32");
    Grow(s_.core, s_.core_i, Queries());
    Grow(s_.core, s_.core_t, Keys());
  }

  bool IsRead(const Var& buffer) const {
    return std::ranges::any_of(result_.stages, [&](const TensorExpr& stage) {
      bool reads = false;
      ForEachExpr(stage, [&](const Expr& expr) {
        PreOrder(expr, [&](const Expr& node) {
          const auto* load = node.as<Load>();
          reads = reads || (load && load->buffer == buffer);
        });
      });
      return reads;
    });
  }

  // Removes the maps that the new ones compute themselves.
  void DropUnread() {
    std::erase_if(result_.intermediates, [&](const Buffer& buffer) {
      if (IsRead(buffer.var)) return false;
      std::erase(result_.kept, buffer.var);
      std::erase_if(result_.stages, [&](const TensorExpr& expr) {
        const auto* stage = std::get_if<ComputeExpr>(&expr);
        return stage && stage->outputs.size() == 1 && stage->outputs[0].var == buffer.var;
      });
      return true;
    });
  }

  TensorProgram result_;
  Stages s_;
  DType type_;
};

}  // namespace

std::optional<DType> TypeOfTiles(NumericMode mode) {
  std::optional<DType> type = RowOf(mode).type;
  return type && type->bits() == 16 ? type : std::nullopt;
}

bool FitsTiles(int64_t queries, int64_t depth, int64_t width, int64_t bytes) {
  constexpr int64_t kVectorBytes = 16;
  return 2 * queries >= kAttentionTile && width % kAttentionTile == 0 &&
         depth * bytes % kVectorBytes == 0;
}

std::optional<TensorProgram> AttentionInTilesVariant(const TensorProgram& program, DType type) {
  std::optional<Stages> stages = FindStages(program);
  if (!stages) return std::nullopt;
  std::optional<DType> own = NarrowType(ThroughMap(program, stages->query));
  bool same = own && own == NarrowType(ThroughMap(program, stages->key)) &&
              own == NarrowType(ThroughMap(program, stages->value));
  if (same) type = *own;
  bool fits = FitsTiles(*AsConstant(stages->core_i.extent), *AsConstant(stages->e.extent),
                        *AsConstant(stages->d.extent), same ? 2 : 4);
  if (!fits) return std::nullopt;
  return Tiler(program, *stages, type).Run();
}

}  // namespace tcc
