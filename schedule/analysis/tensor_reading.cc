#include "schedule/analysis/tensor_reading.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/analysis/affine.h"
#include "ir/expr/compare.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

using Nest = LoopNest;
using Operands = IntrinsicOperands;
using Reading = IntrinsicReading;

bool IsSame(const Access& a, const Access& b) {
  return a.buffer == b.buffer &&
         std::ranges::equal(a.indices, b.indices,
                            [](const Expr& x, const Expr& y) { return Equal(x, y); });
}

// Merges the operands matched in two parts of an expression; nullopt where one parameter would
// stand for two different accesses.
std::optional<Operands> Union(const Operands& a, const Operands& b) {
  Operands all = a;
  for (const auto& [name, access] : b) {
    auto [known, fresh] = all.emplace(name, access);
    if (!fresh && !IsSame(known->second, access)) return std::nullopt;
  }
  return all;
}

std::vector<Operands> Readings(const std::vector<Expr>& patterns, const std::vector<Expr>& exprs) {
  std::vector<Operands> readings = {{}};
  for (size_t i = 0; i < patterns.size(); ++i) {
    std::vector<Operands> joined;
    for (const Operands& left : readings) {
      for (const Operands& right : ReadValue(patterns[i], exprs[i])) {
        if (auto all = Union(left, right)) joined.push_back(*std::move(all));
      }
    }
    readings = std::move(joined);
  }
  return readings;
}

// Sums and products may have their operands swapped.
template <typename Node>
std::vector<Operands> ReadingsOfPair(const Node& pattern, const Node& expr) {
  std::vector<Operands> readings = Readings({pattern.a, pattern.b}, {expr.a, expr.b});
  std::vector<Operands> swapped = Readings({pattern.a, pattern.b}, {expr.b, expr.a});
  readings.insert(readings.end(), swapped.begin(), swapped.end());
  return readings;
}

// The dimensions of an access that move, each with its loop of the nest; nullopt where an index
// moves with several loops, or by more than one cell unless it may move by `any_stride`.
struct MovingDim {
  size_t dim, loop;
};
std::optional<std::vector<MovingDim>> MovingDims(const Access& access, const Nest& nest,
                                                 bool any_stride) {
  std::vector<Var> vars;
  Substitution bindings;
  for (const Ref<For>& loop : nest.loops) vars.push_back(loop->var);
  for (const IterVar& iter : nest.block->iters) bindings.emplace(iter.var, iter.binding);
  std::vector<MovingDim> moving;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    std::optional<AffineForm> form = ToAffine(Substitute(access.indices[d], bindings), vars);
    if (!form || form->vars.size() > 1) return std::nullopt;
    if (form->vars.empty()) continue;
    if (!any_stride && !EqualUpToAlgebra(form->coefficients[0], Expr(1))) return std::nullopt;
    auto found = std::ranges::find(vars, form->vars[0]);
    moving.push_back({d, static_cast<size_t>(found - vars.begin())});
  }
  return moving;
}

std::map<std::string, Access> AccessesOf(const Block& block) {
  std::map<std::string, Access> accesses;
  for (const Access& read : ReadsOf(block)) accesses.emplace(read.buffer->name, read);
  for (const Access& write : WritesOf(block)) accesses.emplace(write.buffer->name, write);
  return accesses;
}

bool IsOfGroup(const TensorIntrinsic& intrinsic) {
  const WarpInstruction* known = FindWarpInstruction(intrinsic.name);
  return known && known->kind == WarpInstruction::Kind::kGroupMma;
}

class Reader {
 public:
  Reader(const Function& fn, const Nest& nest, const TensorIntrinsic& intrinsic)
      : fn_(fn),
        nest_(nest),
        meaning_(MeaningNest(intrinsic)),
        takes_strides_(intrinsic.takes_strides),
        any_order_(takes_strides_ || IsOfGroup(intrinsic)),
        declared_(AccessesOf(*meaning_.block)) {}

  // Prefers a reading with the meaning's extents.
  std::optional<Reading> Find() const {
    std::optional<Reading> other;
    for (const Operands& operands : AllOperands()) {
      std::vector<size_t> axes(meaning_.loops.size());
      for (size_t a = 0; a < axes.size(); ++a) axes[a] = a;
      do {
        std::optional<Reading> reading = ReadAs(operands, axes);
        if (!reading) continue;
        if (HasExtents(axes)) return reading;
        if (!other) other = std::move(reading);
      } while (std::next_permutation(axes.begin(), axes.end()));
    }
    return other;
  }

