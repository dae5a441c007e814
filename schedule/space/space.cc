#include "schedule/space/space.h"

#include <algorithm>
#include <cmath>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// The candidates that are evaluated for one move of a repair, when one point or many points are
// repaired. Formulas are evaluated in batches: many candidates of a single point cost little more
// than one, while many points fill a batch anyway.
constexpr int kMovesOfOne = 16, kMovesOfMany = 4;
// The most moves of one repair, and the most draws for one sample.
constexpr int kMaxMoves = 200;
constexpr size_t kMaxDraws = 8;
// The number of points that are repaired together.
constexpr size_t kDrawnTogether = 64;

// Returns how badly a constraint is broken: on a logarithmic scale, so that bytes and threads count
// alike.
double Badness(double excess) {
  if (excess <= 0) return 0;
  return std::isnan(excess) ? 64 : 1 + std::log2(1 + excess);
}

uint32_t NearestRank(const std::vector<int64_t>& values, int64_t wanted) {
  auto above = std::ranges::lower_bound(values, wanted);
  if (above == values.end()) --above;
  if (above != values.begin() && wanted - *(above - 1) < *above - wanted) --above;
  return static_cast<uint32_t>(above - values.begin());
}

}  // namespace

std::string AxisOf(const FreeSize& size) {
  const std::string& name = size.var->name;
  return name.substr(0, name.rfind('.'));
}

bool IsAligned(int64_t value) {
  while (value % 2 == 0) value /= 2;
  return value == 1 || value == 3;
}

StatusOr<SearchSpace> SearchSpace::Create(const SymbolicProgram& program) {
  std::vector<Var> vars;
  std::vector<Expr> exprs;
  std::vector<std::vector<int64_t>> values;
  Bounds bounds;
  for (const FreeSize& size : program.trace.sizes) {
    vars.push_back(size.var);
    values.push_back(ValuesOf(size));
    if (values.back().empty()) return InvalidInput("no value is allowed for '{}'", Print(size));
    auto [least, most] = std::ranges::minmax_element(values.back());
    bounds[size.var] = {*least, *most};
  }
  for (const Constraint& constraint : program.constraints) exprs.push_back(constraint.expr);
  TCC_ASSIGN_OR_RETURN(BatchEvaluator excess, BatchEvaluator::Compile(exprs, vars, bounds));
  SearchSpace space(std::move(excess));
  space.sizes_ = program.trace.sizes;
  space.values_ = std::move(values);
  space.constraints_ = program.constraints;
  for (const Expr& expr : exprs) {
    std::vector<uint32_t>& sizes = space.sizes_of_.emplace_back();
    std::vector<Var> used = VarsOf(expr);
    for (uint32_t v = 0; v < vars.size(); ++v) {
      if (std::ranges::find(used, vars[v]) != used.end()) sizes.push_back(v);
    }
  }
  return space;
}

int64_t SearchSpace::NearestValue(size_t size, int64_t wanted) const {
  return values_[size][NearestRank(values_[size], wanted)];
}

Decisions SearchSpace::ToDecisions(const Point& point) const {
  Decisions decisions;
  for (size_t v = 0; v < sizes_.size(); ++v) decisions[sizes_[v].var->name] = point[v];
  return decisions;
}

Point SearchSpace::ToPoint(const Decisions& decisions, const Decisions& defaults) const {
  Point point;
  for (size_t v = 0; v < sizes_.size(); ++v) {
    int64_t wanted = values_[v][0];
    if (auto found = defaults.find(sizes_[v].var->name); found != defaults.end()) {
      wanted = found->second;
    }
    if (auto found = decisions.find(sizes_[v].var->name); found != decisions.end()) {
      wanted = found->second;
    }
    point.push_back(values_[v][NearestRank(values_[v], wanted)]);
  }
  return point;
}

Point SearchSpace::ToPoint(const Ranks& ranks) const {
  Point point(ranks.size());
  for (size_t v = 0; v < ranks.size(); ++v) point[v] = values_[v][ranks[v]];
  return point;
}

SearchSpace::Ranks SearchSpace::NearestRanks(const Point& point) const {
  Ranks ranks;
  for (size_t v = 0; v < sizes_.size(); ++v) ranks.push_back(NearestRank(values_[v], point[v]));
  return ranks;
}

PointTable SearchSpace::ExcessOf(std::span<const Point> points) const {
  PointTable table(sizes_.size(), points.size());
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t v = 0; v < sizes_.size(); ++v) {
      table.at(v, p) = static_cast<double>(points[p][v]);
    }
  }
  return excess_.Evaluate(table);
}

