#include "schedule/steps/tensorize.h"

#include <algorithm>
#include <unordered_map>

#include "ir/analysis/affine.h"
#include "ir/expr/layout.h"
#include "ir/expr/substitute.h"
#include "ir/expr/visitor.h"
#include "ir/expr/warp_instruction.h"
#include "ir/simplify/interval.h"
#include "ir/simplify/simplify.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"
#include "schedule/analysis/placement.h"
#include "schedule/analysis/tensor_intrinsics.h"
#include "schedule/analysis/tensor_reading.h"

namespace tcc {
namespace {

// Returns the warp instruction that replaces the nest, or nullptr.
const WarpInstruction* InstructionOf(const Function& fn, const std::string& intrinsic,
                                     const IntrinsicReading& reading) {
  for (const auto& [name, access] : reading.operands) {
    if (IsFragment(fn, access)) return FindWarpInstruction(intrinsic);
  }
  return nullptr;
}

Layout LayoutOf(const Function& fn, const IntrinsicReading& reading,
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

class Matcher {
 public:
  Matcher(const Function& fn, const Tensorize& step, Path path, LoopNest nest,
          const TensorIntrinsic& intrinsic)
      : fn_(fn),
        step_(step),
        path_(std::move(path)),
        nest_(std::move(nest)),
        intrinsic_(intrinsic),
        meaning_(MeaningNest(intrinsic)) {}

  StatusOr<Constraints> Run() {
    TCC_RETURN_IF_ERROR(CheckBody());
    std::optional<IntrinsicReading> reading = ReadNest(fn_, nest_, intrinsic_);
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

  // Checks that fragments have the instruction's layout, and that all lanes take part.
  Status CheckWarp(const WarpInstruction& instruction, const IntrinsicReading& reading) const {
    for (const Stmt& stmt : path_) {
      const auto* loop = stmt.as<For>();
      if (loop && loop->for_kind == ForKind::kThreadIdxX) {
        return Refuse("it is inside loop '{}' over the lanes of a warp, which do it together",
                      loop->key);
      }
      if (loop && loop->for_kind == ForKind::kVthread) {
        return Refuse("it is inside loop '{}' of virtual threads, which share a warp's buffers",
                      loop->key);
      }
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
    switch (instruction.kind) {
      case WarpInstruction::Kind::kMma:
        return OkStatus();
      case WarpInstruction::Kind::kGroupMma:
        TCC_RETURN_IF_ERROR(ExpectShared(reading, "A"));
        return ExpectShared(reading, "B");
      case WarpInstruction::Kind::kLoadMatrices:
        return ExpectShared(reading, "From");
    }
    TCC_UNREACHABLE();
  }

  Status ExpectShared(const IntrinsicReading& reading, const std::string& operand) const {
    const Buffer& from = *FindBuffer(fn_, reading.operands.at(operand).buffer);
    if (from.scope == Scope::kShared) return OkStatus();
    return Refuse("buffer '{}' is {}; expected shared", from.var->name, ToString(from.scope));
  }

  // Requires excess <= 0: refuses, accepts or adds a constraint, as far as the bounds are known.
  Status Require(const Expr& excess, const char* why, const For& loop) {
    Interval bounds = BoundsOf(Simplify(excess), {});
    if (bounds.low > 0) {
      return Refuse("loop '{}' has {} iterations", loop.key, Print(Simplify(loop.extent)));
    }
    if (bounds.high > 0) constraints_.push_back({excess, why});
    return OkStatus();
  }

  // Collects the parts of `value` that do not depend on the tile's loops, as coefficients of
  // integers. Returns false if `value` uses a loop of the tile in any way but with coefficient 1.
  bool CollectMultiples(const Expr& value, const Expr& factor, std::vector<Expr>& multiples) const {
    std::vector<Var> vars = VarsOf(value);
    // A loop, or an iteration variable of a block around the nest, which stands for loops.
    auto moves = [](const Var& var) {
      return var->role == VarRole::kLoop || var->role == VarRole::kIter;
    };
    if (std::ranges::none_of(vars, moves)) {
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
      bool scales = std::ranges::none_of(left, moves);
      const Expr& scale = scales ? product->a : product->b;
      std::vector<Var> in_scale = VarsOf(scale);
      if (std::ranges::none_of(in_scale, moves)) {
        return CollectMultiples(scales ? product->b : product->a, factor * scale, multiples);
      }
    }
    bool inside = std::ranges::any_of(vars, [&](const Var& var) { return tile_.contains(var); });
    if (!inside) multiples.push_back(factor);
    return !inside || (value.as<VarNode>() && IsConstant(Simplify(factor), 1));
  }

  // Checks that value < end holds for all instances of a tile or for none: the rest of the value,
  // and the end, are multiples of the tile.
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
  LoopNest nest_;
  const TensorIntrinsic& intrinsic_;
  LoopNest meaning_;
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
  TCC_ASSIGN_OR_RETURN(LoopNest nest, LoopNestFrom("tensorize", path.back(), step.loop));
  return Matcher(fn, step, path, nest, *intrinsic).Run();
}

Function ApplyTensorize(const Function& fn, const Tensorize& step) {
  Ref<For> loop = LoopAt(FindLoop(fn, step.loop).value());
  LoopNest nest = LoopNestFrom("tensorize", Stmt(*loop), step.loop).value();
  IntrinsicReading reading =
      ReadNest(fn, nest, *FindTensorIntrinsic(step.intrinsic).value()).value();
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