 private:
  // Combiners are compared elsewhere.
  std::vector<Operands> AllOperands() const {
    const auto* reduce = nest_.block->body.as<Reduce>();
    const auto* store = nest_.block->body.as<Store>();
    const auto* wanted_reduce = meaning_.block->body.as<Reduce>();
    const auto* wanted_store = meaning_.block->body.as<Store>();
    std::vector<Operands> result;
    if (reduce && wanted_reduce) {
      result = ReadValue(wanted_reduce->inputs[0], reduce->inputs[0]);
      for (Operands& operands : result) {
        operands.emplace(wanted_reduce->outputs[0].buffer->name, reduce->outputs[0]);
      }
    } else if (store && wanted_store) {
      result = ReadValue(wanted_store->value, store->value);
      for (Operands& operands : result) {
        operands.emplace(wanted_store->buffer->name, Access{store->buffer, store->indices});
      }
    }
    std::erase_if(result,
                  [&](const Operands& operands) { return operands.size() != declared_.size(); });
    return result;
  }

  std::optional<Reading> ReadAs(const Operands& operands, const std::vector<size_t>& axes) const {
    Reading reading{operands, axes, {}};
    for (const auto& [name, access] : declared_) {
      std::optional<std::vector<MovingDim>> want = MovingDims(access, meaning_, false);
      std::optional<std::vector<MovingDim>> got =
          MovingDims(operands.at(name), nest_, takes_strides_);
      if (!want || !got || want->size() != got->size()) return std::nullopt;
      bool in_order = !any_order_ && !IsFragment(fn_, operands.at(name));
      for (size_t d = 0; d < want->size(); ++d) {
        auto found = std::ranges::find_if(
            *got, [&](const MovingDim& moving) { return moving.loop == axes[(*want)[d].loop]; });
        if (found == got->end()) return std::nullopt;
        if (in_order && found - got->begin() != static_cast<std::ptrdiff_t>(d)) return std::nullopt;
        reading.dims[name].push_back(found->dim);
      }
    }
    return reading;
  }

  bool HasExtents(const std::vector<size_t>& axes) const {
    for (size_t a = 0; a < axes.size(); ++a) {
      if (!EqualUpToAlgebra(nest_.loops[axes[a]]->extent, meaning_.loops[a]->extent)) return false;
    }
    return true;
  }

  const Function& fn_;
  const Nest& nest_;
  const Nest meaning_;
  const bool takes_strides_;
  const bool any_order_;  // of the dimensions of all operands
  std::map<std::string, Access> declared_;
};

}  // namespace

std::vector<IntrinsicOperands> ReadValue(const Expr& meaning, const Expr& value) {
  if (meaning.dtype() != value.dtype() || meaning.kind() != value.kind()) return {};
  if (const auto* load = meaning.as<Load>()) {
    const auto* actual = value.as<Load>();
    return {{{load->buffer->name, Access{actual->buffer, actual->indices}}}};
  }
  if (const auto* cast = meaning.as<Cast>()) return ReadValue(cast->value, value.as<Cast>()->value);
  if (const auto* call = meaning.as<Call>()) {
    const auto* actual = value.as<Call>();
    bool same = call->op == actual->op;
    return same ? Readings(call->args, actual->args) : std::vector<Operands>();
  }
  if (const auto* sum = meaning.as<Add>()) return ReadingsOfPair(*sum, *value.as<Add>());
  if (const auto* product = meaning.as<Mul>()) return ReadingsOfPair(*product, *value.as<Mul>());
  if (const auto* difference = meaning.as<Sub>()) {
    const auto* actual = value.as<Sub>();
    return Readings({difference->a, difference->b}, {actual->a, actual->b});
  }
  if (const auto* least = meaning.as<Min>()) {
    const auto* actual = value.as<Min>();
    return Readings({least->a, least->b}, {actual->a, actual->b});
  }
  if (const auto* most = meaning.as<Max>()) {
    const auto* actual = value.as<Max>();
    return Readings({most->a, most->b}, {actual->a, actual->b});
  }
  if (const auto* choice = meaning.as<Select>()) {
    const auto* actual = value.as<Select>();
    return Readings({choice->condition, choice->then_value, choice->else_value},
                    {actual->condition, actual->then_value, actual->else_value});
  }
  if (meaning.as<FloatImm>() && Equal(meaning, value)) return {{}};
  return {};
}

bool IsFragment(const Function& fn, const Access& access) {
  return FindBuffer(fn, access.buffer)->scope == Scope::kWarp;
}

StatusOr<LoopNest> LoopNestFrom(const char* step, const Stmt& stmt, const LoopRef& key) {
  LoopNest nest;
  Stmt at = stmt;
  while (const auto* loop = at.as<For>()) {
    TCC_RETURN_IF_ERROR(ExpectSerial(step, Ref<For>(loop)));
    nest.loops.push_back(Ref<For>(loop));
    at = loop->body;
  }
  const auto* block = at.as<Block>();
  if (!block) {
    return InvalidInput("{}: loop '{}' is not one chain of loops round one block", step, key);
  }
  nest.block = Ref<Block>(block);
  return nest;
}

LoopNest MeaningNest(const TensorIntrinsic& intrinsic) {
  return LoopNestFrom("", MeaningOf(intrinsic).body, "").value();
}

std::optional<IntrinsicReading> ReadNest(const Function& fn, const LoopNest& nest,
                                         const TensorIntrinsic& intrinsic) {
  return Reader(fn, nest, intrinsic).Find();
}

}  // namespace tcc
