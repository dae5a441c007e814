#include "graph/variants/variants.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "graph/variants/stage_parts.h"
#include "ir/expr/combiner.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// Two axes of a stage that become one, by the variables of the outer and the inner one.
struct AxisPair {
  Var outer, inner;
  friend bool operator==(const AxisPair&, const AxisPair&) = default;
};

// Everything that merges with one pair of axes: pairs by stage, and the buffers' dimensions, of
// which the next one goes along.
struct Merge {
  std::map<size_t, AxisPair> pairs;
  std::map<const VarNode*, size_t> dims;
};

const Axis* FindAxis(const std::vector<Axis>& axes, const Expr& index) {
  auto found = std::ranges::find_if(
      axes, [&](const Axis& axis) { return index.get() == Expr(axis.var).get(); });
  return found == axes.end() ? nullptr : &*found;
}

void ForEachAccess(const ComputeExpr& stage,
                   const std::function<void(const Var&, const std::vector<Expr>&)>& visit) {
  for (size_t e = 0; e < stage.outputs.size(); ++e) visit(stage.outputs[e].var, stage.indices[e]);
  for (const Expr& value : stage.values) {
    PreOrder(value, [&](const Expr& expr) {
      if (const auto* load = expr.as<Load>()) visit(load->buffer, load->indices);
    });
  }
}

// Finds what merges with a pair of axes, or that something stands against it.
class MergeFinder {
 public:
  explicit MergeFinder(const TensorProgram& program) : program_(program) {}

  std::optional<Merge> Find(size_t stage, const AxisPair& pair) {
    Join(stage, pair);
    while (!failed_ && !todo_.empty()) {
      size_t next = todo_.front();
      todo_.pop_front();
      JoinBuffersOf(next);
    }
    return failed_ ? std::nullopt : std::optional(std::move(merge_));
  }

 private:
  void Join(size_t stage, const AxisPair& pair) {
    auto [known, fresh] = merge_.pairs.emplace(stage, pair);
    if (fresh) todo_.push_back(stage);
    failed_ = failed_ || known->second != pair;
  }

  void JoinBuffersOf(size_t s) {
    const auto* stage = std::get_if<ComputeExpr>(&program_.stages[s]);
    if (!stage) return Fail();
    const AxisPair pair = merge_.pairs.at(s);
    ForEachAccess(*stage, [&](const Var& buffer, const std::vector<Expr>& indices) {
      for (size_t d = 0; d + 1 < indices.size(); ++d) {
        if (indices[d].get() == Expr(pair.outer).get()) JoinBuffer(buffer, d);
      }
    });
  }

  // The dimensions d and d + 1 of the buffer become one: in every stage.
  void JoinBuffer(const Var& var, size_t d) {
    auto [known, fresh] = merge_.dims.emplace(&*var, d);
    if (known->second != d) return Fail();
    if (!fresh) return;
    const Buffer* buffer = BufferOf(var);
    if (!buffer || !IsRowMajor(buffer->layout)) return Fail();
    for (size_t s = 0; s < program_.stages.size() && !failed_; ++s) {
      const auto* stage = std::get_if<ComputeExpr>(&program_.stages[s]);
      if (!stage) return Fail();
      ForEachAccess(*stage, [&](const Var& accessed, const std::vector<Expr>& indices) {
        if (accessed == var) JoinAxes(s, *stage, *buffer, indices, d);
      });
    }
  }

  void JoinAxes(size_t s, const ComputeExpr& stage, const Buffer& buffer,
                const std::vector<Expr>& indices, size_t d) {
    for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes}) {
      const Axis* outer = FindAxis(*axes, indices[d]);
      const Axis* inner = FindAxis(*axes, indices[d + 1]);
      if (!outer || !inner || outer == inner) continue;
      bool whole = EqualUpToAlgebra(outer->extent, buffer.shape[d]) &&
                   EqualUpToAlgebra(inner->extent, buffer.shape[d + 1]);
      return whole ? Join(s, {outer->var, inner->var}) : Fail();
    }
    Fail();
  }

  const Buffer* BufferOf(const Var& var) const {
    if (const Buffer* buffer = FindBuffer(program_, var)) return buffer;
    auto found = std::ranges::find(program_.outputs, var, &Buffer::var);
    return found == program_.outputs.end() ? nullptr : &*found;
  }

  void Fail() { failed_ = true; }

  const TensorProgram& program_;
  Merge merge_;
  std::deque<size_t> todo_;
  bool failed_ = false;
};

