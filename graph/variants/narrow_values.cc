#include "graph/variants/narrow_values.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/passes/to_tensor_exprs.h"
#include "graph/variants/stage_parts.h"
#include "graph/variants/variants.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

bool Loads(const TensorExpr& stage, const Var& buffer) {
  bool loads = false;
  ForEachExpr(stage, [&](const Expr& expr) {
    PreOrder(expr, [&](const Expr& node) {
      const auto* load = node.as<Load>();
      loads = loads || (load && load->buffer == buffer);
    });
  });
  return loads;
}

bool Writes(const TensorExpr& stage, const Var& buffer) {
  const auto* compute = std::get_if<ComputeExpr>(&stage);
  if (!compute) return std::get<OrderedExpr>(stage).output.var == buffer;
  return std::ranges::any_of(compute->outputs, [&](const Buffer& b) { return b.var == buffer; });
}

// Returns whether the kernel only copies elements.
bool OnlyMoves(const TensorProgram& program) {
  return std::ranges::all_of(program.stages, [](const TensorExpr& stage) {
    const auto* map = std::get_if<ComputeExpr>(&stage);
    return map && !map->combiner &&
           std::ranges::all_of(map->values, [](const Expr& e) { return e.as<Load>() != nullptr; });
  });
}

// Returns whether the output is stored where an element is computed for good, so that it can be
// rounded there: by maps, or by one reduction and a map behind it.
bool MayRoundStores(const TensorProgram& program, const Var& output) {
  int maps = 0, reductions = 0;
  for (const TensorExpr& stage : program.stages) {
    if (Loads(stage, output)) return false;
    if (!Writes(stage, output)) continue;
    const auto* compute = std::get_if<ComputeExpr>(&stage);
    if (!compute || compute->outputs.size() > 1) return false;
    ++(compute->combiner ? reductions : maps);
  }
  return reductions == 0 || (reductions == 1 && maps == 0);
}

// The values of a graph in classes that are stored in one type.
class StorageClasses {
 public:
  explicit StorageClasses(size_t values)
      : parent_(values), stays_wide_(values, false), is_rounded_(values, false) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void Unite(ValueId a, ValueId b) {
    a = RootOf(a);
    b = RootOf(b);
    parent_[b] = a;
    stays_wide_[a] = stays_wide_[a] || stays_wide_[b];
    is_rounded_[a] = is_rounded_[a] || is_rounded_[b];
  }
  void Unite(const std::vector<ValueId>& ids) {
    for (ValueId id : ids) Unite(ids[0], id);
  }

  void KeepWide(ValueId id) { stays_wide_[RootOf(id)] = true; }
  void KeepWide(const std::vector<ValueId>& ids) {
    for (ValueId id : ids) KeepWide(id);
  }
  void NoteRounded(ValueId id) { is_rounded_[RootOf(id)] = true; }

  // Returns whether some reader rounds the value, and all do.
  bool IsNarrow(ValueId id) {
    id = RootOf(id);
    return is_rounded_[id] && !stays_wide_[id];
  }

