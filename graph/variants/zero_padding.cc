#include "graph/variants/variants.h"

#include <algorithm>

#include "graph/variants/stage_parts.h"
#include "ir/expr/visitor.h"
#include "ir/graph/graph.h"
#include "ir/simplify/simplify.h"
#include "ir/simplify/size_arithmetic.h"

namespace tcc {
namespace {

// A window's read of an input under the predicate, and the fill that may surround the input
// instead.
struct GuardedRead {
  size_t stage = 0;
  Expr load;
  Buffer input;
  Expr fill;
  const std::vector<Expr>& indices() const { return load.as<Load>()->indices; }
};

// Returns the load under the predicate, if the predicate guards nothing else.
std::optional<GuardedRead> ReadOf(const TensorProgram& program, const ComputeExpr& stage,
                                  const Expr& expr, const Expr& fill) {
  const auto* load = expr.as<Load>();
  const Buffer* input = load ? FindBuffer(program, load->buffer) : nullptr;
  if (!input || !KeepsInside(stage.predicate, *load, *input)) return std::nullopt;
  GuardedRead read{0, expr, *input, fill};
  bool is_finite = ReachOf(stage, *load).size() == input->rank();
  return is_finite ? std::optional(read) : std::nullopt;
}

bool IsGuardedReduction(const ComputeExpr& stage) {
  return stage.combiner && stage.values.size() == 1 && IsNeverEmpty(stage) &&
         !IsConstant(stage.predicate, 1);
}

bool IsSum(const ComputeExpr& stage) {
  return stage.combiner.get() == SumCombiner(stage.outputs[0].dtype()).get();
}

// Matches a factor of a convolution.
std::optional<GuardedRead> MatchFactor(const TensorProgram& program, const ComputeExpr& stage) {
  if (!IsGuardedReduction(stage) || !IsSum(stage)) return std::nullopt;
  auto factors = FactorsOf(stage.values[0]);
  if (!factors) return std::nullopt;
  for (const Expr& factor : {factors->first, factors->second}) {
    Expr zero = Const(factor.dtype(), 0);
    if (std::optional<GuardedRead> read = ReadOf(program, stage, factor, zero)) return read;
  }
  return std::nullopt;
}

// Matches the elements that a pool reduces, in its own type or summed in a wider one.
std::optional<GuardedRead> MatchElement(const TensorProgram& program, const ComputeExpr& stage) {
  if (!IsGuardedReduction(stage)) return std::nullopt;
  const Expr& value = stage.values[0];
  const auto* cast = value.as<Cast>();
  if (!cast) return ReadOf(program, stage, value, stage.combiner->identities[0]);
  if (!IsSum(stage)) return std::nullopt;
  return ReadOf(program, stage, cast->value, Const(cast->value.dtype(), 0));
}

std::vector<Expr> ExtentsOf(const Reach& reach) {
  std::vector<Expr> extents;
  for (const IndexRange& range : reach) extents.push_back(range.extent);
  return extents;
}

// Returns the stage padded[i..] = input[i + low..], with the fill outside.
ComputeExpr PadStage(const Buffer& padded, const GuardedRead& read, const Reach& reach) {
  ComputeExpr stage = StageOver(padded);
  std::vector<Expr> places;
  for (size_t d = 0; d < padded.rank(); ++d) {
    places.push_back(Simplify(Expr(stage.axes[d].var) + Expr(reach[d].low)));
  }
  stage.values = {ElementOrFill(read.input, places, reach, read.fill)};
  return stage;
}

TensorProgram Padded(const TensorProgram& program, const GuardedRead& read) {
  TensorProgram result = program;
  auto& stage = std::get<ComputeExpr>(result.stages[read.stage]);
  Reach reach = ReachOf(stage, *read.load.as<Load>());
  Buffer padded =
      AddIntermediate(result, stage.name + "_padded", read.input.dtype(), ExtentsOf(reach));

  std::vector<Expr> places;
  for (size_t d = 0; d < reach.size(); ++d) {
    places.push_back(Simplify(read.indices()[d] - Expr(reach[d].low)));
  }
  Expr from_padded = Make<Load>(padded.var, places);
  stage.values[0] = RewriteBottomUp(stage.values[0], [&](const Expr& expr) -> Expr {
    return Equal(expr, read.load) ? from_padded : expr;
  });
  stage.predicate = True();
  auto at = result.stages.begin() + static_cast<std::ptrdiff_t>(read.stage);
  result.stages.insert(at, PadStage(padded, read, reach));
  // It has one reader, but must not be recomputed for each of its instances.
  result.kept.push_back(padded.var);
  return result;
}

// Pads the input of the first stage in which `match` finds a read.
std::optional<TensorProgram> FirstPadded(const TensorProgram& program,
                                         std::optional<GuardedRead> (*match)(const TensorProgram&,
                                                                             const ComputeExpr&)) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const auto* stage = std::get_if<ComputeExpr>(&program.stages[s]);
    std::optional<GuardedRead> read = stage ? match(program, *stage) : std::nullopt;
    if (!read) continue;
    read->stage = s;
    return Padded(program, *read);
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorProgram> ZeroPaddingVariant(const TensorProgram& program) {
  return FirstPadded(program, MatchFactor);
}

std::optional<TensorProgram> PaddedPoolVariant(const TensorProgram& program) {
  return FirstPadded(program, MatchElement);
}

}  // namespace tcc