// Rewrites the program; nullopt where an axis that merges has another use than in the number of a
// point of both.
class Merger {
 public:
  Merger(const TensorProgram& program, const Merge& merge) : result_(program), merge_(merge) {}

  std::optional<TensorProgram> Run() {
    for (auto* buffers : {&result_.inputs, &result_.outputs, &result_.intermediates}) {
      for (Buffer& buffer : *buffers) MergeShape(buffer);
    }
    for (const auto& [s, pair] : merge_.pairs) {
      if (!MergeStage(std::get<ComputeExpr>(result_.stages[s]), pair)) return std::nullopt;
    }
    return std::move(result_);
  }

 private:
  void MergeShape(Buffer& buffer) const {
    auto merged = merge_.dims.find(&*buffer.var);
    if (merged == merge_.dims.end()) return;
    auto at = buffer.shape.begin() + static_cast<std::ptrdiff_t>(merged->second);
    *at = ProductOf(*at, *(at + 1));
    buffer.shape.erase(at + 1);
  }

  static bool MergeAxes(std::vector<Axis>& axes, const AxisPair& pair, const Var& merged) {
    auto outer = std::ranges::find(axes, pair.outer, &Axis::var);
    auto inner = std::ranges::find(axes, pair.inner, &Axis::var);
    if (outer == axes.end() || inner == axes.end()) return false;
    *outer = {merged, ProductOf(outer->extent, inner->extent)};
    axes.erase(inner);
    return true;
  }

  void MergeIndices(const Var& buffer, std::vector<Expr>& indices, const Var& merged) const {
    auto found = merge_.dims.find(&*buffer);
    if (found == merge_.dims.end()) return;
    auto at = indices.begin() + static_cast<std::ptrdiff_t>(found->second);
    *at = merged;
    indices.erase(at + 1);
  }

  bool MergeStage(ComputeExpr& stage, const AxisPair& pair) const {
    Var merged = IterationVar(pair.outer->name + pair.inner->name);
    const Substitution places = PlacesOf(stage, pair, merged);
    if (!MergeAxes(stage.axes, pair, merged) && !MergeAxes(stage.reduce_axes, pair, merged)) {
      return false;
    }
    for (size_t e = 0; e < stage.outputs.size(); ++e) {
      MergeIndices(stage.outputs[e].var, stage.indices[e], merged);
      MergeShape(stage.outputs[e]);
    }
    for (Expr& value : stage.values) {
      value = RewriteBottomUp(value, [&](const Expr& expr) -> Expr {
        const auto* load = expr.as<Load>();
        if (!load || !merge_.dims.contains(&*load->buffer)) return expr;
        std::vector<Expr> indices = load->indices;
        MergeIndices(load->buffer, indices, merged);
        return Make<Load>(load->buffer, indices);
      });
      if (!UsesVar(value, pair.outer) && !UsesVar(value, pair.inner)) continue;
      value = Simplify(Substitute(value, places));
      if (IsDivided(value, merged)) return false;
    }
    return !Uses(stage, pair.outer) && !Uses(stage, pair.inner);
  }

  // Returns where a point of the merged axis lies on both.
  static Substitution PlacesOf(const ComputeExpr& stage, const AxisPair& pair, const Var& merged) {
    const std::vector<Axis>& all = stage.axes;
    const Axis* outer = FindAxis(all, pair.outer);
    const Axis* inner = FindAxis(all, pair.inner);
    if (outer == nullptr || inner == nullptr) return {};
    if (IsConstant(outer->extent, 1)) return {{pair.outer, Expr(0)}, {pair.inner, merged}};
    return {{pair.outer, FloorDivide(merged, inner->extent)},
            {pair.inner, FloorModulo(merged, inner->extent)}};
  }

  static bool IsDivided(const Expr& value, const Var& merged) {
    return Contains(value, [&](const Expr& expr) {
      const bool divides = expr.as<FloorDiv>() || expr.as<FloorMod>();
      return divides && UsesVar(expr, merged);
    });
  }

