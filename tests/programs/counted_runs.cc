#include "tests/programs/counted_runs.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/registers.h"

namespace tcc {
namespace {

class RunCounter {
 public:
  explicit RunCounter(int64_t most) : left_(most) {}

  void Run(const Stmt& stmt) {
    if (left_ < 0) return;
    if (const auto* block = stmt.as<Block>()) return RunBlock(*block);
    const auto* loop = stmt.as<For>();
    if (!loop) return ForEachChild(stmt, [&](const Stmt& child) { Run(child); });
    int64_t extent = EvaluateInt(loop->extent, values_).value();
    for (int64_t i = 0; i < extent && left_ >= 0; ++i) {
      values_[loop->var] = i;
      loops_.emplace_back(loop, i);
      Run(loop->body);
      loops_.pop_back();
    }
  }

  std::optional<std::map<std::string, CountedRuns>> Result() const {
    if (left_ < 0) return std::nullopt;
    std::map<std::string, CountedRuns> result = runs_;
    for (auto& [name, runs] : result) {
      if (auto bodies = bodies_.find(name); bodies != bodies_.end()) {
        runs.bodies = std::ssize(bodies->second);
        std::map<std::vector<int64_t>, int64_t> pieces;
        for (const Iteration& body : bodies->second) {
          auto end = body.begin() + static_cast<ptrdiff_t>(std::min(piece_.at(name), body.size()));
          runs.piece = std::max(runs.piece, ++pieces[{body.begin(), end}]);
        }
      }
    }
    return result;
  }

 private:
  using Iteration = std::vector<int64_t>;

  bool Exists(const Block& block) const {
    for (const LoopGuard& guard : block.guards) {
      if (EvaluateInt(guard.value, values_) >= EvaluateInt(guard.extent, values_)) return false;
    }
    return std::all_of(block.iters.begin(), block.iters.end(), [&](const IterVar& iter) {
      int64_t value = EvaluateInt(iter.binding, values_).value();
      return value >= 0 && value < EvaluateInt(iter.domain, values_).value();
    });
  }

  void RunBlock(const Block& block) {
    --left_;
    CountedRuns& runs = runs_[block.name];
    ++runs.issued;
    if (!Exists(block)) return;
    ++runs.useful;
    size_t spread = loops_.size();
    while (spread > 0 && IsSpread(loops_[spread - 1].first->for_kind)) --spread;
    Iteration body;
    size_t piece = 0;
    for (size_t l = 0; l < spread; ++l) {
      body.push_back(loops_[l].second);
      if (piece == 0 && loops_[l].first->for_kind == ForKind::kParallel) piece = l + 1;
    }
    bodies_[block.name].insert(std::move(body));
    piece_[block.name] = piece;
  }

  int64_t left_;
  Assignment values_;
  std::vector<std::pair<const For*, int64_t>> loops_;
  std::map<std::string, CountedRuns> runs_;
  std::map<std::string, std::set<Iteration>> bodies_;
  std::map<std::string, size_t> piece_;  // how many loops a piece's iteration fixes
};

}  // namespace

std::optional<std::map<std::string, CountedRuns>> CountRuns(const Function& fn, int64_t most) {
  RunCounter counter(most);
  counter.Run(fn.body);
  return counter.Result();
}

}  // namespace tcc
