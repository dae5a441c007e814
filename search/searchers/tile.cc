#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "search/model/task_estimator.h"
#include "search/searchers/ranked_points.h"

namespace tcc {
namespace {

constexpr size_t kKept = 400;          // tiles of a sketch that are looked at after each batch
constexpr size_t kMaxListed = 40'000;  // rungs' combinations that are all looked at
constexpr size_t kMaxGrown = 600;      // tiles that grow in the others
constexpr size_t kChunk = 4096;        // points that are evaluated at once

// An aligned point of a sketch and the prediction of the estimator's first model.
struct ExpectedPoint {
  double ln_seconds = 0;
  Point point;
};

using Rungs = std::vector<std::vector<int64_t>>;  // of each size, rising

Rungs RungsOf(const SearchSpace& space, const Point& start) {
  Rungs rungs(start.size());
  for (size_t s = 0; s < start.size(); ++s) {
    const std::vector<int64_t>& values = space.values(s);
    for (int64_t value : values) {
      bool divides = values.back() % value == 0;
      if (IsAligned(value) || divides || value == start[s]) rungs[s].push_back(value);
    }
  }
  return rungs;
}

// Legal points with what is expected of them.
class Ladder {
 public:
  Ladder(TaskSpace& space, TaskEstimator& estimator, size_t sketch)
      : points_(*space.Points(sketch)),
        estimator_(estimator),
        sketch_(sketch),
        start_(space.Start(sketch)->point),
        rungs_(RungsOf(points_, start_)) {}

  std::vector<ExpectedPoint> Climb() {
    size_t combinations = 1;
    for (const std::vector<int64_t>& rungs : rungs_) {
      combinations = std::min(combinations * rungs.size(), kMaxListed + 1);
    }
    if (combinations <= kMaxListed) {
      List();
    } else {
      Grow();
    }
    return std::move(found_);
  }

 private:
  // Returns the expected ln seconds of each point; NaN for those that are not legal.
  std::vector<double> Expect(const std::vector<Point>& points) {
    std::vector<bool> legal = points_.AreLegal(points);
    std::vector<Prediction> expected = estimator_.RankAtFirst(sketch_, points);
    std::vector<double> ln_seconds(points.size(), std::nan(""));
    for (size_t p = 0; p < points.size(); ++p) {
      if (legal[p]) ln_seconds[p] = expected[p].ln_seconds;
    }
    return ln_seconds;
  }

  void Keep(const std::vector<Point>& points, const std::vector<double>& ln_seconds) {
    for (size_t p = 0; p < points.size(); ++p) {
      if (!std::isnan(ln_seconds[p])) found_.push_back({ln_seconds[p], points[p]});
    }
  }

  void List() {
    std::vector<size_t> places(rungs_.size(), 0);
    std::vector<Point> chunk;
    bool more = true;
    while (more) {
      Point& point = chunk.emplace_back();
      for (size_t s = 0; s < places.size(); ++s) point.push_back(rungs_[s][places[s]]);
      more = false;
      for (size_t s = places.size(); s-- > 0 && !more;) {
        more = ++places[s] < rungs_[s].size();
        if (!more) places[s] = 0;
      }
      if (more && chunk.size() < kChunk) continue;
      Keep(chunk, Expect(chunk));
      chunk.clear();
    }
  }

  // The smallest tile with the vectors of the start.
  Point Smallest() const {
    Point point;
    for (size_t s = 0; s < rungs_.size(); ++s) {
      bool vectors = points_.sizes()[s].domain.kind == DomainKind::kChoice;
      point.push_back(vectors ? start_[s] : rungs_[s].front());
    }
    return point;
  }

  void Grow() {
    std::vector<Point> stack = {start_, Smallest()};
    std::set<Point> seen(stack.begin(), stack.end());
    Keep(stack, Expect(stack));
    for (size_t grown = 0; grown < kMaxGrown && !stack.empty(); ++grown) {
      Point point = std::move(stack.back());
      stack.pop_back();
      std::vector<Point> larger = LargerThan(point);
      std::erase_if(larger, [&](const Point& next) { return !seen.insert(next).second; });
      std::vector<double> ln_seconds = Expect(larger);
      Keep(larger, ln_seconds);
      for (Point& next : ByReuse(point, larger, ln_seconds)) stack.push_back(std::move(next));
    }
  }

