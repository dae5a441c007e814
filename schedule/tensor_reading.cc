#include "schedule/tensor_reading.h"

#include <algorithm>

#include "ir/accesses.h"
#include "ir/affine.h"
#include "ir/simplify.h"
#include "ir/substitute.h"
#include "ir/visitor.h"
#include "schedule/guard.h"

namespace tcc {
namespace {

using Nest = LoopNest;
using Operands = IntrinsicOperands;
using Reading = IntrinsicReading;

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

// The loop of the nest, if any, that moves each dimension of an access; nullopt where an index
// moves with several, or not cell by cell.
struct MovingDim {
  size_t dim, loop;
};
std::optional<std::vector<MovingDim>> MovingDims(const Access& access, const Nest& nest) {
  std::vector<Var> vars;
  Substitution bindings;
  for (const Ref<For>& loop : nest.loops) vars.push_back(loop->var);
  for (const IterVar& iter : nest.block->iters) bindings.emplace(iter.var, iter.binding);
  std::vector<MovingDim> moving;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    std::optional<AffineForm> form = ToAffine(Substitute(access.indices[d], bindings), vars);
    if (!form || form->vars.size() > 1) return std::nullopt;
    if (form->vars.empty()) continue;
    if (!EqualUpToAlgebra(form->coefficients[0], Expr(1))) return std::nullopt;
    auto found = std::find(vars.begin(), vars.end(), form->vars[0]);
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

class Reader {
 public:
  Reader(const Function& fn, const Nest& nest, const Nest& meaning)
      : fn_(fn), nest_(nest), meaning_(meaning), declared_(AccessesOf(*meaning.block)) {}

  // One whose extents are the meaning's, if there is such.
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
  // A reduction by a combiner's name is compared elsewhere.
  std::vector<Operands> AllOperands() const {
    const auto* reduce = nest_.block->body.as<Reduce>();
    const auto* store = nest_.block->body.as<Store>();
    const auto* wanted_reduce = meaning_.block->body.as<Reduce>();
    const auto* wanted_store = meaning_.block->body.as<Store>();
    std::vector<Operands> result;
    if (reduce && wanted_reduce) {
      result = Readings(wanted_reduce->inputs[0], reduce->inputs[0]);
      for (Operands& operands : result) {
        operands.emplace(wanted_reduce->outputs[0].buffer->name, reduce->outputs[0]);
      }
    } else if (store && wanted_store) {
      result = Readings(wanted_store->value, store->value);
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
      std::optional<std::vector<MovingDim>> want = MovingDims(access, meaning_);
      std::optional<std::vector<MovingDim>> got = MovingDims(operands.at(name), nest_);
      if (!want || !got || want->size() != got->size()) return std::nullopt;
      // The order of a fragment's dimensions is nobody's business.
      bool in_order = !IsFragment(fn_, operands.at(name));
      for (size_t d = 0; d < want->size(); ++d) {
        auto found = std::find_if(got->begin(), got->end(), [&](const MovingDim& moving) {
          return moving.loop == axes[(*want)[d].loop];
        });
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
  const Nest& meaning_;
  std::map<std::string, Access> declared_;
};

}  // namespace

bool IsFragment(const Function& fn, const Access& access) {
  return FindBuffer(fn, access.buffer)->scope == Scope::kWarp;
}

StatusOr<LoopNest> LoopNestFrom(const Stmt& stmt, const LoopRef& key) {
  LoopNest nest;
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

LoopNest MeaningNest(const TensorIntrinsic& intrinsic) {
  return LoopNestFrom(MeaningOf(intrinsic).body, "").value();
}

std::optional<IntrinsicReading> ReadNest(const Function& fn, const LoopNest& nest,
                                         const LoopNest& meaning) {
  return Reader(fn, nest, meaning).Find();
}

}  // namespace tcc
