#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "graph/passes/to_tensor_exprs.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// The largest inlined value in nodes, shared ones counted once: more makes kernels unreadable and
// slow to compile, while storing the intermediate costs little beside so much arithmetic.
constexpr int kMaxValueSize = 400;
// The same with shared nodes counted at every use, as in the value's text.
constexpr double kMaxWrittenSize = 600;

int SizeOf(const Expr& expr) {
  int size = 0;
  PreOrder(expr, [&](const Expr&) { ++size; });
  return size;
}

bool IsSmall(const Expr& expr) {
  return SizeOf(expr) <= kMaxValueSize && WrittenSize(expr) <= kMaxWrittenSize;
}

bool HoldsCall(const Expr& expr) {
  return Contains(expr, [&](const Expr& node) { return node.kind() == ExprKind::kCall; });
}

// Returns the number of points of a stage's loops at the usual sizes; 0 if it is not known.
double PointsOf(const TensorExpr& stage) {
  double points = 1;
  auto count = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      points *= static_cast<double>(AtUsual(axis.extent).value_or(0));
    }
  };
  if (const auto* compute = std::get_if<ComputeExpr>(&stage)) {
    count(compute->axes);
    count(compute->reduce_axes);
  } else {
    count(std::get<OrderedExpr>(stage).axes);
  }
  return points;
}

// The definition buffer[axes] = value.
struct Definition {
  std::vector<Var> axes;
  Expr value;
  bool holds_call = false;
  bool is_epilogue = false;  // of a reduction, whose results it reads
  double points = 0;         // the usual number of values; 0 if it is not known
  // Whether the value has a wider type and is rounded only to be stored.
  bool rounds = false;
};

using Definitions = std::unordered_map<Var, Definition, VarHash>;

// Returns whether inlining would recompute an exponential or the like, or an epilogue: in a
// reduction that has more points than there are values.
bool IsRepeated(const Definition& definition, const TensorExpr& reader) {
  const auto* compute = std::get_if<ComputeExpr>(&reader);
  bool is_dear = definition.holds_call || definition.is_epilogue;
  if (!is_dear || !compute || !compute->combiner) return false;
  double points = PointsOf(reader);
  if (points > 0 && definition.points > 0) return points > definition.points;
  return compute->axes.size() + compute->reduce_axes.size() > definition.axes.size();
}

bool IsNarrowing(const Expr& expr) {
  const auto* cast = expr.as<Cast>();
  return cast && cast->dtype.is_float() && cast->value.dtype().is_float() &&
         cast->dtype.bits() < cast->value.dtype().bits();
}

std::optional<Definition> AsDefinition(const ComputeExpr& stage) {
  if (stage.combiner || stage.outputs.size() != 1) return std::nullopt;
  Definition definition{.axes = {}, .value = stage.values[0]};
  definition.holds_call = HoldsCall(definition.value);
  definition.points = PointsOf(stage);
  for (size_t d = 0; d < stage.indices[0].size(); ++d) {
    if (d >= stage.axes.size() || !stage.indices[0][d].same_as(stage.axes[d].var)) {
      return std::nullopt;
    }
    definition.axes.push_back(stage.axes[d].var);
  }
  return definition;
}

// Inlines definitions into one stage: loads of defined buffers become the values; equal loads
// become the same object.
class Inliner {
 public:
  Inliner(const Definitions& definitions, const TensorExpr& stage)
      : definitions_(definitions), stage_(stage) {}

  Expr Inline(const Expr& expr) {
    return RewriteBottomUp(expr, [&](const Expr& node) { return Replace(node); });
  }

 private:
  Expr Replace(const Expr& expr) {
    if (const auto* cast = expr.as<Cast>()) return WithoutRounding(*cast);
    const auto* load = expr.as<Load>();
    if (!load) return expr;
    auto definition = definitions_.find(load->buffer);
    if (definition == definitions_.end() || IsRepeated(definition->second, stage_)) return expr;
    auto [entry, absent] = inlined_.emplace(expr, Expr());
    if (absent) {
      Substitution values;
      const std::vector<Var>& axes = definition->second.axes;
      for (size_t d = 0; d < axes.size(); ++d) values.emplace(axes[d], load->indices[d]);
      entry->second = Substitute(definition->second.value, values);
    }
    if (definition->second.rounds) rounded_.insert(entry->second);
    return entry->second;
  }

  // Drops a rounding that is directly followed by a widening to the original type.
  Expr WithoutRounding(const Cast& widened) const {
    const auto* rounded = widened.value.as<Cast>();
    bool same = rounded && rounded->value.dtype() == widened.dtype;
    return same && rounded_.contains(widened.value) ? rounded->value : Expr(widened);
  }

