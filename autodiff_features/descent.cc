#include "autodiff_features/descent.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "autodiff_features/learned/adam.h"
#include "autodiff_features/rank_quality.h"

namespace tcc {
namespace {

double NormOf(const PointTable& table, size_t point) {
  double squares = 0;
  for (size_t c = 0; c < table.columns(); ++c) squares += table.at(c, point) * table.at(c, point);
  return std::sqrt(squares);
}

// The allowed values of each size and their logarithms.
struct SizeValues {
  explicit SizeValues(const SearchSpace& space) {
    for (const FreeSize& size : space.sizes()) values.push_back(ValuesOf(size));
  }
  double Low(size_t s) const { return std::log(static_cast<double>(values[s].front())); }
  double High(size_t s) const { return std::log(static_cast<double>(values[s].back())); }

  int64_t Nearest(size_t s, double ln_size) const {
    double size = std::exp(ln_size);
    auto above = std::ranges::lower_bound(
        values[s], size, [](int64_t value, double x) { return static_cast<double>(value) < x; });
    if (above == values[s].begin()) return *above;
    if (above == values[s].end()) return values[s].back();
    int64_t below = *std::prev(above);
    double to_below = ln_size - std::log(static_cast<double>(below));
    double to_above = std::log(static_cast<double>(*above)) - ln_size;
    return to_below <= to_above ? below : *above;
  }

  std::vector<std::vector<int64_t>> values;
};

// Points that were seen, ranked exactly.
class Ranking {
 public:
  Ranking(const SearchSpace& space, const PointPredictor& predict, Random& random)
      : space_(space), predict_(predict), random_(random) {}

  void Add(std::span<const Point> points) {
    std::vector<Point> fresh;
    for (const Point& point : points) {
      std::optional<Point> legal =
          space_.IsLegal(point) ? std::optional(point) : space_.Repair(point, random_);
      if (legal && seen_.insert(*legal).second) fresh.push_back(*std::move(legal));
    }
    std::vector<double> ln_seconds = predict_(fresh);
    evaluations += std::ssize(fresh);
    for (size_t p = 0; p < fresh.size(); ++p) {
      if (!std::isnan(ln_seconds[p])) ranked.push_back({ln_seconds[p], std::move(fresh[p])});
    }
  }

  void Sort() { std::ranges::sort(ranked, IsRankedBefore); }

  std::vector<RankedPoint> ranked;
  int64_t evaluations = 0;