  // The points with one size a rung larger.
  std::vector<Point> LargerThan(const Point& point) const {
    std::vector<Point> larger;
    for (size_t s = 0; s < point.size(); ++s) {
      auto next = std::ranges::upper_bound(rungs_[s], point[s]);
      if (next == rungs_[s].end()) continue;
      larger.push_back(point);
      larger.back()[s] = *next;
    }
    return larger;
  }

  // Legal ones of the larger tiles, the one last that saves most seconds per byte.
  std::vector<Point> ByReuse(const Point& point, const std::vector<Point>& larger,
                             const std::vector<double>& ln_seconds) {
    std::vector<Point> all = {point};
    all.insert(all.end(), larger.begin(), larger.end());
    std::vector<double> bytes = estimator_.TileBytes(sketch_, all);
    double seconds = std::exp(estimator_.RankAtFirst(sketch_, {&point, 1})[0].ln_seconds);
    std::vector<std::pair<double, Point>> scored;
    for (size_t p = 0; p < larger.size(); ++p) {
      if (std::isnan(ln_seconds[p])) continue;
      double more = bytes.empty() ? 1 : std::max(bytes[p + 1] - bytes[0], 1.0);
      scored.emplace_back((seconds - std::exp(ln_seconds[p])) / more, larger[p]);
    }
    std::ranges::sort(scored);
    std::vector<Point> sorted;
    for (auto& [score, next] : scored) sorted.push_back(std::move(next));
    return sorted;
  }

  const SearchSpace& points_;
  TaskEstimator& estimator_;
  size_t sketch_;
  Point start_;
  Rungs rungs_;
  std::vector<ExpectedPoint> found_;
};

// Returns up to `most` legal points whose sizes are rungs: powers of two, three times such,
// divisors of the largest value, the start; the fastest first. Ranks all points if they are few.
// Else tiles grow from the smallest one with whole vectors, one rung at a time: first the size that
// saves the most time per additional byte of tiles. A branch ends at a broken constraint, and all
// tiles that were passed are ranked, not only the first sufficient one (Roller: Zhu et al. 2022,
// corrected). Empty if the estimator knows nothing about the sketch.
std::vector<ExpectedPoint> ClimbLadder(TaskSpace& space, TaskEstimator& estimator, size_t sketch,
                                       size_t most) {
  if (!space.Points(sketch) || !estimator.Formulas(sketch)) return {};
  std::vector<ExpectedPoint> found = Ladder(space, estimator, sketch).Climb();
  std::ranges::sort(found, [](const ExpectedPoint& a, const ExpectedPoint& b) {
    return std::tie(a.ln_seconds, a.point) < std::tie(b.ln_seconds, b.point);
  });
  if (found.size() > most) found.resize(most);
  return found;
}

// Constructs tiles from what the machine is made of, without a measurement (Roller: Zhu et al.
// 2022), and proposes those that are expected to be fastest once measured neighbours have had their
// say. Split reductions are sketches like others.
class TileSearcher final : public Searcher {
 public:
  explicit TileSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    RankedPoints ranked(context_);
    for (size_t sketch : context_.space.live()) {
      const std::vector<Point>& tiles = TilesOf(sketch);
      std::vector<Prediction> expected = context_.ranker.Rank(sketch, tiles);
      for (size_t t = 0; t < tiles.size(); ++t) ranked.Add({sketch, tiles[t]}, expected[t]);
    }
    return ranked.Pick(count, 0, random);
  }

 private:
  // They depend on the sketch and the estimator's first model alone.
  const std::vector<Point>& TilesOf(size_t sketch) {
    auto [place, is_new] = tiles_.try_emplace(sketch);
    if (!is_new || !context_.estimator) return place->second;
    for (ExpectedPoint& tile : ClimbLadder(context_.space, *context_.estimator, sketch, kKept)) {
      place->second.push_back(std::move(tile.point));
    }
    return place->second;
  }

  SearchContext context_;
  std::map<size_t, std::vector<Point>> tiles_;
};

}  // namespace

std::unique_ptr<Searcher> MakeTileSearcher(const SearchContext& context) {
  return std::make_unique<TileSearcher>(context);
}

}  // namespace tcc