bool SearchSpace::AreAllowed(const Point& point) const {
  for (size_t v = 0; v < sizes_.size(); ++v) {
    if (!Allows(sizes_[v], point[v])) return false;
  }
  return true;
}

std::vector<bool> SearchSpace::AreLegal(std::span<const Point> points) const {
  std::vector<bool> legal = HoldAt(points);
  for (size_t p = 0; p < points.size(); ++p) legal[p] = legal[p] && AreAllowed(points[p]);
  return legal;
}

std::vector<bool> SearchSpace::HoldAt(std::span<const Point> points) const {
  PointTable excess = ExcessOf(points);
  std::vector<uint8_t> hold(points.size(), 1);
  for (size_t c = 0; c < constraints_.size(); ++c) {
    std::span<const double> column = excess.column(c);
    // Not `> 0`: NaN is not known to hold.
    for (size_t p = 0; p < points.size(); ++p) hold[p] &= column[p] <= 0 ? 1 : 0;
  }
  return {hold.begin(), hold.end()};
}

bool SearchSpace::IsLegal(const Point& point) const {
  return AreLegal({&point, 1})[0];
}

PointTable SearchSpace::ExcessAt(std::span<const Ranks> candidates) const {
  PointTable table(sizes_.size(), candidates.size());
  for (size_t v = 0; v < sizes_.size(); ++v) {
    for (size_t p = 0; p < candidates.size(); ++p) {
      table.at(v, p) = static_cast<double>(values_[v][candidates[p][v]]);
    }
  }
  return excess_.Evaluate(table);
}

// Returns the faults of point `p` of the table.
SearchSpace::Faults SearchSpace::FaultsOf(const PointTable& excess, size_t p) const {
  Faults faults;
  for (uint32_t c = 0; c < constraints_.size(); ++c) {
    double badness = Badness(excess.at(c, p));
    faults.score += badness;
    if (badness > 0) faults.broken.push_back(c);
  }
  return faults;
}

// Adds up to `tried` points that differ from `ranks` in one size that the constraint uses.
void SearchSpace::AddMoves(const Ranks& ranks, uint32_t constraint, int tried, Random& random,
                           std::vector<Ranks>& moves) const {
  const std::vector<uint32_t>& used = sizes_of_[constraint];
  for (int i = 0; i < tried; ++i) {
    uint32_t v = used[random.Below(used.size())];
    auto last = static_cast<uint32_t>(values_[v].size() - 1);
    uint32_t rank = ranks[v];
    switch (random.Below(6)) {
      case 0:
        rank = rank > 0 ? rank - 1 : 0;
        break;
      case 1:
        rank = std::min(rank + 1, last);
        break;
      case 2:
      case 3:
        rank = NearestRank(values_[v], values_[v][rank] / 2);
        break;
      case 4:
        rank = NearestRank(values_[v], values_[v][rank] * 2);
        break;
      default:
        rank = static_cast<uint32_t>(random.Below(uint64_t{last} + 1));
        break;
    }
    if (rank == ranks[v]) continue;
    moves.push_back(ranks);
    moves.back()[v] = rank;
  }
}

// Takes the first move that improves the score, not the best one, which would always be the
// smallest tile. If none does, takes a random move, so that the search leaves the local minimum.
void SearchSpace::TakeMove(std::span<const Ranks> moves, const PointTable& excess, size_t first,
                           Random& random, Ranks& ranks, Faults& faults) const {
  size_t taken = 0;
  Faults left;
  for (; taken < moves.size(); ++taken) {
    left = FaultsOf(excess, first + taken);
    if (left.score < faults.score) break;
  }
  if (taken == moves.size()) {
    taken = random.Below(moves.size());
    left = FaultsOf(excess, first + taken);
  }
  ranks = moves[taken];
  faults = std::move(left);
}