 private:
  const SearchSpace& space_;
  const PointPredictor& predict_;
  Random& random_;
  std::set<Point> seen_;
};

std::vector<Point> Rounded(const SizeValues& sizes, const PointTable& ln_sizes) {
  std::vector<Point> points(ln_sizes.points());
  for (size_t p = 0; p < points.size(); ++p) {
    for (size_t s = 0; s < ln_sizes.columns(); ++s) {
      points[p].push_back(sizes.Nearest(s, ln_sizes.at(s, p)));
    }
  }
  return points;
}

// Moves each point a step down.
void StepDown(const SketchSlopes::Result& at, const SizeValues& sizes, double rate,
              std::vector<Adam>& adams, PointTable& ln_sizes) {
  size_t columns = ln_sizes.columns();
  std::vector<double> values(columns), gradient(columns);
  for (size_t p = 0; p < ln_sizes.points(); ++p) {
    double cost = NormOf(at.cost_slopes, p), penalty = NormOf(at.penalty_slopes, p);
    double weight = penalty > 0 ? 2 * cost / penalty : 0;
    for (size_t s = 0; s < columns; ++s) {
      values[s] = ln_sizes.at(s, p);
      double slope = at.cost_slopes.at(s, p) + weight * at.penalty_slopes.at(s, p);
      gradient[s] = std::isfinite(slope) ? slope : 0;
    }
    adams[p].Step(values, gradient, rate);
    for (size_t s = 0; s < columns; ++s) {
      ln_sizes.at(s, p) = std::clamp(values[s], sizes.Low(s), sizes.High(s));
    }
  }
}

double WidthAt(const DescentOptions& options, int step) {
  double progress = std::min(1.5 * step / std::max(options.steps, 1), 1.0);
  return options.first_width * std::pow(options.last_width / options.first_width, progress);
}

}  // namespace

bool IsRankedBefore(const RankedPoint& a, const RankedPoint& b) {
  double of_a = Comparable(a.ln_seconds), of_b = Comparable(b.ln_seconds);
  return std::tie(of_a, a.point) < std::tie(of_b, b.point);
}

std::vector<Point> PolishMoves(const SearchSpace& space, const Point& point) {
  SizeValues sizes(space);
  auto scaled = [&](size_t s, double factor) {
    return sizes.Nearest(s, std::log(static_cast<double>(point[s]) * factor));
  };
  std::vector<Point> moves = space.Neighbours(point);
  auto add = [&](const Point& move) {
    if (move != point && space.IsLegal(move)) moves.push_back(move);
  };
  for (size_t s = 0; s < point.size(); ++s) {
    for (double factor : {2.0, 0.5}) {
      Point move = point;
      move[s] = scaled(s, factor);
      add(move);
      for (size_t other = 0; other < point.size(); ++other) {
        if (other == s || AxisOf(space.sizes()[s]) != AxisOf(space.sizes()[other])) continue;
        Point pair = move;
        pair[other] = scaled(other, 1 / factor);
        if (pair[other] != point[other]) add(pair);
      }
    }
  }
  return moves;
}

RankedPoint Polish(const SearchSpace& space, RankedPoint point, const PointPredictor& predict,
                   size_t evaluations, int64_t& used) {
  size_t left = evaluations;
  while (left > 0) {
    std::vector<Point> moves = PolishMoves(space, point.point);
    if (moves.size() > left) moves.resize(left);
    left -= moves.size();
    used += std::ssize(moves);
    std::vector<double> ln_seconds = predict(moves);
    RankedPoint best = point;
    for (size_t m = 0; m < moves.size(); ++m) {
      if (ln_seconds[m] < Comparable(best.ln_seconds)) best = {ln_seconds[m], moves[m]};
    }
    if (!(best.ln_seconds < Comparable(point.ln_seconds))) return point;
    point = std::move(best);
  }
  return point;
}

DescentResult Descend(const SketchSlopes& slopes, const SearchSpace& space,
                      std::span<const Point> seeds, const PointPredictor& predict,
                      const DescentOptions& options, Random& random) {
  SizeValues sizes(space);
  Ranking ranking(space, predict, random);
  ranking.Add(seeds);
  PointTable ln_sizes(slopes.sizes(), seeds.size());
  for (size_t p = 0; p < seeds.size(); ++p) {
    for (size_t s = 0; s < slopes.sizes(); ++s) {
      ln_sizes.at(s, p) = std::log(static_cast<double>(seeds[p][s]));
    }
  }
  std::vector<Adam> adams(seeds.size(), Adam(slopes.sizes()));
  for (int step = 0; step < options.steps && slopes.sizes() > 0; ++step) {
    SketchSlopes::Result at =
        slopes.At(ln_sizes, WidthAt(options, step), options.model, static_cast<size_t>(step));
    double progress = static_cast<double>(step) / options.steps;
    StepDown(at, sizes, CosineRate(options.first_rate, options.last_rate, progress), adams,
             ln_sizes);
    bool last = step + 1 == options.steps;
    if (last || step % options.round_every == 0) ranking.Add(Rounded(sizes, ln_sizes));
  }
  ranking.Sort();
  std::vector<RankedPoint> polished;
  int64_t used = 0;
  for (size_t p = 0; p < std::min(options.polished, ranking.ranked.size()); ++p) {
    polished.push_back(Polish(space, ranking.ranked[p], predict, options.polish_evaluations, used));
  }
  DescentResult result;
  result.evaluations = ranking.evaluations + used;
  ranking.ranked.insert(ranking.ranked.end(), polished.begin(), polished.end());
  ranking.Sort();
  std::set<Point> taken;
  for (RankedPoint& ranked : ranking.ranked) {
    if (taken.insert(ranked.point).second) result.best.push_back(std::move(ranked));
  }
  return result;
}

}  // namespace tcc
