#include "schedule/tensorize.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/affine.h"
#include "ir/interval.h"
#include "ir/printer.h"
#include "ir/simplify.h"
#include "ir/substitute.h"
#include "ir/visitor.h"
#include "schedule/guard.h"
#include "schedule/tensor_intrinsics.h"

namespace tcc {
namespace {

// A chain of loops round one block.
struct Nest {
  std::vector<Ref<For>> loops;
  Ref<Block> block;
};

StatusOr<Nest> NestFrom(const Stmt& stmt, const LoopRef& key) {
  Nest nest;
  Stmt at = stmt;
  while (const auto* loop = at.as<For>()) {
    TCC_RETURN_IF_ERROR(ExpectSerial("tensorize", Ref<For>(loop)));
    nest.loops.push_back(Ref<For>(loop));
    at = loop->body;
  }
  const auto* block = at.as<Block>();
  if (!block) {
    return InvalidInput("tensorize: loop '{}' is not one chain of loops round one block", key);
  }
  nest.block = Ref<Block>(block);
  return nest;
}

// Which access of the nest stands for which parameter of the meaning.
using Operands = std::map<std::string, Access>;

// Every way to read `expr` as `pattern`: products may be turned round.
std::vector<Operands> Readings(const Expr& pattern, const Expr& expr) {
  if (pattern.dtype() != expr.dtype() || pattern.kind() != expr.kind()) return {};
  if (const auto* load = pattern.as<Load>()) {
    const auto* actual = expr.as<Load>();
    return {{{load->buffer->name, Access{actual->buffer, actual->indices}}}};
  }
  if (const auto* cast = pattern.as<Cast>()) {
    return Readings(cast->value, expr.as<Cast>()->value);
  }
  const auto* product = pattern.as<Mul>();
  if (!product) return {};
  std::vector<Operands> readings;
  auto join = [&](const Expr& a, const Expr& b) {
    for (const Operands& left : Readings(product->a, a)) {
      for (Operands right : Readings(product->b, b)) {
        right.insert(left.begin(), left.end());
        readings.push_back(std::move(right));
      }
    }
  };
  join(expr.as<Mul>()->a, expr.as<Mul>()->b);
  join(expr.as<Mul>()->b, expr.as<Mul>()->a);
  return readings;
}

// The loops of the nest that move an access, a dimension each; nullopt where an index moves with
// several, or not cell by cell.
std::optional<std::vector<size_t>> MovingLoops(const Access& access, const Nest& nest) {
  std::vector<Var> vars;
  Substitution bindings;
  for (const Ref<For>& loop : nest.loops) vars.push_back(loop->var);
  for (const IterVar& iter : nest.block->iters) bindings.emplace(iter.var, iter.binding);
  std::vector<size_t> moving;
  for (const Expr& index : access.indices) {
    std::optional<AffineForm> form = ToAffine(Substitute(index, bindings), vars);
    if (!form || form->vars.size() > 1) return std::nullopt;
    if (form->vars.empty()) continue;
    if (!EqualUpToAlgebra(form->coefficients[0], Expr(1))) return std::nullopt;
    auto found = std::find(vars.begin(), vars.end(), form->vars[0]);
    moving.push_back(static_cast<size_t>(found - vars.begin()));
  }
  return moving;
}

// The loop of the nest for each axis of the meaning, if the accesses agree on one.
std::optional<std::vector<size_t>> AxesOf(const Operands& operands, const Nest& nest,
                                          const Nest& meaning,
                                          const std::map<std::string, Access>& declared) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> axes(meaning.loops.size(), kNone);
  for (const auto& [name, access] : declared) {
    std::optional<std::vector<size_t>> want = MovingLoops(access, meaning);
    std::optional<std::vector<size_t>> got = MovingLoops(operands.at(name), nest);
    if (!want || !got || want->size() != got->size()) return std::nullopt;
    for (size_t d = 0; d < want->size(); ++d) {
      size_t& axis = axes[(*want)[d]];
      if (axis != kNone && axis != (*got)[d]) return std::nullopt;
      axis = (*got)[d];
    }
  }
  std::vector<size_t> used = axes;
  std::sort(used.begin(), used.end());
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] != i) return std::nullopt;
  }
  return axes;
}

std::map<std::string, Access> AccessesOf(const Block& block) {
  std::map<std::string, Access> accesses;
  for (const Access& read : ReadsOf(block)) accesses.emplace(read.buffer->name, read);
  for (const Access& write : WritesOf(block)) accesses.emplace(write.buffer->name, write);
  return accesses;
}

class Matcher {
 public:
  Matcher(const Tensorize& step, Nest nest, Nest meaning)
      : step_(step), nest_(std::move(nest)), meaning_(std::move(meaning)) {}

