#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/substitute.h"
#include "ir/visitor.h"
#include "lower/graph/to_tensor_exprs.h"

namespace tcc {
namespace {

// Nodes of an inlined value, shared ones counted once: more makes kernels unreadable and slow to
// compile, while storing the intermediate costs little beside so much arithmetic.
constexpr int kMaxValueSize = 400;

int SizeOf(const Expr& expr) {
  int size = 0;
  PreOrder(expr, [&](const Expr&) { ++size; });
  return size;
}

// buffer[axes] = value
struct Definition {
  std::vector<Var> axes;
  Expr value;
};

using Definitions = std::unordered_map<Var, Definition, VarHash>;

bool HoldsCall(const Expr& expr) {
  bool found = false;
  PreOrder(expr, [&](const Expr& node) { found = found || node.kind() == ExprKind::kCall; });
  return found;
}

// Whether inlining would compute an exponential or its like again and again: in a reduction that
// reads one element at many of its points.
bool IsRepeated(const Definition& definition, const ComputeExpr& stage) {
  return stage.combiner && stage.axes.size() + stage.reduce_axes.size() > definition.axes.size() &&
         HoldsCall(definition.value);
}

std::optional<Definition> AsDefinition(const ComputeExpr& stage) {
  if (stage.combiner || stage.outputs.size() != 1) return std::nullopt;
  Definition definition{.axes = {}, .value = stage.values[0]};
  for (size_t d = 0; d < stage.indices[0].size(); ++d) {
    if (d >= stage.axes.size() || !stage.indices[0][d].same_as(stage.axes[d].var)) {
      return std::nullopt;
    }
    definition.axes.push_back(stage.axes[d].var);
  }
  return definition;
}

// One stage: loads of defined buffers become the values; equal loads the same object.
class Inliner {
 public:
  Inliner(const Definitions& definitions, const ComputeExpr& stage)
      : definitions_(definitions), stage_(stage) {}

  Expr Inline(const Expr& expr) {
    return RewriteBottomUp(expr, [&](const Expr& node) { return Replace(node); });
  }

 private:
  Expr Replace(const Expr& expr) {
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
    return entry->second;
  }

  const Definitions& definitions_;
  const ComputeExpr& stage_;
  std::unordered_map<Expr, Expr, ExprHash, ExprEqual> inlined_;
};

// Buffers that one stage alone writes: the others are joined from parts.
std::unordered_set<Var, VarHash> WrittenOnce(const TensorProgram& program) {
  std::unordered_map<Var, int, VarHash> writers;
  for (const TensorExpr& expr : program.stages) {
    for (const Buffer& output : std::get<ComputeExpr>(expr).outputs) ++writers[output.var];
  }
  std::unordered_set<Var, VarHash> once;
  for (const auto& [var, count] : writers) {
    if (count == 1) once.insert(var);
  }
  return once;
}

std::unordered_set<Var, VarHash> BuffersRead(const TensorProgram& program) {
  std::unordered_set<Var, VarHash> read;
  for (const TensorExpr& expr : program.stages) {
    const auto& stage = std::get<ComputeExpr>(expr);
    for (const Expr& value : stage.values) {
      PreOrder(value, [&](const Expr& node) {
        if (const auto* load = node.as<Load>()) read.insert(load->buffer);
      });
    }
  }
  return read;
}

bool Holds(const std::vector<Buffer>& buffers, const Var& var) {
  return std::any_of(buffers.begin(), buffers.end(),
                     [&](const Buffer& buffer) { return buffer.var == var; });
}

}  // namespace

void InlineMaps(TensorProgram& program) {
  Definitions definitions;
  std::unordered_set<Var, VarHash> once = WrittenOnce(program);
  for (TensorExpr& expr : program.stages) {
    auto& stage = std::get<ComputeExpr>(expr);
    Inliner inliner(definitions, stage);
    for (Expr& value : stage.values) value = inliner.Inline(value);
    std::optional<Definition> definition = AsDefinition(stage);
    if (definition && once.contains(stage.outputs[0].var) &&
        Holds(program.intermediates, stage.outputs[0].var) &&
        SizeOf(definition->value) <= kMaxValueSize) {
      definitions.emplace(stage.outputs[0].var, *definition);
    }
  }

  std::unordered_set<Var, VarHash> read = BuffersRead(program);
  std::erase_if(program.stages, [&](const TensorExpr& expr) {
    const auto& stage = std::get<ComputeExpr>(expr);
    return std::all_of(stage.outputs.begin(), stage.outputs.end(), [&](const Buffer& output) {
      return definitions.contains(output.var) && !read.contains(output.var);
    });
  });
  std::erase_if(program.intermediates, [&](const Buffer& buffer) {
    return definitions.contains(buffer.var) && !read.contains(buffer.var);
  });
}

}  // namespace tcc