std::vector<bool> SearchSpace::RepairRanks(std::span<Ranks> points, Random& random) const {
  PointTable excess = ExcessAt(points);
  std::vector<Faults> faults;
  for (size_t p = 0; p < points.size(); ++p) faults.push_back(FaultsOf(excess, p));
  std::vector<bool> open(points.size(), true);
  const int tried = points.size() == 1 ? kMovesOfOne : kMovesOfMany;
  for (int i = 0; i < kMaxMoves; ++i) {
    std::vector<Ranks> moves;
    std::vector<size_t> first;  // index of each point's first move
    for (size_t p = 0; p < points.size(); ++p) {
      first.push_back(moves.size());
      open[p] = open[p] && faults[p].score > 0;
      if (!open[p]) continue;
      uint32_t constraint = faults[p].broken[random.Below(faults[p].broken.size())];
      open[p] = !sizes_of_[constraint].empty();
      if (open[p]) AddMoves(points[p], constraint, tried, random, moves);
    }
    if (std::ranges::none_of(open, std::identity())) break;
    first.push_back(moves.size());
    excess = ExcessAt(moves);
    for (size_t p = 0; p < points.size(); ++p) {
      if (first[p] == first[p + 1]) continue;
      std::span<const Ranks> own(&moves[first[p]], first[p + 1] - first[p]);
      TakeMove(own, excess, first[p], random, points[p], faults[p]);
    }
  }
  std::vector<bool> legal;
  for (const Faults& left : faults) legal.push_back(left.score == 0);
  return legal;
}

std::optional<Point> SearchSpace::Repair(const Point& point, Random& random) const {
  Ranks ranks = NearestRanks(point);
  if (!RepairRanks({&ranks, 1}, random)[0]) return std::nullopt;
  return ToPoint(ranks);
}

// Draws values uniformly in their logarithm.
SearchSpace::Ranks SearchSpace::Draw(Random& random) const {
  Ranks ranks;
  for (const std::vector<int64_t>& values : values_) {
    double low = std::log(static_cast<double>(values.front()));
    double high = std::log(static_cast<double>(values.back()) + 1);
    auto wanted = static_cast<int64_t>(std::exp(low + (high - low) * random.Unit()));
    ranks.push_back(NearestRank(values, wanted));
  }
  return ranks;
}

std::optional<Point> SearchSpace::Sample(Random& random) const {
  for (size_t i = 0; i < kMaxDraws; ++i) {
    Ranks ranks = Draw(random);
    if (RepairRanks({&ranks, 1}, random)[0]) return ToPoint(ranks);
  }
  return std::nullopt;
}

std::vector<Point> SearchSpace::Sample(size_t count, Random& random) const {
  std::vector<Point> points;
  size_t draws = 0;
  while (points.size() < count && draws < kMaxDraws * count) {
    std::vector<Ranks> together(std::min(kDrawnTogether, count - points.size()));
    for (Ranks& ranks : together) ranks = Draw(random);
    std::vector<bool> legal = RepairRanks(together, random);
    for (size_t p = 0; p < together.size(); ++p) {
      if (legal[p]) points.push_back(ToPoint(together[p]));
    }
    draws += together.size();
    // If many draws have found no point, none will be found.
    if (points.empty() && draws >= kMaxDraws) break;
  }
  return points;
}

std::vector<Point> SearchSpace::Neighbours(const Point& point) const {
  Ranks ranks = NearestRanks(point);
  std::vector<Point> points;
  for (size_t v = 0; v < sizes_.size(); ++v) {
    for (int step : {-1, 1}) {
      Ranks moved = ranks;
      moved[v] += static_cast<uint32_t>(step);
      if (moved[v] < values_[v].size()) points.push_back(ToPoint(moved));
    }
  }
  std::vector<bool> legal = AreLegal(points);
  std::vector<Point> neighbours;
  for (size_t i = 0; i < points.size(); ++i) {
    if (legal[i]) neighbours.push_back(std::move(points[i]));
  }
  return neighbours;
}

std::optional<Point> SearchSpace::Crossover(const Decisions& a, const Decisions& b, Random& random,
                                            const Decisions& defaults) const {
  std::map<std::string, bool> from_a;
  Decisions child;
  for (const FreeSize& size : sizes_) {
    const std::string& name = size.var->name;
    std::string axis = AxisOf(size);
    if (!from_a.contains(axis)) from_a[axis] = random.OneIn(2);
    const Decisions& first = from_a[axis] ? a : b;
    const Decisions& second = from_a[axis] ? b : a;
    if (auto found = first.find(name); found != first.end()) {
      child[name] = found->second;
    } else if (auto other = second.find(name); other != second.end()) {
      child[name] = other->second;
    }
  }
  return Repair(ToPoint(child, defaults), random);
}

std::optional<Point> SearchSpace::Adopt(const Decisions& decisions, Random& random,
                                        const Decisions& defaults) const {
  return Repair(ToPoint(decisions, defaults), random);
}

}  // namespace tcc