  StatusOr<Constraints> Run() {
    const auto* reduce = nest_.block->body.as<Reduce>();
    const auto* wanted = meaning_.block->body.as<Reduce>();
    if (!reduce || reduce->init != ReduceInit::kDecomposed) {
      return Refuse("block '{}' is no decomposed reduction", nest_.block->name);
    }
    if (!IsConstant(nest_.block->predicate, 1)) {
      return Refuse("block '{}' has a predicate", nest_.block->name);
    }
    if (nest_.loops.size() != meaning_.loops.size()) {
      return Refuse("the nest has {} loops; expected {}", nest_.loops.size(),
                    meaning_.loops.size());
    }
    if (!Equal(reduce->combiner, wanted->combiner)) {
      return Refuse("block '{}' reduces by {}; expected {}", nest_.block->name,
                    reduce->combiner->name, wanted->combiner->name);
    }
    std::optional<std::vector<size_t>> axes = Axes(*reduce, *wanted);
    if (!axes) {
      return Refuse("block '{}' does not read or write as the intrinsic does", nest_.block->name);
    }
    for (size_t a = 0; a < axes->size(); ++a) {
      const For& loop = *nest_.loops[(*axes)[a]];
      tile_[loop.var] = AsConstant(meaning_.loops[a]->extent).value();
      Expr difference = loop.extent - Expr(tile_[loop.var]);
      TCC_RETURN_IF_ERROR(Require(difference, "a tile has the intrinsic's extent", loop));
      TCC_RETURN_IF_ERROR(Require(Expr(0) - difference, "a tile has the intrinsic's extent", loop));
    }
    for (const IterVar& iter : nest_.block->iters) {
      TCC_RETURN_IF_ERROR(ExpectWhole(iter.binding, iter.domain));
    }
    for (const LoopGuard& guard : nest_.block->guards) {
      TCC_RETURN_IF_ERROR(ExpectWhole(guard.value, guard.extent));
    }
    return constraints_;
  }

 private:
  template <typename... Args>
  Status Refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidInput("tensorize: {}, at loop '{}', is not {}",
                        fmt::format(format, std::forward<Args>(args)...), step_.loop,
                        step_.intrinsic);
  }

  std::optional<std::vector<size_t>> Axes(const Reduce& reduce, const Reduce& wanted) const {
    std::map<std::string, Access> declared = AccessesOf(*meaning_.block);
    for (Operands operands : Readings(wanted.inputs[0], reduce.inputs[0])) {
      operands.emplace(wanted.outputs[0].buffer->name, reduce.outputs[0]);
      if (operands.size() != declared.size()) continue;
      if (auto axes = AxesOf(operands, nest_, meaning_, declared)) return axes;
    }
    return std::nullopt;
  }

  // excess <= 0, as far as it is known.
  Status Require(const Expr& excess, const char* why, const For& loop) {
    Interval bounds = BoundsOf(Simplify(excess), {});
    if (bounds.low > 0) {
      return Refuse("loop '{}' has {} iterations", loop.key, Print(Simplify(loop.extent)));
    }
    if (bounds.high > 0) constraints_.push_back({excess, why});
    return OkStatus();
  }

  // value < end holds for all instances of a tile or for none: what else is in the value, and the
  // end, are multiples of the tile.
  Status ExpectWhole(const Expr& value, const Expr& end) {
    int64_t tile = 0;
    std::vector<Var> vars = VarsOf(value);
    std::erase_if(vars, [](const Var& var) { return var->role != VarRole::kLoop; });
    for (const Var& var : vars) {
      if (auto found = tile_.find(var); found != tile_.end()) tile = found->second;
    }
    if (tile == 0) return OkStatus();
    std::optional<AffineForm> form = ToAffine(value, vars);
    bool affine = form.has_value();
    std::vector<Expr> multiples = {end};
    for (size_t i = 0; affine && i < form->vars.size(); ++i) {
      bool outer = !tile_.contains(form->vars[i]);
      if (outer) multiples.push_back(form->coefficients[i]);
    }
    if (affine) multiples.push_back(form->rest);
    for (const Expr& multiple : multiples) {
      Expr excess = Simplify(FloorModulo(multiple, Expr(tile)));
      Interval bounds = BoundsOf(excess, {});
      if (!affine || bounds.low > 0) {
        return Refuse("{} < {} cuts a tile of {}; pad the axis", Print(Simplify(value)),
                      Print(Simplify(end)), tile);
      }
      if (bounds.high > 0) constraints_.push_back({excess, "tiles of an intrinsic are whole"});
    }
    return OkStatus();
  }

  const Tensorize& step_;
  Nest nest_;
  Nest meaning_;
  std::unordered_map<Var, int64_t, VarHash> tile_;
  Constraints constraints_;
};

}  // namespace

StatusOr<Constraints> CheckTensorize(const Function& fn, const Tensorize& step) {
  TCC_ASSIGN_OR_RETURN(const TensorIntrinsic* intrinsic, FindTensorIntrinsic(step.intrinsic));
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, step.loop));
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("tensorize", path));
  for (const Stmt& stmt : path) {
    if (stmt.as<IntrinsicCall>()) {
      return InvalidInput("tensorize: loop '{}' is in an intrinsic already", step.loop);
    }
  }
  TCC_ASSIGN_OR_RETURN(Nest nest, NestFrom(path.back(), step.loop));
  Function meaning = MeaningOf(*intrinsic);
  return Matcher(step, nest, NestFrom(meaning.body, step.intrinsic).value()).Run();
}

Function ApplyTensorize(const Function& fn, const Tensorize& step) {
  Ref<For> loop = LoopAt(FindLoop(fn, step.loop).value());
  Function result = fn;
  result.body = Replace(fn.body, loop.get(), MakeStmt<IntrinsicCall>(step.intrinsic, Stmt(*loop)));
  return result;
}

}  // namespace tcc
