#include <unordered_map>

#include "ir/expr/compare.h"
#include "ir/expr/layout.h"
#include "ir/simplify/simplify.h"
#include "lower/passes/loop_bounds.h"
#include "lower/passes/passes.h"

namespace tcc {
namespace {

// XORs bits [base, base + bits) of `offset` with the bits `shift` above them. The chunk's number
// and the place in the chunk stand apart, so that a vector within a chunk keeps a plain index. So
// do the bits of the number that change: in rows of chunks they are the column and hold no constant
// of the row, so that accesses to several rows share them.
Expr Swizzled(const Expr& offset, const XorSwizzle& swizzle) {
  if (swizzle.bits == 0) return offset;
  Expr size(int64_t{1} << swizzle.base), group(int64_t{1} << swizzle.bits);
  Expr chunk = FloorDivide(offset, size);
  Expr high = FloorModulo(FloorDivide(chunk, Expr(int64_t{1} << swizzle.shift)), group);
  Expr changed = CallOf(ScalarOp::kBitXor, {FloorModulo(chunk, group), high});
  return (FloorDivide(chunk, group) * group + changed) * size + FloorModulo(offset, size);
}

class Flattener final : public BoundedMutator {
 public:
  Function Flatten(const Function& fn) {
    Function result = fn;
    for (Buffer& param : result.params) param = Declare(param);
    result.body = Mutate(fn.body);
    return result;
  }

 private:
  using BoundedMutator::Rewrite;

  Buffer Declare(const Buffer& buffer) {
    Buffer declared = buffer;
    // A window may begin where another buffer says.
    for (Expr& origin : declared.window.origin) origin = Mutate(origin);
    declared_.emplace(buffer.var, std::move(declared));
    Expr count = Simplify(StoredElements(buffer), bounds());
    return {buffer.var, {count}, buffer.scope, {}, buffer.versions, -1, FlatLayout(buffer)};
  }

  // Returns the place of a cell along a dimension. It is 0 where only one cell is stored, if the
  // buffer is local, since registers need constant indices, or the dimension has one index: padding
  // moves the index or the window's origin, which would hide that vectors are aligned. Elsewhere
  // the difference to the origin is often the shorter formula.
  static Expr PlaceAlong(const Buffer& buffer, size_t dim, const Expr& index) {
    const Window& window = buffer.window;
    bool windowed = !window.origin.empty();
    bool one_index = AsConstant(buffer.shape[dim]) == 1;
    bool one_cell = windowed ? AsConstant(Simplify(window.size[dim])) == 1 : one_index;
    if (one_cell && (one_index || buffer.scope == Scope::kLocal)) return Expr(0);
    return windowed ? index - window.origin[dim] : index;
  }

  Expr OffsetOf(const Var& var, const std::vector<Expr>& indices) {
    const Buffer& buffer = declared_.at(var);
    std::vector<Expr> stored = indices;
    for (size_t d = 0; d < stored.size(); ++d) {
      stored[d] = PlaceAlong(buffer, d, stored[d]);
      // Without a window every index has a cell of its own.
      if (buffer.circular == static_cast<int>(d) && !buffer.window.size.empty()) {
        stored[d] = FloorModulo(stored[d], buffer.window.size[d]);
      }
    }
    for (const BlockFactor& block : buffer.layout.blocks) {
      Expr whole = stored[block.dim];
      stored[block.dim] = FloorDivide(whole, block.factor);
      stored.push_back(FloorModulo(whole, block.factor));
    }
    std::vector<Expr> strides = StoredStrides(buffer);
    Expr offset = buffer.layout.offset ? buffer.layout.offset : Expr(0);
    for (size_t d = 0; d < stored.size(); ++d) offset = offset + stored[d] * strides[d];
    return Simplify(Swizzled(offset, buffer.layout.swizzle), bounds());
  }

  std::vector<Expr> FlatIndex(const Var& buffer, const std::vector<Expr>& indices) {
    std::vector<Expr> inner;
    for (const Expr& index : indices) inner.push_back(Mutate(index));
    return {OffsetOf(buffer, inner)};
  }
  Access FlatAccess(const Access& access) {
    return {access.buffer, FlatIndex(access.buffer, access.indices)};
  }

  Expr Rewrite(const Load& load) override {
    return Make<Load>(load.buffer, FlatIndex(load.buffer, load.indices));
  }

  Stmt Rewrite(const Store& store) override {
    return MakeStmt<Store>(store.buffer, FlatIndex(store.buffer, store.indices),
                           Mutate(store.value), store.mask);
  }

  Stmt Rewrite(const PrefetchLine& prefetch) override {
    return MakeStmt<PrefetchLine>(FlatAccess(prefetch.cell));
  }

  Stmt Rewrite(const AsyncCopy& copy) override {
    return MakeStmt<AsyncCopy>(FlatAccess(copy.destination), FlatAccess(copy.source), copy.count,
                               copy.keep ? Mutate(copy.keep) : Expr());
  }

  Stmt Rewrite(const Allocate& allocate) override {
    Buffer flat = Declare(allocate.buffer);
    return MakeStmt<Allocate>(flat, Mutate(allocate.body));
  }

  // Offsets are simplified with the ranges of the loops round them.
  Stmt RewriteLoop(const For& loop) override {
    ForgetRewritten();
    Stmt result = RewriteChildren(loop);
    ForgetRewritten();
    return result;
  }

  std::unordered_map<Var, Buffer, VarHash> declared_;
};

}  // namespace

Function FlattenBuffers(const Function& fn) {
  return Flattener().Flatten(fn);
}

}  // namespace tcc
