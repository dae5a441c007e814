#include "tests/programs/counted_runs.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/expr/evaluate.h"
#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "schedule/analysis/registers.h"

namespace tcc {
namespace {

bool InstanceExists(const Block& block, const Assignment& values) {
  for (const LoopGuard& guard : block.guards) {
    if (EvaluateInt(guard.value, values) >= EvaluateInt(guard.extent, values)) return false;
  }
  return std::ranges::all_of(block.iters, [&](const IterVar& iter) {
    int64_t value = EvaluateInt(iter.binding, values).value();
    return value >= 0 && value < EvaluateInt(iter.domain, values).value();
  });
}

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
    for (const auto& [name, bodies] : bodies_) {
      CountedRuns& runs = result.at(name);
      runs.bodies = std::ssize(bodies);
      std::map<Iteration, int64_t> pieces;
      for (const Iteration& body : bodies) {
        runs.piece = std::max(runs.piece, ++pieces[FirstOf(body, piece_.at(name))]);
      }
      for (size_t outside = 0; outside <= bodies.begin()->size(); ++outside) {
        std::set<Iteration> starts;
        for (const Iteration& body : bodies) starts.insert(FirstOf(body, outside));
        runs.starts.push_back(std::ssize(starts));
      }
    }
    return result;
  }

 private:
  using Iteration = std::vector<int64_t>;

  static Iteration FirstOf(const Iteration& body, size_t loops) {
    return {body.begin(), body.begin() + static_cast<ptrdiff_t>(std::min(loops, body.size()))};
  }

  void RunBlock(const Block& block) {
    --left_;
    CountedRuns& runs = runs_[block.name];
    ++runs.issued;
    if (!InstanceExists(block, values_)) return;
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

// Where the cells of a buffer lie while one window of it lives.
class PlacedBuffer {
 public:
  PlacedBuffer(const Buffer& buffer, const Assignment& values) : dtype_(buffer.dtype()) {
    auto value = [&](const Expr& expr) { return EvaluateInt(expr, values).value(); };
    for (const Expr& index : buffer.window.origin) origin_.push_back(value(index));
    for (const Expr& stride : StoredStrides(buffer)) strides_.push_back(value(stride));
    for (const BlockFactor& block : buffer.layout.blocks) {
      blocks_.emplace_back(static_cast<size_t>(block.dim), value(block.factor));
    }
    if (buffer.layout.offset) offset_ = value(buffer.layout.offset);
    if (buffer.circular >= 0) {
      circular_ = {static_cast<size_t>(buffer.circular),
                   value(buffer.window.size[static_cast<size_t>(buffer.circular)])};
    }
  }

  // The element at logical indices.
  int64_t ElementAt(std::vector<int64_t> cell) const {
    for (size_t d = 0; d < origin_.size(); ++d) cell[d] -= origin_[d];
    if (circular_) {
      auto [dim, size] = *circular_;
      cell[dim] = (cell[dim] % size + size) % size;
    }
    for (auto [dim, factor] : blocks_) {
      cell.push_back(cell[dim] % factor);
      cell[dim] /= factor;
    }
    int64_t element = offset_;
    for (size_t d = 0; d < cell.size(); ++d) element += cell[d] * strides_[d];
    return element;
  }
  int64_t LineOf(int64_t element) const { return element * dtype_.bits() / 8 / 64; }

 private:
  DType dtype_;
  std::vector<int64_t> origin_;
  std::vector<int64_t> strides_;
  std::vector<std::pair<size_t, int64_t>> blocks_;
  std::optional<std::pair<size_t, int64_t>> circular_;
  int64_t offset_ = 0;
};

class CellCounter {
 public:
  CellCounter(const Function& fn, int64_t most) : left_(most) {
    for (const Buffer& buffer : fn.params) placed_.insert_or_assign(buffer.var, Place(buffer));
  }

  void Run(const Stmt& stmt) {
    if (!finished()) return;
    if (const auto* block = stmt.as<Block>()) return RunBlock(*block);
    if (const auto* allocate = stmt.as<Allocate>()) {
      placed_.insert_or_assign(allocate->buffer.var, Place(allocate->buffer));
    }
    const auto* loop = stmt.as<For>();
    if (!loop) return ForEachChild(stmt, [&](const Stmt& child) { Run(child); });
    int64_t extent = EvaluateInt(loop->extent, values_).value();
    for (int64_t i = 0; i < extent && finished(); ++i) {
      values_[loop->var] = i;
      Run(loop->body);
    }
  }

  bool finished() const { return left_ >= 0 && known_; }

  std::map<std::string, std::vector<CountedCells>> Result() const {
    std::map<std::string, std::vector<CountedCells>> result;
    for (const auto& [name, accesses] : touched_) {
      for (const Touched& touched : accesses) {
        result[name].push_back({std::ssize(touched.cells), std::ssize(touched.lines)});
      }
    }
    return result;
  }

 private:
  struct Touched {
    std::set<int64_t> cells;
    std::set<int64_t> lines;
  };

  PlacedBuffer Place(const Buffer& buffer) const { return PlacedBuffer(buffer, values_); }

  void RunBlock(const Block& block) {
    --left_;
    std::vector<Access> accesses = AccessesOf(block);
    std::vector<Touched>& touched = touched_[block.name];
    touched.resize(accesses.size());
    if (!InstanceExists(block, values_)) return;
    for (const IterVar& iter : block.iters) {
      values_[iter.var] = EvaluateInt(iter.binding, values_).value();
    }
    if (EvaluateInt(block.predicate, values_) == 0) return;
    for (size_t a = 0; a < accesses.size(); ++a) Touch(accesses[a], touched[a]);
  }

  void Touch(const Access& access, Touched& touched) {
    std::vector<int64_t> cell;
    for (const Expr& index : access.indices) {
      std::optional<int64_t> value = EvaluateInt(index, values_);
      known_ = known_ && value;
      cell.push_back(value.value_or(0));
    }
    const PlacedBuffer& placed = placed_.at(access.buffer);
    int64_t element = placed.ElementAt(std::move(cell));
    touched.cells.insert(element);
    touched.lines.insert(placed.LineOf(element));
  }

  int64_t left_;
  bool known_ = true;
  Assignment values_;
  std::unordered_map<Var, PlacedBuffer, VarHash> placed_;
  std::map<std::string, std::vector<Touched>> touched_;
};

}  // namespace

std::optional<std::map<std::string, CountedRuns>> CountRuns(const Function& fn, int64_t most) {
  RunCounter counter(most);
  counter.Run(fn.body);
  return counter.Result();
}

std::optional<std::map<std::string, std::vector<CountedCells>>> CountCells(const Function& fn,
                                                                           int64_t most) {
  CellCounter counter(fn, most);
  counter.Run(fn.body);
  if (!counter.finished()) return std::nullopt;
  return counter.Result();
}

}  // namespace tcc
