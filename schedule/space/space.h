#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/analysis/batch_evaluator.h"
#include "schedule/space/trace.h"
#include "support/random.h"

namespace tcc {

// A value for every free size of a program, in the order of its trace.
using Point = std::vector<int64_t>;

// The loop whose levels a size is one of: its name up to the last '.', "mm.i" of "mm.i.1".
std::string AxisOf(const FreeSize& size);

// Whether a value is a power of two or three times such; it is at least 1.
bool IsAligned(int64_t value);

// The points of a symbolic program: values that the sizes' domains allow and that satisfy every
// constraint. Nothing here lowers or replays; constraints are evaluated as formulas. The same seed
// gives the same points.
class SearchSpace {
 public:
  // Limits of a target are among the program's constraints (WithLimits). Error: a constraint over
  // something else than the free sizes of the trace.
  static StatusOr<SearchSpace> Create(const SymbolicProgram& program);

  const std::vector<FreeSize>& sizes() const { return sizes_; }
  const Constraints& constraints() const { return constraints_; }
  // The values that a size may take, rising, and the one of them that is nearest to another value.
  const std::vector<int64_t>& values(size_t size) const { return values_[size]; }
  int64_t NearestValue(size_t size, int64_t wanted) const;

  Decisions ToDecisions(const Point& point) const;
  // By names: sizes that `decisions` has get the nearest value that is allowed; others that of
  // `defaults`, or their least. The point may break constraints.
  Point ToPoint(const Decisions& decisions, const Decisions& defaults = {}) const;

  bool IsLegal(const Point& point) const;
  std::vector<bool> AreLegal(std::span<const Point> points) const;
  // The first constraint that the point does not satisfy, nullptr if there is none.
  const Constraint* FirstBroken(const Point& point) const;

  // Moves sizes of broken constraints, one at a time, until all hold; nullopt where that does not
  // succeed in a bounded number of moves. A legal point stays as it is.
  std::optional<Point> Repair(const Point& point, Random& random) const;

  // Values of the domains, small ones as likely as large ones, repaired. nullopt where no legal
  // point is found: then there is probably none.
  std::optional<Point> Sample(Random& random) const;
  // As many of `count` as are found; points may repeat.
  std::vector<Point> Sample(size_t count, Random& random) const;

  // Legal points whose sizes are powers of two, three times such, or the largest that is allowed:
  // at most `most`, in lexicographic order of the sizes. Subtrees that intervals prove illegal are
  // skipped; the search ends after a hundred times as many nodes.
  std::vector<Point> AlignedLattice(size_t most) const;

  // Legal points that differ in one size, which has the next smaller or larger allowed value.
  std::vector<Point> Neighbours(const Point& point) const;

  // Each axis of each block (the part of a size's name before its level) from one of the parents,
  // repaired. The parents may come from sibling sketches; what neither has is as in `defaults`.
  std::optional<Point> Crossover(const Decisions& a, const Decisions& b, Random& random,
                                 const Decisions& defaults = {}) const;

  // A point of a sibling sketch as one of this: sizes of the same name keep their values as far as
  // they are allowed, others are as in `defaults`; then repaired.
  std::optional<Point> Adopt(const Decisions& decisions, Random& random,
                             const Decisions& defaults = {}) const;

 private:
  explicit SearchSpace(BatchEvaluator excess) : excess_(std::move(excess)) {}

  // Places in values_, as points are handled inside.
  using Ranks = std::vector<uint32_t>;
  Point ToPoint(const Ranks& ranks) const;
  Ranks NearestRanks(const Point& point) const;
  // Which constraints a point breaks; score: how badly, all together.
  struct Faults {
    double score = 0;
    std::vector<uint32_t> broken;
  };
  PointTable ExcessAt(std::span<const Ranks> candidates) const;
  Faults FaultsOf(const PointTable& excess, size_t p) const;
  bool AreAllowed(const Point& point) const;
  // Moves points until they are legal; which of them are in the end.
  std::vector<bool> RepairRanks(std::span<Ranks> points, Random& random) const;
  void AddMoves(const Ranks& ranks, uint32_t constraint, int tried, Random& random,
                std::vector<Ranks>& moves) const;
  // To one of the moves, whose excess begins at column `first`.
  void TakeMove(std::span<const Ranks> moves, const PointTable& excess, size_t first,
                Random& random, Ranks& ranks, Faults& faults) const;
  Ranks Draw(Random& random) const;
  PointTable ExcessOf(std::span<const Point> points) const;

  std::vector<FreeSize> sizes_;
  std::vector<std::vector<int64_t>> values_;  // that each size may take, rising
  Constraints constraints_;
  std::vector<std::vector<uint32_t>> sizes_of_;  // that each constraint speaks of
  BatchEvaluator excess_;                        // of every constraint
};

}  // namespace tcc
