#include <algorithm>
#include <cmath>
#include <set>

#include "search/searchers/searcher.h"

namespace tcc {
namespace {

// In a cycle of so many proposals one is drawn from all points and two are jumps; the others move
// one size.
constexpr int64_t kCycle = 8;
constexpr int64_t kDrawn = 7, kJumps[] = {2, 5};
constexpr size_t kSketchesClimbed = 3;  // whose best points are moved
constexpr size_t kMaxSizesOfJump = 3;
constexpr int kJumpTries = 4;
constexpr double kUnknownEffect = 2;  // of a size that was never moved alone; others are below 1

// Moves one size of the best measured points at a time: to the next allowed values, to double and
// to half. Jumps move two or three at once, which leaves what is best of all one-size moves. Some
// points are drawn from everywhere, so that no sketch is given up for its start; few, since most of
// them take many times the best.
class CoordinateSearcher final : public Searcher {
 public:
  explicit CoordinateSearcher(const SearchContext& context) : context_(context) {}

  std::vector<SearchPoint> Propose(size_t count, Random& random) override {
    std::vector<SearchPoint> points;
    std::set<SearchPoint> chosen;
    std::vector<SearchPoint> moves = Moves(random);
    size_t next_move = 0;
    int64_t done = std::ssize(context_.history.trials());
    for (size_t i = 0; i < count; ++i, ++done) {
      std::optional<SearchPoint> point;
      int64_t turn = done % kCycle;
      if (std::ranges::find(kJumps, turn) != std::end(kJumps)) point = Jump(random);
      if (!point && turn != kDrawn && next_move < moves.size()) point = moves[next_move++];
      if (!point) point = DrawFresh(context_, random);
      if (!point && next_move < moves.size()) point = moves[next_move++];
      if (point && chosen.insert(*point).second) points.push_back(*std::move(point));
    }
    return points;
  }

 private:
  // Unknown legal points one move away from the best ones, those of the fastest sketch first; of
  // one point, the sizes first whose moves changed the time most so far.
  std::vector<SearchPoint> Moves(Random& random) {
    std::vector<SearchPoint> moves;
    std::vector<const Trial*> best = context_.history.BestBySketch();
    for (size_t i = 0; i < std::min(best.size(), kSketchesClimbed); ++i) {
      if (!context_.space.IsLive(best[i]->point.sketch)) continue;
      std::vector<SearchPoint> around = MovesFrom(best[i]->point, random);
      moves.insert(moves.end(), around.begin(), around.end());
    }
    return moves;
  }

  std::vector<SearchPoint> MovesFrom(const SearchPoint& from, Random& random) {
    const SearchSpace& space = *context_.space.Points(from.sketch);
    std::vector<Point> candidates = space.Neighbours(from.point);
    std::vector<Point> scaled = ScaledPoints(space, from.point);
    candidates.insert(candidates.end(), scaled.begin(), scaled.end());
    std::vector<double> effects = EffectsOfSizes(from);
    struct Ranked {
      double effect;
      uint64_t tie;
      Point point;
    };
    std::vector<Ranked> ranked;
    std::set<Point> seen;  // a neighbour may be the double, too
    for (Point& point : candidates) {
      if (context_.history.Knows({from.sketch, point}) || !seen.insert(point).second) continue;
      auto moved = std::ranges::mismatch(point, from.point).in1 - point.begin();
      ranked.push_back({effects[static_cast<size_t>(moved)], random.Next(), std::move(point)});
    }
    std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
      return a.effect != b.effect ? a.effect > b.effect : a.tie < b.tie;
    });
    std::vector<SearchPoint> moves;
    for (Ranked& row : ranked) moves.push_back({from.sketch, std::move(row.point)});
    return moves;
  }

  // A legal point two or three moves away from the best one of a sketch that is climbed.
  std::optional<SearchPoint> Jump(Random& random) {
    std::vector<const Trial*> best = context_.history.BestBySketch();
    std::erase_if(best,
                  [&](const Trial* trial) { return !context_.space.IsLive(trial->point.sketch); });
    if (best.empty()) return std::nullopt;
    const SearchPoint& from = best[random.Below(std::min(best.size(), kSketchesClimbed))]->point;
    const SearchSpace& space = *context_.space.Points(from.sketch);
    for (int attempt = 0; attempt < kJumpTries; ++attempt) {
      Point point = from.point;
      size_t moves = 2 + random.Below(kMaxSizesOfJump - 1);
      for (size_t move = 0; move < moves; ++move) {
        std::vector<Point> around = space.Neighbours(point);
        if (around.empty()) break;
        point = around[random.Below(around.size())];
      }
      if (!context_.history.Knows({from.sketch, point})) return SearchPoint{from.sketch, point};
    }
    return std::nullopt;
  }

  // Points with one size doubled or halved, to the nearest allowed value; legal ones alone.
  static std::vector<Point> ScaledPoints(const SearchSpace& space, const Point& from) {
    std::vector<Point> points;
    for (size_t size = 0; size < from.size(); ++size) {
      for (int64_t value : {from[size] * 2, from[size] / 2}) {
        Decisions decisions = space.ToDecisions(from);
        decisions[space.sizes()[size].var->name] = value;
        Point point = space.ToPoint(decisions);
        if (point != from) points.push_back(std::move(point));
      }
    }
    std::vector<bool> legal = space.AreLegal(points);
    std::vector<Point> kept;
    for (size_t i = 0; i < points.size(); ++i) {
      if (legal[i]) kept.push_back(std::move(points[i]));
    }
    return kept;
  }

  // By size: the largest relative change of time between two points of the sketch that differ in it
  // alone. Sizes that were never moved alone come before all others.
  std::vector<double> EffectsOfSizes(const SearchPoint& best) const {
    std::vector<double> effects(best.point.size(), -1);
    std::vector<const Trial*> seen;
    for (const Trial& trial : context_.history.trials()) {
      if (trial.status != MeasureStatus::kOk || trial.point.sketch != best.sketch) continue;
      for (const Trial* other : seen) {
        std::optional<size_t> size = OnlyDifference(other->point.point, trial.point.point);
        if (!size) continue;
        double larger = std::max(other->seconds, trial.seconds);
        double effect = std::abs(other->seconds - trial.seconds) / larger;
        effects[*size] = std::max(effects[*size], effect);
      }
      seen.push_back(&trial);
    }
    for (double& effect : effects) effect = effect < 0 ? kUnknownEffect : effect;
    return effects;
  }

  static std::optional<size_t> OnlyDifference(const Point& a, const Point& b) {
    std::optional<size_t> size;
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (size) return std::nullopt;
      size = i;
    }
    return size;
  }

  SearchContext context_;
};

}  // namespace

std::unique_ptr<Searcher> MakeCoordinateSearcher(const SearchContext& context) {
  return std::make_unique<CoordinateSearcher>(context);
}

}  // namespace tcc
