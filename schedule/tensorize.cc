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
#include "ir/warp_instruction.h"
#include "schedule/guard.h"
#include "schedule/placement.h"
#include "schedule/tensor_intrinsics.h"
#include "schedule/transform_layout.h"

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

// How a nest means the intrinsic.
struct Reading {
  Operands operands;
  std::vector<size_t> axes;  // the loop of the nest for each of the meaning
  // The dimension of each operand that is dimension d of the parameter.
  std::map<std::string, std::vector<size_t>> dims;
};

bool IsFragment(const Function& fn, const Access& access) {
  return FindBuffer(fn, access.buffer)->scope == Scope::kWarp;
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

// The instruction that a warp does together in place of the nest, or nullptr.
const WarpInstruction* InstructionOf(const Function& fn, const std::string& intrinsic,
                                     const Reading& reading) {
  for (const auto& [name, access] : reading.operands) {
    if (IsFragment(fn, access)) return FindWarpInstruction(intrinsic);
  }
  return nullptr;
}

Layout LayoutOf(const Function& fn, const Reading& reading,
                const WarpInstruction::Operand& operand) {
  std::string name(operand.name);
  const Buffer& buffer = *FindBuffer(fn, reading.operands.at(name).buffer);
  return FragmentLayout(buffer, reading.dims.at(name), operand.fragment);
}

bool SameLayout(const Layout& a, const Layout& b) {
  bool same = a.strides.size() == b.strides.size() && a.blocks.size() == b.blocks.size() &&
              !a.offset && !b.offset && a.swizzle.bits == 0 && b.swizzle.bits == 0;
  for (size_t i = 0; same && i < a.strides.size(); ++i) same = Equal(a.strides[i], b.strides[i]);
  for (size_t i = 0; same && i < a.blocks.size(); ++i) {
    same = a.blocks[i].dim == b.blocks[i].dim && Equal(a.blocks[i].factor, b.blocks[i].factor);
  }
  return same;
}

Nest MeaningNest(const TensorIntrinsic& intrinsic) {
  return NestFrom(MeaningOf(intrinsic).body, "").value();
}

class Matcher {
 public:
  Matcher(const Function& fn, const Tensorize& step, Path path, Nest nest, Nest meaning)
      : fn_(fn),
        step_(step),
        path_(std::move(path)),
        nest_(std::move(nest)),
        meaning_(std::move(meaning)) {}

  StatusOr<Constraints> Run() {
    TCC_RETURN_IF_ERROR(CheckBody());
    std::optional<Reading> reading = Reader(fn_, nest_, meaning_).Find();
    if (!reading) {
      return Refuse("block '{}' does not read or write as the intrinsic does", nest_.block->name);
    }
    std::vector<size_t>* axes = &reading->axes;
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
    if (const WarpInstruction* instruction = InstructionOf(fn_, step_.intrinsic, *reading)) {
      TCC_RETURN_IF_ERROR(CheckWarp(*instruction, *reading));
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

  Status CheckBody() const {
    const auto* reduce = nest_.block->body.as<Reduce>();
    const auto* wanted = meaning_.block->body.as<Reduce>();
    if (wanted && (!reduce || reduce->init != ReduceInit::kDecomposed)) {
      return Refuse("block '{}' is no decomposed reduction", nest_.block->name);
    }
    if (!wanted && !nest_.block->body.as<Store>()) {
      return Refuse("block '{}' is no copy", nest_.block->name);
    }
    if (!IsConstant(nest_.block->predicate, 1)) {
      return Refuse("block '{}' has a predicate", nest_.block->name);
    }
    if (nest_.loops.size() != meaning_.loops.size()) {
      return Refuse("the nest has {} loops; expected {}", nest_.loops.size(),
                    meaning_.loops.size());
    }
    if (wanted && !Equal(reduce->combiner, wanted->combiner)) {
      return Refuse("block '{}' reduces by {}; expected {}", nest_.block->name,
                    reduce->combiner->name, wanted->combiner->name);
    }
    return OkStatus();
  }

  // Fragments are laid out as the instruction has them, and all lanes take part.
  Status CheckWarp(const WarpInstruction& instruction, const Reading& reading) const {
    for (const Stmt& stmt : path_) {
      const auto* loop = stmt.as<For>();
      if (!loop || loop->for_kind != ForKind::kThreadIdxX) continue;
      return Refuse("it is inside loop '{}' over the lanes of a warp, which do it together",
                    loop->key);
    }
    for (size_t a = 0; a < meaning_.loops.size(); ++a) {
      const For& loop = *nest_.loops[reading.axes[a]];
      if (AsConstant(Simplify(loop.extent))) continue;
      return Refuse("loop '{}' has a free extent; expected {}", loop.key,
                    Print(meaning_.loops[a]->extent));
    }
    for (const WarpInstruction::Operand& operand : instruction.operands) {
      const Buffer& buffer =
          *FindBuffer(fn_, reading.operands.at(std::string(operand.name)).buffer);
      if (buffer.scope != Scope::kWarp) {
        return Refuse("buffer '{}' is {}; expected warp, as others are", buffer.var->name,
                      ToString(buffer.scope));
      }
      if (buffer.circular >= 0 || !(IsRowMajor(buffer.layout) ||
                                    SameLayout(buffer.layout, LayoutOf(fn_, reading, operand)))) {
        return Refuse("buffer '{}' has another layout", buffer.var->name);
      }
    }
    if (instruction.kind == WarpInstruction::Kind::kMma) return OkStatus();
    const Buffer& from = *FindBuffer(fn_, reading.operands.at("From").buffer);
    if (from.scope == Scope::kShared) return OkStatus();
    return Refuse("buffer '{}' is {}; expected shared", from.var->name, ToString(from.scope));
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

  // What the tile's loops do not move, as coefficients of whole numbers. False where a loop of the
  // tile is in it otherwise than by itself.
  bool CollectMultiples(const Expr& value, const Expr& factor, std::vector<Expr>& multiples) const {
    std::vector<Var> vars = VarsOf(value);
    auto moves = [](const Var& var) { return var->role == VarRole::kLoop; };
    if (std::none_of(vars.begin(), vars.end(), moves)) {
      multiples.push_back(factor * value);
      return true;
    }
    if (const auto* sum = value.as<Add>()) {
      return CollectMultiples(sum->a, factor, multiples) &&
             CollectMultiples(sum->b, factor, multiples);
    }
    if (const auto* difference = value.as<Sub>()) {
      return CollectMultiples(difference->a, factor, multiples) &&
             CollectMultiples(difference->b, factor, multiples);
    }
    if (const auto* product = value.as<Mul>()) {
      std::vector<Var> left = VarsOf(product->a);
      bool scales = std::none_of(left.begin(), left.end(), moves);
      const Expr& scale = scales ? product->a : product->b;
      std::vector<Var> in_scale = VarsOf(scale);
      if (std::none_of(in_scale.begin(), in_scale.end(), moves)) {
        return CollectMultiples(scales ? product->b : product->a, factor * scale, multiples);
      }
    }
    bool inside =
        std::any_of(vars.begin(), vars.end(), [&](const Var& var) { return tile_.contains(var); });
    if (!inside) multiples.push_back(factor);
    return !inside || (value.as<VarNode>() && IsConstant(Simplify(factor), 1));
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
    std::vector<Expr> multiples = {end};
    bool affine = CollectMultiples(value, Expr(1), multiples);
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

  const Function& fn_;
  const Tensorize& step_;
  Path path_;
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
  return Matcher(fn, step, path, nest, MeaningNest(*intrinsic)).Run();
}

Function ApplyTensorize(const Function& fn, const Tensorize& step) {
  Ref<For> loop = LoopAt(FindLoop(fn, step.loop).value());
  Nest nest = NestFrom(Stmt(*loop), step.loop).value();
  Reading reading =
      Reader(fn, nest, MeaningNest(*FindTensorIntrinsic(step.intrinsic).value())).Find().value();
  const WarpInstruction* instruction = InstructionOf(fn, step.intrinsic, reading);
  Stmt body(*loop);
  Function result = fn;
  if (instruction) {
    // Its axes in their order, by which a code generator knows them.
    body = Stmt(*nest.block);
    for (size_t a = reading.axes.size(); a-- > 0;) {
      const For& axis = *nest.loops[reading.axes[a]];
      body = MakeStmt<For>(axis.var, axis.extent, axis.for_kind, axis.key, body);
    }
  }
  result.body = Replace(fn.body, loop.get(), MakeStmt<IntrinsicCall>(step.intrinsic, body));
  if (!instruction) return result;
  for (const WarpInstruction::Operand& operand : instruction->operands) {
    Layout layout = LayoutOf(fn, reading, operand);
    result = WithBuffer(result, reading.operands.at(std::string(operand.name)).buffer,
                        [&](Buffer buffer) {
                          buffer.layout = layout;
                          return buffer;
                        });
  }
  return result;
}

}  // namespace tcc