  const Definitions& definitions_;
  const TensorExpr& stage_;
  std::unordered_map<Expr, Expr, ExprHash, ExprEqual> inlined_;
  std::unordered_set<Expr, ExprHash, ExprEqual> rounded_;
};

std::unordered_set<Var, VarHash> BuffersRead(const TensorExpr& stage) {
  std::unordered_set<Var, VarHash> read;
  ForEachExpr(stage, [&](const Expr& expr) {
    PreOrder(expr, [&](const Expr& node) {
      if (const auto* load = node.as<Load>()) read.insert(load->buffer);
    });
  });
  return read;
}

// The index of the stages that write each buffer.
class Writers {
 public:
  explicit Writers(const TensorProgram& program) {
    for (size_t s = 0; s < program.stages.size(); ++s) {
      const auto* compute = std::get_if<ComputeExpr>(&program.stages[s]);
      if (!compute) {
        Add(std::get<OrderedExpr>(program.stages[s]).output, s);
      } else {
        for (const Buffer& output : compute->outputs) Add(output, s);
      }
    }
  }

  bool IsOnlyOne(const Var& buffer) const { return of_.at(buffer).size() == 1; }
  // Returns whether a reduction writes `buffer`.
  bool IsReduced(const TensorProgram& program, const Var& buffer) const {
    auto found = of_.find(buffer);
    if (found == of_.end()) return false;
    return std::ranges::any_of(found->second, [&](size_t s) {
      const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
      return stage && stage->combiner;
    });
  }
  // Returns whether a stage behind s writes `buffer`.
  bool AnyAfter(const Var& buffer, size_t s) const {
    auto found = of_.find(buffer);
    return found != of_.end() && found->second.back() > s;
  }

 private:
  void Add(const Buffer& buffer, size_t s) { of_[buffer.var].push_back(s); }

  std::unordered_map<Var, std::vector<size_t>, VarHash> of_;
};

bool Holds(const std::vector<Buffer>& buffers, const Var& var) {
  return std::ranges::any_of(buffers, [&](const Buffer& buffer) { return buffer.var == var; });
}

// Returns the stage as the only definition of an intermediate buffer, if its operands do not change
// afterwards.
std::optional<Definition> InlinableDefinition(const TensorProgram& program, const Writers& writers,
                                              size_t s) {
  const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
  if (!stage) return std::nullopt;
  std::optional<Definition> definition = AsDefinition(*stage);
  const std::vector<Var>& kept = program.kept;
  if (!definition || !Holds(program.intermediates, stage->outputs[0].var) ||
      std::ranges::find(kept, stage->outputs[0].var) != kept.end() ||
      !writers.IsOnlyOne(stage->outputs[0].var) || !IsSmall(definition->value)) {
    return std::nullopt;
  }
  for (const Var& buffer : BuffersRead(program.stages[s])) {
    if (writers.AnyAfter(buffer, s)) return std::nullopt;
    definition->is_epilogue = definition->is_epilogue || writers.IsReduced(program, buffer);
  }
  return definition;
}

}  // namespace

void InlineMaps(TensorProgram& program, const BufferSet& exact) {
  Definitions definitions;
  Writers writers(program);
  for (size_t s = 0; s < program.stages.size(); ++s) {
    Inliner inliner(definitions, program.stages[s]);
    ForEachExpr(program.stages[s], [&](Expr& expr) { expr = inliner.Inline(expr); });
    if (std::optional<Definition> definition = InlinableDefinition(program, writers, s)) {
      const Var& buffer = std::get<ComputeExpr>(program.stages[s]).outputs[0].var;
      definition->rounds = IsNarrowing(definition->value) && !exact.contains(buffer);
      definitions.emplace(buffer, *definition);
    }
  }

  std::unordered_set<Var, VarHash> read;
  for (const TensorExpr& stage : program.stages) read.merge(BuffersRead(stage));
  auto is_gone = [&](const Var& buffer) {
    return definitions.contains(buffer) && !read.contains(buffer);
  };
  std::erase_if(program.stages, [&](const TensorExpr& expr) {
    const auto* stage = std::get_if<ComputeExpr>(&expr);
    return stage && std::ranges::all_of(stage->outputs,
                                        [&](const Buffer& output) { return is_gone(output.var); });
  });
  std::erase_if(program.intermediates, [&](const Buffer& buffer) { return is_gone(buffer.var); });
}

}  // namespace tcc
