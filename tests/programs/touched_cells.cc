#include "tests/programs/touched_cells.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/analysis/accesses.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// Runs statements and keeps what their blocks access.
class TouchedCells {
 public:
  explicit TouchedCells(int64_t most) : left_(most) {}

  void Run(const Stmt& stmt, Assignment& values) {
    if (left_ < 0) return;
    if (const auto* loop = stmt.as<For>()) {
      int64_t extent = EvaluateInt(loop->extent, values).value();
      for (int64_t i = 0; i < extent && left_ >= 0; ++i) {
        values[loop->var] = i;
        Run(loop->body, values);
      }
    } else if (const auto* block = stmt.as<Block>()) {
      RunBlock(*block, values);
    } else if (const auto* allocate = stmt.as<Allocate>()) {
      // Each window takes the place of the one before.
      std::vector<int64_t>& origin = origins_[allocate->buffer.var];
      origin.clear();
      for (const Expr& index : allocate->buffer.window.origin) {
        origin.push_back(EvaluateInt(index, values).value());
      }
      Run(allocate->body, values);
    } else {
      ForEachChild(stmt, [&](const Stmt& child) { Run(child, values); });
    }
  }

  bool finished() const { return left_ >= 0; }

  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const auto& [buffer, cells] : cells_) {
      bytes += (std::ssize(cells) * buffer.dtype().bits() + 7) / 8;
    }
    return bytes;
  }

 private:
  void RunBlock(const Block& block, Assignment values) {
    --left_;
    for (const LoopGuard& guard : block.guards) {
      if (EvaluateInt(guard.value, values) >= EvaluateInt(guard.extent, values)) return;
    }
    // Whatever a binding is beyond its domain does not exist.
    for (const IterVar& iter : block.iters) {
      int64_t value = EvaluateInt(iter.binding, values).value();
      if (value >= EvaluateInt(iter.domain, values).value()) return;
      values[iter.var] = value;
    }
    if (EvaluateInt(block.predicate, values) == 0) return;
    ForEachExpr(block.body, [&](const Expr& expr) { Load(expr, values); });
    Load(block.predicate, values);
    for (const Access& access : WritesOf(block)) Touch(access, values);
  }

  // Of a choice only the side that is taken.
  void Load(const Expr& expr, const Assignment& values) {
    const auto* choice = expr.as<Select>();
    std::optional<int64_t> taken = choice ? EvaluateInt(choice->condition, values) : std::nullopt;
    if (taken) return Load(*taken ? choice->then_value : choice->else_value, values);
    if (const auto* load = expr.as<tcc::Load>()) Touch({load->buffer, load->indices}, values);
    ForEachChild(expr, [&](const Expr& child) { Load(child, values); });
  }

  void Touch(const Access& access, const Assignment& values) {
    std::vector<int64_t> cell;
    for (const Expr& index : access.indices) {
      std::optional<int64_t> value = EvaluateInt(index, values);
      if (!value) return;
      cell.push_back(*value);
    }
    if (auto origin = origins_.find(access.buffer); origin != origins_.end()) {
      for (size_t d = 0; d < origin->second.size(); ++d) cell[d] -= origin->second[d];
    }
    cells_[access.buffer].insert(cell);
  }

  int64_t left_;
  std::unordered_map<Var, std::vector<int64_t>, VarHash> origins_;  // of windows inside the loop
  std::unordered_map<Var, std::set<std::vector<int64_t>>, VarHash> cells_;
};

}  // namespace

std::optional<int64_t> BytesTouchedInside(const Function& fn, const LoopRef& loop, int64_t most) {
  Path path = FindLoop(fn, loop).value();
  int64_t bytes = 0;
  for (bool last : {false, true}) {
    Assignment values;
    for (const Ref<For>& outer : LoopsOn(path)) {
      int64_t extent = EvaluateInt(outer->extent, values).value();
      values[outer->var] = last ? std::max<int64_t>(extent - 1, 0) : 0;
    }
    TouchedCells touched(most);
    touched.Run(LoopAt(path)->body, values);
    if (!touched.finished()) return std::nullopt;
    bytes = std::max(bytes, touched.Bytes());
  }
  return bytes;
}

}  // namespace tcc
