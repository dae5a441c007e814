#include "graph/ops/build_loop_nest.h"

#include <algorithm>
#include <set>

#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "support/check.h"

namespace tcc {
namespace {

bool IsNeverEmpty(const Expr& extent) {
  return BoundsOf(extent, {}).low >= 1;
}

// A loop a dimension around a block that `body` fills.
class NestBuilder {
 public:
  explicit NestBuilder(std::string block) : block_(std::move(block)) {}

  void AddAxis(const Axis& axis, IterKind kind) {
    std::string name = axis.var->name;
    for (int suffix = 1; !names_.insert(name).second; ++suffix) {
      name = axis.var->name + "_" + std::to_string(suffix);
    }
    Var loop = LoopVar(name);
    iters_.push_back({.var = axis.var, .kind = kind, .binding = loop, .domain = axis.extent});
    loops_.push_back({.var = loop, .extent = axis.extent});
  }

  Stmt Build(const Expr& predicate, const Stmt& body) const {
    Stmt nest = MakeStmt<Block>(block_, iters_, std::vector<LoopGuard>{}, predicate, body);
    for (size_t i = loops_.size(); i > 0; --i) {
      const Axis& loop = loops_[i - 1];
      nest = MakeStmt<For>(loop.var, loop.extent, ForKind::kSerial, block_ + "/" + loop.var->name,
                           nest);
    }
    return nest;
  }

 private:
  std::string block_;
  std::vector<IterVar> iters_;
  std::vector<Axis> loops_;
  std::set<std::string> names_;
};

std::vector<Access> OutputsOf(const ComputeExpr& stage) {
  std::vector<Access> outputs;
  for (size_t e = 0; e < stage.outputs.size(); ++e) {
    outputs.push_back({.buffer = stage.outputs[e].var, .indices = stage.indices[e]});
  }
  return outputs;
}

Stmt MapNest(const ComputeExpr& stage) {
  TCC_CHECK(stage.reduce_axes.empty() && IsConstant(stage.predicate, 1)) << stage.name;
  NestBuilder nest(stage.name);
  for (const Axis& axis : stage.axes) nest.AddAxis(axis, IterKind::kSpatial);
  std::vector<Stmt> stores;
  for (size_t e = 0; e < stage.outputs.size(); ++e) {
    stores.push_back(MakeStmt<Store>(stage.outputs[e].var, stage.indices[e], stage.values[e]));
  }
  return nest.Build(True(), SeqOf(stores));
}

// The identities, written by a nest over fresh variables for the axes.
Stmt InitNest(const ComputeExpr& stage) {
  NestBuilder nest(stage.name + ".init");
  Substitution fresh;
  for (const Axis& axis : stage.axes) {
    Axis copy{.var = IterationVar(axis.var->name), .extent = axis.extent};
    fresh.emplace(axis.var, copy.var);
    nest.AddAxis(copy, IterKind::kSpatial);
  }
  std::vector<Stmt> stores;
  for (size_t e = 0; e < stage.outputs.size(); ++e) {
    std::vector<Expr> indices;
    for (const Expr& index : stage.indices[e]) indices.push_back(Substitute(index, fresh));
    stores.push_back(MakeStmt<Store>(stage.outputs[e].var, indices, stage.combiner->identities[e]));
  }
  return nest.Build(True(), SeqOf(stores));
}

Stmt ReduceNest(const ComputeExpr& stage) {
  NestBuilder nest(stage.name);
  for (const Axis& axis : stage.axes) nest.AddAxis(axis, IterKind::kSpatial);
  for (const Axis& axis : stage.reduce_axes) nest.AddAxis(axis, IterKind::kReduce);
  bool has_first = std::ranges::all_of(stage.reduce_axes,
                                       [](const Axis& axis) { return IsNeverEmpty(axis.extent); });
  ReduceInit init = has_first ? ReduceInit::kFirstInstance : ReduceInit::kDecomposed;
  Stmt leaf = MakeStmt<Reduce>(stage.combiner, OutputsOf(stage), stage.values, init);
  Stmt main = nest.Build(stage.predicate, leaf);
  return has_first ? main : SeqOf({InitNest(stage), main});
}

Stmt NestOf(const OrderedExpr& stage) {
  NestBuilder nest(stage.name);
  for (size_t i = 0; i < stage.axes.size(); ++i) nest.AddAxis(stage.axes[i], stage.kinds[i]);
  return nest.Build(stage.predicate, MakeStmt<Store>(stage.output.var, stage.indices, stage.value));
}

Stmt NestOf(const ComputeExpr& stage) {
  return stage.combiner ? ReduceNest(stage) : MapNest(stage);
}

std::vector<Var> UsedVars(const std::vector<Var>& vars, const Function& fn) {
  std::vector<Var> used;
  for (const Var& var : vars) {
    bool occurs = UsesVar(fn.body, var);
    for (const Buffer& param : fn.params) {
      for (const Expr& dim : param.shape) occurs = occurs || UsesVar(dim, var);
      for (const Expr& stride : param.layout.strides) occurs = occurs || UsesVar(stride, var);
    }
    if (occurs) used.push_back(var);
  }
  return used;
}

// Steps find buffers by name, and a model's "a.b" and "a_b" are one identifier, as are all names
// without a Latin letter: the second of a name and those after it get a suffix.
Function WithDistinctBuffers(const Function& fn) {
  std::vector<Buffer> buffers = DeclaredBuffers(fn);
  std::set<std::string> taken;
  for (const Buffer& buffer : buffers) taken.insert(buffer.var->name);
  std::set<std::string> seen;
  Substitution renamed;
  for (const Buffer& buffer : buffers) {
    const std::string& hint = buffer.var->name;
    if (seen.insert(hint).second) continue;
    std::string name = hint;
    for (int suffix = 1; !taken.insert(name).second; ++suffix) {
      name = hint + "_" + std::to_string(suffix);
    }
    renamed.emplace(buffer.var, BufferVar(name, buffer.dtype()));
  }
  return renamed.empty() ? fn : Substitute(fn, renamed);
}

}  // namespace

Function BuildLoopNest(const TensorProgram& program) {
  std::vector<Stmt> nests;
  for (const TensorExpr& expr : program.stages) {
    nests.push_back(std::visit([](const auto& stage) { return NestOf(stage); }, expr));
  }
  Function fn;
  fn.name = program.name;
  fn.level = Level::kTensor;
  fn.params = program.inputs;
  fn.params.insert(fn.params.end(), program.outputs.begin(), program.outputs.end());
  fn.body = SeqOf(nests);
  for (size_t i = program.intermediates.size(); i > 0; --i) {
    fn.body = MakeStmt<Allocate>(program.intermediates[i - 1], fn.body);
  }
  fn.vars = UsedVars(program.shape_vars, fn);
  return WithDistinctBuffers(fn);
}

}  // namespace tcc