 private:
  ValueId RootOf(ValueId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  std::vector<ValueId> parent_;
  std::vector<bool> stays_wide_, is_rounded_;  // by root
};

void AddKernel(const Graph& graph, const Subgraph& subgraph, const NumericOptions& numeric,
               StorageClasses& classes) {
  StatusOr<LoweredNode> lowered = ToTensorExprs(graph, subgraph);
  if (!lowered.ok()) {  // BuildTask reports it
    classes.KeepWide(subgraph.inputs);
    classes.KeepWide(subgraph.outputs);
    return;
  }
  const TensorProgram& program = lowered->program;
  if (OnlyMoves(program)) {
    std::vector<ValueId> moved = lowered->inputs;
    moved.insert(moved.end(), lowered->outputs.begin(), lowered->outputs.end());
    classes.Unite(moved);
    return;
  }
  const NumericMode mode = ModeFor(graph, subgraph, numeric);
  for (size_t i = 0; i < lowered->inputs.size(); ++i) {
    if (RoundsAllOf(program, program.inputs[i].var, mode)) {
      classes.NoteRounded(lowered->inputs[i]);
    } else {
      classes.KeepWide(lowered->inputs[i]);
    }
  }
  for (size_t i = 0; i < lowered->outputs.size(); ++i) {
    if (!MayRoundStores(program, program.outputs[i].var)) classes.KeepWide(lowered->outputs[i]);
  }
}

// Returns the value rounded to the type; a value of that type that was widened as it was.
Expr RoundedTo(DType type, const Expr& value) {
  const auto* cast = value.as<Cast>();
  return cast && cast->value.dtype() == type ? cast->value : CastTo(type, value);
}

// Lets the stages that store the f32 buffer `wide` store the output, which has another type.
void RoundStores(const Var& wide, const Buffer& output, TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    if (!Writes(program.stages[s], wide)) continue;
    auto& stage = std::get<ComputeExpr>(program.stages[s]);
    if (!stage.combiner) {
      stage.outputs[0].var = output.var;
      stage.values[0] = RoundedTo(output.dtype(), stage.values[0]);
      continue;
    }
    const Buffer sum = AddIntermediate(program, wide->name + "_f32", kFloat32, output.shape);
    stage.outputs[0] = sum;
    ComputeExpr map = StageOver(output);
    map.name = FreeName(program, wide->name + "_" + ToString(output.dtype()));
    map.values = {CastTo(output.dtype(), Make<Load>(sum.var, map.indices[0]))};
    program.stages.insert(program.stages.begin() + static_cast<std::ptrdiff_t>(++s),
                          std::move(map));
  }
}

}  // namespace

StoredTypes NarrowValues(const Graph& graph, std::span<const Subgraph> subgraphs,
                         const NumericOptions& numeric) {
  const std::optional<DType> type = RowOf(numeric.mode).type;
  if (!type) return {};
  StorageClasses classes(graph.values.size());
  classes.KeepWide(graph.inputs);
  classes.KeepWide(graph.outputs);
  for (const Subgraph& subgraph : subgraphs) {
    switch (subgraph.kind) {
      case SubgraphKind::kView:
        classes.Unite(graph.nodes[subgraph.nodes[0]].inputs[0], subgraph.outputs[0]);
        break;
      case SubgraphKind::kKernel:
      case SubgraphKind::kPart:
        AddKernel(graph, subgraph, numeric, classes);
        break;
      case SubgraphKind::kLoop:
      case SubgraphKind::kIf:
        classes.KeepWide(subgraph.inputs);
        classes.KeepWide(subgraph.outputs);
        break;
    }
  }
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.dtype != kFloat32 || value.constant) classes.KeepWide(static_cast<ValueId>(id));
  }
  StoredTypes types;
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (classes.IsNarrow(id)) types.emplace(id, *type);
  }
  return types;
}

void AccessAs(const StoredTypes& types, LoweredNode& lowered) {
  TensorProgram& program = lowered.program;
  for (size_t i = 0; i < lowered.inputs.size(); ++i) {
    auto stored = types.find(lowered.inputs[i]);
    if (stored == types.end()) continue;
    const Var wide = std::exchange(program.inputs[i].var,
                                   BufferVar(program.inputs[i].var->name, stored->second));
    WidenLoads(program, wide, program.inputs[i].var);
  }
  for (size_t i = 0; i < lowered.outputs.size(); ++i) {
    auto stored = types.find(lowered.outputs[i]);
    if (stored == types.end()) continue;
    const Var wide = std::exchange(program.outputs[i].var,
                                   BufferVar(program.outputs[i].var->name, stored->second));
    RoundStores(wide, program.outputs[i], program);
  }
}

}  // namespace tcc
