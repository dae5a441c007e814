#include "tests/programs/prefetch_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/analysis/accesses.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "schedule/steps/prefetch.h"

namespace tcc {
namespace {

using Cell = std::vector<int64_t>;
constexpr int64_t kMaxCells = 100'000;  // more take too long

std::vector<Path> HintsAt(const Function& fn, const std::string& buffer) {
  std::vector<Path> found;
  Path path;
  std::function<void(const Stmt&)> walk = [&](const Stmt& stmt) {
    path.push_back(stmt);
    const auto* hint = stmt.as<PrefetchLine>();
    if (hint && hint->cell.buffer->name == buffer) found.push_back(path);
    ForEachChild(stmt, walk);
    path.pop_back();
  };
  walk(fn.body);
  return found;
}

// The extent, which may depend on loops further out.
int64_t ExtentOf(const For& loop, const Assignment& outer) {
  return EvaluateInt(loop.extent, outer).value_or(0);
}

int64_t Volume(const std::vector<Ref<For>>& loops, const Assignment& outer) {
  int64_t product = 1;
  for (const Ref<For>& loop : loops) product *= ExtentOf(*loop, outer);
  return product;
}

// Puts the loops where they stand at iteration `number` of all they run through, the last one
// fastest.
void SetLoops(const std::vector<Ref<For>>& loops, int64_t number, Assignment& values) {
  for (size_t i = loops.size(); i-- > 0;) {
    const int64_t extent = ExtentOf(*loops[i], values);
    values[loops[i]->var] = number % extent;
    number /= extent;
  }
}

Cell CellOf(const std::vector<Expr>& indices, const Assignment& values) {
  Cell cell;
  for (const Expr& index : indices) cell.push_back(EvaluateInt(index, values).value());
  return cell;
}

// Whether all conditions round the last statement of the path hold.
bool Runs(const Path& path, const Assignment& values) {
  return std::ranges::all_of(path, [&](const Stmt& stmt) {
    const auto* test = stmt.as<If>();
    return !test || EvaluateInt(test->condition, values).value() != 0;
  });
}

// What the block reads of the buffer first, in terms of loops.
std::vector<Expr> ReadIndices(const Block& block, const std::string& buffer) {
  Substitution bindings;
  for (const IterVar& iter : block.iters) bindings.emplace(iter.var, iter.binding);
  for (const Access& read : ReadsOf(block)) {
    if (read.buffer->name != buffer) continue;
    std::vector<Expr> indices;
    for (const Expr& index : read.indices) indices.push_back(Substitute(index, bindings));
    return indices;
  }
  return {};
}

std::string CheckStep(const Function& fn, const Prefetch& step) {
  Path path = FindBlock(fn, step.block).value();
  std::vector<Expr> indices = ReadIndices(*BlockAt(path), step.buffer);
  std::vector<Ref<For>> readers = LoopsInside(path, step.over);
  std::erase_if(readers, [&](const Ref<For>& loop) {
    return std::ranges::none_of(indices,
                                [&](const Expr& index) { return UsesVar(index, loop->var); });
  });
  std::vector<Path> hints = HintsAt(fn, step.buffer);
  if (hints.size() != 1) return fmt::format("{} hints at '{}'", hints.size(), step.buffer);
  std::vector<Ref<For>> asking = LoopsInside(hints[0], step.over);
  Access hint = hints[0].back().as<PrefetchLine>()->cell;
  int64_t distance = AsConstant(Simplify(step.distance)).value();
  int64_t line = 512 / hint.buffer.dtype().bits();

  Assignment values;
  for (const Ref<For>& loop : LoopsOn(path)) values[loop->var] = 0;
  if (Volume(readers, values) > kMaxCells || Volume(asking, values) > kMaxCells) return "";
  Var over = LoopAt(FindLoop(fn, step.over).value())->var;
  for (int64_t t : {0, 1, 3}) {
    values[over] = t;
    std::map<Cell, int> asked;
    for (int64_t i = 0; i < Volume(asking, values); ++i) {
      SetLoops(asking, i, values);
      if (Runs(hints[0], values)) ++asked[CellOf(hint.indices, values)];
    }
    std::map<Cell, int> read;
    values[over] = t + distance;
    for (int64_t i = 0; i < Volume(readers, values); i += line) {
      SetLoops(readers, i, values);
      ++read[CellOf(indices, values)];
    }
    std::map<Cell, int> both = read;
    both.insert(asked.begin(), asked.end());
    for (const auto& [cell, unused] : both) {
      if (asked[cell] == read[cell]) continue;
      return fmt::format("iteration {} of '{}' asks {} times for {}[{}]; iteration {} reads {}", t,
                         step.over, asked[cell], step.buffer, fmt::join(cell, ", "), t + distance,
                         read[cell]);
    }
  }
  return "";
}

}  // namespace

std::string FirstLineNotPrefetched(const Function& fn, const Trace& trace,
                                   const Decisions& decisions,
                                   const std::function<Function(const Function&)>& plant) {
  Substitution values;
  for (const FreeSize& size : trace.sizes) {
    values.emplace(size.var, Expr(decisions.at(size.var->name)));
  }
  Function current = fn;
  current.level = Level::kScheduled;
  for (const Step& free : trace.steps) {
    Step step = Substitute(free, values);
    current = Apply(current, step);
    const auto* prefetch = step.as<Prefetch>();
    if (!prefetch) continue;
    std::string missed = CheckStep(plant ? plant(current) : current, *prefetch);
    if (!missed.empty()) return missed;
  }
  return "";
}

}  // namespace tcc