  static bool Uses(const ComputeExpr& stage, const Var& var) {
    auto uses = [&](const Expr& expr) { return UsesVar(expr, var); };
    return uses(stage.predicate) || std::ranges::any_of(stage.values, uses) ||
           std::ranges::any_of(stage.indices, [&](const std::vector<Expr>& indices) {
             return std::ranges::any_of(indices, uses);
           });
  }

  TensorProgram result_;
  const Merge& merge_;
};

// Returns the operands of the sum's terms: two factors, or words of the first pair of planes.
std::optional<std::pair<Expr, Expr>> OperandsOf(const Expr& value) {
  std::optional<std::pair<Expr, Expr>> words;
  PreOrder(value, [&](const Expr& node) {
    const auto* ones = node.as<Call>();
    const bool counts = ones && ones->op == ScalarOp::kPopcount;
    const auto* both = counts ? ones->args[0].as<Call>() : nullptr;
    if (both && both->op == ScalarOp::kBitAnd && !words) words = {both->args[0], both->args[1]};
  });
  return words ? words : FactorsOf(value);
}

// Whether the stage is a sum of products of which one factor, the weights, has neither axis.
bool SharesFactor(const ComputeExpr& stage, const Var& a, const Var& b) {
  if (!stage.combiner || stage.values.size() != 1 || !IsNeverEmpty(stage)) return false;
  if (stage.combiner.get() != SumCombiner(stage.outputs[0].dtype()).get()) return false;
  auto factors = OperandsOf(stage.values[0]);
  if (!factors) return false;
  return std::ranges::any_of(std::array{factors->first, factors->second}, [&](const Expr& factor) {
    return !UsesVar(factor, a) && !UsesVar(factor, b) && HasLoad(factor);
  });
}

// Removes reduced axes of extent 1, the taps of a window of one, while others are left.
void DropSingleTerms(ComputeExpr& stage) {
  Substitution zeros;
  for (const Axis& axis : stage.reduce_axes) {
    bool is_last = zeros.size() + 1 == stage.reduce_axes.size();
    if (!is_last && AsConstant(axis.extent) == 1) zeros[axis.var] = Expr(0);
  }
  if (zeros.empty()) return;
  std::erase_if(stage.reduce_axes, [&](const Axis& axis) { return zeros.contains(axis.var); });
  for (Expr& value : stage.values) value = Simplify(Substitute(value, zeros));
  stage.predicate = Simplify(Substitute(stage.predicate, zeros));
}

// The program with the first pair of dimensions made one that can be.
std::optional<TensorProgram> MergeOnce(const TensorProgram& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    if (!stage) continue;
    for (const Axis& outer : stage->axes) {
      for (const Axis& inner : stage->axes) {
        bool wanted = outer.var != inner.var && UsualExtent(outer) > 1 && UsualExtent(inner) > 1 &&
                      SharesFactor(*stage, outer.var, inner.var);
        if (!wanted) continue;
        std::optional<Merge> merge = MergeFinder(program).Find(s, {outer.var, inner.var});
        std::optional<TensorProgram> merged = merge ? Merger(program, *merge).Run() : std::nullopt;
        if (merged) return merged;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

TensorProgram WithMergedAxes(TensorProgram program, size_t stage, const std::vector<Axis>& axes) {
  Var inner = axes.back().var;
  for (size_t a = axes.size() - 1; a-- > 0;) {
    std::optional<Merge> merge = MergeFinder(program).Find(stage, {axes[a].var, inner});
    std::optional<TensorProgram> merged =
        merge ? Merger(program, *merge).Run() : std::optional<TensorProgram>();
    if (!merged) break;
    program = *std::move(merged);
    inner = std::get<ComputeExpr>(program.stages[stage]).axes[a].var;
  }
  return program;
}

std::optional<TensorProgram> MergedAxesVariant(const TensorProgram& program) {
  TensorProgram plain = program;
  for (TensorExpr& stage : plain.stages) {
    if (auto* compute = std::get_if<ComputeExpr>(&stage)) DropSingleTerms(*compute);
  }
  std::optional<TensorProgram> merged = MergeOnce(plain);
  while (merged) {
    std::optional<TensorProgram> more = MergeOnce(*merged);
    if (!more) break;
    merged = std::move(more);
  }
  return merged;
}

}  // namespace tcc
