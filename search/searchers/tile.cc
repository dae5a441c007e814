#include <absl/container/flat_hash_set.h>
#include <absl/numeric/int128.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "search/model/task_estimator.h"
#include "search/searchers/ranked_points.h"

namespace tcc {
namespace {

constexpr size_t kKept = 400;          // tiles of a sketch that are looked at after each batch
constexpr size_t kMaxListed = 40'000;  // rungs' combinations that are all looked at
constexpr size_t kMaxGrown = 600;      // tiles that grow in the others
// Tiles of a GPU that grow at a time: its formulas are long, and each batch decodes them anew.
constexpr size_t kGrownTogether = 8;
constexpr size_t kChunk = 4096;  // points that are evaluated at once

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
        rungs_(RungsOf(points_, start_)),
        together_(space.target().kind == TargetKind::kGpu ? kGrownTogether : 1) {}

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
  // Returns the expected ln seconds of each point, NaN if it is not legal or nothing is known, and
  // keeps all others.
  std::vector<double> Expect(const std::vector<Point>& points) {
    std::vector<double> ln_seconds(points.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<bool> legal = points_.HoldAt(points);
    std::vector<Point> kept;
    std::vector<size_t> places;
    for (size_t p = 0; p < points.size(); ++p) {
      if (!legal[p]) continue;
      kept.push_back(points[p]);
      places.push_back(p);
    }
    std::vector<Prediction> expected = estimator_.RankAtFirst(sketch_, kept);
    for (size_t k = 0; k < kept.size(); ++k) {
      if (std::isnan(expected[k].ln_seconds)) continue;
      ln_seconds[places[k]] = expected[k].ln_seconds;
      found_.push_back({expected[k].ln_seconds, std::move(kept[k])});
    }
    return ln_seconds;
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
      Expect(std::exchange(chunk, {}));
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

  // A tile that is still to grow.
  struct Tile {
    Point point;
    double seconds = 0;
    double bytes = 0;
    double saved = 0;  // seconds per byte, by being larger than the tile that it grew from
  };

  void Grow() {
    std::vector<Point> roots = {start_, Smallest()};
    for (const Point& root : roots) seen_.insert(KeyOf(root));
    Expect(roots);
    // Roots grow even where they are not legal: a larger tile may be.
    std::vector<double> ln_seconds;
    for (const Prediction& expected : estimator_.RankAtFirst(sketch_, roots)) {
      ln_seconds.push_back(expected.ln_seconds);
    }
    std::vector<Tile> stack = Sized(std::move(roots), ln_seconds);
    for (size_t grown = 0; grown < kMaxGrown && !stack.empty();) {
      size_t count = std::min(together_, stack.size());
      std::vector<Tile> grow(std::make_move_iterator(stack.end() - static_cast<long>(count)),
                             std::make_move_iterator(stack.end()));
      stack.resize(stack.size() - count);
      grown += count;
      for (Tile& next : LargerThan(grow)) stack.push_back(std::move(next));
    }
  }

  // Returns the legal tiles, none of them seen before, that are one size a rung larger than one of
  // these; the one last that saves most seconds per byte.
  std::vector<Tile> LargerThan(const std::vector<Tile>& tiles) {
    std::vector<Point> larger;
    std::vector<const Tile*> grown_from;
    for (size_t t = tiles.size(); t-- > 0;) {
      AddLarger(tiles[t].point, larger);
      grown_from.resize(larger.size(), &tiles[t]);
    }
    std::vector<double> expected = Expect(larger);
    size_t kept = 0;
    for (size_t p = 0; p < larger.size(); ++p) {
      if (std::isnan(expected[p])) continue;
      if (kept != p) larger[kept] = std::move(larger[p]);
      grown_from[kept] = grown_from[p];
      expected[kept++] = expected[p];
    }
    larger.resize(kept);
    std::vector<Tile> next = Sized(std::move(larger), expected);
    for (size_t i = 0; i < next.size(); ++i) {
      const Tile& from = *grown_from[i];
      next[i].saved = (from.seconds - next[i].seconds) / std::max(next[i].bytes - from.bytes, 1.0);
    }
    std::ranges::sort(next, [](const Tile& a, const Tile& b) {
      return std::tie(a.saved, a.point) < std::tie(b.saved, b.point);
    });
    return next;
  }

  // The number of a point of the ladder, by the places of its sizes among their rungs.
  using Key = absl::uint128;
  Key KeyOf(const Point& point) const {
    Key key = 0;
    for (size_t s = point.size(); s-- > 0;) {
      key = key * rungs_[s].size() +
            (std::ranges::lower_bound(rungs_[s], point[s]) - rungs_[s].begin());
    }
    return key;
  }

  // Adds the points with one size a rung larger that were not seen before.
  void AddLarger(const Point& point, std::vector<Point>& larger) {
    Key key = KeyOf(point), stride = 1;
    for (size_t s = 0; s < point.size(); ++s) {
      auto next = std::ranges::upper_bound(rungs_[s], point[s]);
      if (next != rungs_[s].end() && seen_.insert(key + stride).second) {
        larger.push_back(point);
        larger.back()[s] = *next;
      }
      stride *= rungs_[s].size();
    }
  }

  std::vector<Tile> Sized(std::vector<Point> points, const std::vector<double>& ln_seconds) {
    std::vector<double> bytes = estimator_.TileBytes(sketch_, points);
    std::vector<Tile> tiles;
    for (size_t p = 0; p < points.size(); ++p) {
      tiles.push_back({.point = std::move(points[p]),
                       .seconds = std::exp(ln_seconds[p]),
                       .bytes = bytes.empty() ? 0 : bytes[p]});
    }
    return tiles;
  }

  const SearchSpace& points_;
  TaskEstimator& estimator_;
  size_t sketch_;
  Point start_;
  Rungs rungs_;
  size_t together_;  // tiles that grow at a time
  absl::flat_hash_set<Key> seen_;
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
  auto last = found.begin() + static_cast<ptrdiff_t>(std::min(most, found.size()));
  std::ranges::partial_sort(found, last, [](const ExpectedPoint& a, const ExpectedPoint& b) {
    return std::tie(a.ln_seconds, a.point) < std::tie(b.ln_seconds, b.point);
  });
  found.erase(last, found.end());
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
