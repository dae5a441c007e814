#include "schedule/analysis/footprint.h"

#include <functional>
#include <unordered_map>

#include "ir/analysis/accesses.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/analysis/region.h"
#include "schedule/analysis/registers.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

Expr CellsOf(const Box& box, const Buffer& buffer) {
  Expr cells(1);
  for (size_t d = 0; d < box.size.size(); ++d) cells = cells * MinOf(box.size[d], buffer.shape[d]);
  return cells;
}

bool SameOrigin(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.origin.size(); ++d) {
    if (!EqualUpToAlgebra(a.origin[d], b.origin[d])) return false;
  }
  return true;
}

// The boxes of one buffer. Boxes with equal origins, or with origins that differ by constants, are
// merged; all others are counted separately.
class Boxes {
 public:
  void Add(const Box& box) {
    for (Box& known : boxes_) {
      bool like = SameOrigin(known, box);
      StatusOr<Box> hull = like ? StatusOr<Box>(box) : Hull(known, box);
      if (!hull.ok()) continue;
      for (size_t d = 0; like && d < known.size.size(); ++d) {
        if (EqualUpToAlgebra(known.size[d], box.size[d])) continue;
        known.size[d] = MaxOf(known.size[d], box.size[d]);
      }
      if (!like) known = *hull;
      return;
    }
    boxes_.push_back(box);
  }
  void AddWhole() { whole_ = true; }

  Expr BytesOf(const Buffer& buffer) const {
    Expr cells = whole_ ? StoredElements(buffer) : Expr(0);
    for (const Box& box : boxes_) {
      if (!whole_) cells = cells + CellsOf(box, buffer);
    }
    if (IsPacked(buffer.dtype())) return CeilDivide(cells, Expr(PackedPerByte(buffer.dtype())));
    return cells * Expr(buffer.dtype().bytes());
  }

 private:
  std::vector<Box> boxes_;
  bool whole_ = false;
};

// A leaf block and the loops round it inside a statement, outermost first.
void ForEachLeaf(const Stmt& stmt, std::vector<Ref<For>>& loops,
                 const std::function<void(const Block&)>& f) {
  if (const auto* block = stmt.as<Block>()) return f(*block);
  const auto* loop = stmt.as<For>();
  if (loop) loops.emplace_back(loop);
  ForEachChild(stmt, [&](const Stmt& child) { ForEachLeaf(child, loops, f); });
  if (loop) loops.pop_back();
}

}  // namespace

Expr BytesTouchedBy(const Function& fn, const Stmt& stmt) {
  std::vector<Var> order;
  std::unordered_map<Var, Boxes, VarHash> touched;
  std::vector<Ref<For>> inside;
  ForEachLeaf(stmt, inside, [&](const Block& block) {
    for (const Access& access : AccessesOf(block)) {
      if (!touched.contains(access.buffer)) order.push_back(access.buffer);
      StatusOr<Box> box = RegionOf(block, access, inside);
      bool lives_inside = IsAllocatedIn(stmt, access.buffer);
      box.ok() && !lives_inside ? touched[access.buffer].Add(*box)
                                : touched[access.buffer].AddWhole();
    }
  });
  Expr bytes(0);
  for (const Var& var : order) bytes = bytes + touched[var].BytesOf(*FindBuffer(fn, var));
  return bytes;
}

StatusOr<Expr> FootprintInside(const Function& fn, const LoopRef& loop) {
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, loop));
  return BytesTouchedBy(fn, LoopAt(path)->body);
}

}  // namespace tcc
