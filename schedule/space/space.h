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

// Returns the axis that a size is one level of: its name up to the last '.', "mm.i" of "mm.i.1".
std::string AxisOf(const FreeSize& size);

// Returns whether a value, at least 1, is a power of two or three times one.
bool IsAligned(int64_t value);

// The points of a symbolic program: values that the sizes' domains allow and that satisfy every
// constraint. Nothing here lowers or replays; constraints are evaluated as formulas. The same seed
// gives the same points.
class SearchSpace {
 public:
  // Makes the space of a program whose constraints include the target's limits (WithLimits). Error:
  // a constraint over anything but the free sizes of the trace.
  static StatusOr<SearchSpace> Create(const SymbolicProgram& program);

  const std::vector<FreeSize>& sizes() const { return sizes_; }
  const Constraints& constraints() const { return constraints_; }
  // These two return the values that a size may take, in rising order, and the one nearest to
  // `wanted`.
  const std::vector<int64_t>& values(size_t size) const { return values_[size]; }
  int64_t NearestValue(size_t size, int64_t wanted) const;

  Decisions ToDecisions(const Point& point) const;
  // Makes a point by names: sizes in `decisions` get the nearest allowed value; the others get that
  // of `defaults`, or else their least value. The point may break constraints.
  Point ToPoint(const Decisions& decisions, const Decisions& defaults = {}) const;

  bool IsLegal(const Point& point) const;
  std::vector<bool> AreLegal(std::span<const Point> points) const;
  // Returns whether all constraints hold at points of allowed values.
  std::vector<bool> HoldAt(std::span<const Point> points) const;

  // Moves sizes of broken constraints, one at a time, until all constraints hold. Returns nullopt
  // if that takes more than a bounded number of moves. A legal point stays as it is.
  std::optional<Point> Repair(const Point& point, Random& random) const;

  // Draws values of the domains, uniformly in their logarithm, and repairs them. Returns nullopt if
  // no legal point is found: then there is probably none.
  std::optional<Point> Sample(Random& random) const;
  // Returns up to `count` legal points; points may repeat.
  std::vector<Point> Sample(size_t count, Random& random) const;

  // Returns the legal points that differ in one size, which has the next smaller or larger allowed
  // value.
  std::vector<Point> Neighbours(const Point& point) const;

  // Takes each axis of each block (the part of a size's name before its level) from one of the
  // parents, and repairs the result. The parents may come from sibling sketches; sizes that neither
  // has are as in `defaults`.
  std::optional<Point> Crossover(const Decisions& a, const Decisions& b, Random& random,
                                 const Decisions& defaults = {}) const;

  // Turns a point of a sibling sketch into one of this space: sizes of the same name keep their
  // values where allowed, others are as in `defaults`; then the point is repaired.
  std::optional<Point> Adopt(const Decisions& decisions, Random& random,
                             const Decisions& defaults = {}) const;

 private:
  explicit SearchSpace(BatchEvaluator excess) : excess_(std::move(excess)) {}

  // A point as indices into values_.
  using Ranks = std::vector<uint32_t>;
  Point ToPoint(const Ranks& ranks) const;
  Ranks NearestRanks(const Point& point) const;
  // The constraints that a point breaks, and the sum of how badly it breaks them.
  struct Faults {
    double score = 0;
    std::vector<uint32_t> broken;
  };
  PointTable ExcessAt(std::span<const Ranks> candidates) const;
  Faults FaultsOf(const PointTable& excess, size_t p) const;
  bool AreAllowed(const Point& point) const;
  // Repairs points in place. Returns, for each, whether it is legal now.
  std::vector<bool> RepairRanks(std::span<Ranks> points, Random& random) const;
  void AddMoves(const Ranks& ranks, uint32_t constraint, int tried, Random& random,
                std::vector<Ranks>& moves) const;
  // Takes one of the moves, whose excess begins at column `first`.
  void TakeMove(std::span<const Ranks> moves, const PointTable& excess, size_t first,
                Random& random, Ranks& ranks, Faults& faults) const;
  Ranks Draw(Random& random) const;
  PointTable ExcessOf(std::span<const Point> points) const;

  std::vector<FreeSize> sizes_;
  std::vector<std::vector<int64_t>> values_;  // the allowed values of each size, rising
  Constraints constraints_;
  std::vector<std::vector<uint32_t>> sizes_of_;  // the sizes in each constraint
  BatchEvaluator excess_;                        // of every constraint
};

}  // namespace tcc
