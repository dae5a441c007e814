#include "search/searchers/ranked_points.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "search/space/moves.h"

namespace tcc {
namespace {

constexpr uint64_t kDrawn = 20;    // one in so many picks is drawn from everywhere
constexpr size_t kAlikeShare = 4;  // at most one in so many is like another
constexpr size_t kMinAlike = 2;

// The sizes of the last level of each axis, which make the registers' tile.
std::vector<int64_t> InnermostSizes(const SearchSpace& space, const Point& point) {
  std::map<std::string, std::pair<std::string, int64_t>> last;  // by axis: name and value
  for (size_t s = 0; s < point.size(); ++s) {
    const std::string& name = space.sizes()[s].var->name;
    auto& [held, value] = last[AxisOf(space.sizes()[s])];
    if (held > name) continue;
    held = name;
    value = point[s];
  }
  std::vector<int64_t> values;
  for (const auto& [axis, size] : last) values.push_back(size.second);
  return values;
}

}  // namespace

void RankedPoints::Add(const SearchPoint& point, const Prediction& prediction) {
  if (std::isnan(prediction.ln_seconds) || context_.history.Knows(point)) return;
  points_.emplace(point, prediction);
}

std::vector<SearchPoint> RankedPoints::Pick(size_t count, double hope, Random& random) const {
  std::vector<std::pair<double, const SearchPoint*>> order;
  for (const auto& [point, prediction] : points_) {
    order.emplace_back(prediction.ln_seconds - hope * prediction.deviation, &point);
  }
  std::ranges::stable_sort(order, {}, [](const auto& ranked) { return ranked.first; });
  size_t most_alike = std::max(count / kAlikeShare, kMinAlike);
  std::map<std::pair<size_t, std::vector<int64_t>>, size_t> alike;
  std::vector<SearchPoint> picked;
  std::set<SearchPoint> chosen;
  auto take = [&](const SearchPoint& point) {
    if (chosen.insert(point).second) picked.push_back(point);
  };
  size_t next = 0;
  // The next point in the order that is not too much alike.
  auto best = [&]() -> const SearchPoint* {
    while (next < order.size()) {
      const SearchPoint& point = *order[next++].second;
      const SearchSpace& space = *context_.space.Points(point.sketch);
      if (alike[{point.sketch, InnermostSizes(space, point.point)}]++ < most_alike) return &point;
    }
    return nullptr;
  };
  for (size_t i = 0; i < count; ++i) {
    std::optional<SearchPoint> drawn;
    if (random.OneIn(kDrawn)) drawn = DrawFresh(context_, random);
    const SearchPoint* point = drawn ? nullptr : best();
    if (!drawn && !point) drawn = DrawFresh(context_, random);
    if (drawn) point = &*drawn;
    if (point) take(*point);
  }
  // Points that are too much alike are better than none.
  for (size_t i = 0; i < order.size() && picked.size() < count; ++i) take(*order[i].second);
  return picked;
}

std::vector<SearchPoint> SampleAll(const SearchContext& context, size_t count, Random& random) {
  std::vector<SearchPoint> sampled;
  std::vector<size_t> live = context.space.live();
  for (size_t sketch : live) {
    const SearchSpace* space = context.space.Points(sketch);
    if (!space) continue;
    for (Point& point : space->Sample(std::max<size_t>(count / live.size(), 1), random)) {
      sampled.push_back({sketch, std::move(point)});
    }
  }
  return sampled;
}

std::vector<SearchPoint> BestMeasured(const SearchContext& context, size_t most) {
  std::vector<const Trial*> trials;
  for (const Trial& trial : context.history.trials()) {
    if (trial.status != MeasureStatus::kOk || !context.space.IsLive(trial.point.sketch)) continue;
    trials.push_back(&trial);
  }
  std::ranges::stable_sort(trials, {}, &Trial::seconds);
  std::vector<SearchPoint> best;
  std::set<SearchPoint> seen;
  for (const Trial* trial : trials) {
    if (best.size() == most) break;
    if (seen.insert(trial->point).second) best.push_back(trial->point);
  }
  return best;
}

}  // namespace tcc
