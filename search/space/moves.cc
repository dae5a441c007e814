#include "search/space/moves.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace tcc {
namespace {

constexpr int kTries = 8;  // for one move

// The place of `point` with one size changed to the allowed value nearest to `wanted`.
SearchPoint WithSize(const SearchSpace& space, SearchPoint point, size_t size, int64_t wanted) {
  point.point[size] = space.NearestValue(size, wanted);
  return point;
}

std::optional<size_t> DrawSize(const SearchPoint& from, Random& random) {
  if (from.point.empty()) return std::nullopt;
  return random.Below(from.point.size());
}

// A prime that the value can give away; of values with no small one, a half.
int64_t DrawFactor(int64_t value, Random& random) {
  std::vector<int64_t> factors;
  for (int64_t prime : {2, 3, 5, 7}) {
    if (value % prime == 0) factors.push_back(prime);
  }
  return factors.empty() ? 2 : factors[random.Below(factors.size())];
}

std::optional<SearchPoint> Exchange(TaskSpace& space, const SearchPoint& from, Random& random) {
  const SearchSpace& points = *space.Points(from.sketch);
  std::vector<std::pair<size_t, size_t>> levels;  // that give, and that take
  for (size_t a = 0; a < from.point.size(); ++a) {
    for (size_t b = 0; b < from.point.size(); ++b) {
      if (a == b || from.point[a] <= 1) continue;
      if (AxisOf(points.sizes()[a]) == AxisOf(points.sizes()[b])) levels.emplace_back(a, b);
    }
  }
  if (levels.empty()) return std::nullopt;
  auto [gives, takes] = levels[random.Below(levels.size())];
  int64_t factor = DrawFactor(from.point[gives], random);
  SearchPoint moved = WithSize(points, from, gives, from.point[gives] / factor);
  return WithSize(points, std::move(moved), takes, from.point[takes] * factor);
}

std::optional<SearchPoint> Scale(TaskSpace& space, const SearchPoint& from, Random& random) {
  std::optional<size_t> size = DrawSize(from, random);
  if (!size) return std::nullopt;
  int64_t value = from.point[*size];
  return WithSize(*space.Points(from.sketch), from, *size, random.OneIn(2) ? value * 2 : value / 2);
}

std::optional<SearchPoint> Step(TaskSpace& space, const SearchPoint& from, Random& random) {
  std::optional<size_t> size = DrawSize(from, random);
  if (!size) return std::nullopt;
  const std::vector<int64_t>& values = space.Points(from.sketch)->values(*size);
  auto place = std::ranges::lower_bound(values, from.point[*size]);
  bool up = random.OneIn(2);
  if (up ? std::next(place) == values.end() : place == values.begin()) return std::nullopt;
  SearchPoint moved = from;
  moved.point[*size] = up ? *std::next(place) : *std::prev(place);
  return moved;
}

std::optional<SearchPoint> Redraw(TaskSpace& space, const SearchPoint& from, Random& random) {
  std::optional<size_t> size = DrawSize(from, random);
  if (!size) return std::nullopt;
  const std::vector<int64_t>& values = space.Points(from.sketch)->values(*size);
  SearchPoint moved = from;
  moved.point[*size] = values[random.Below(values.size())];
  return moved;
}

// A live sketch other than the point's, of the same variant or of another one.
std::optional<size_t> DrawSketch(TaskSpace& space, size_t from, bool same_variant, Random& random) {
  std::vector<size_t> others;
  size_t variant = space.sketch(from).variant;
  for (size_t sketch : space.live()) {
    if (sketch == from || (space.sketch(sketch).variant == variant) != same_variant) continue;
    if (space.Points(sketch)) others.push_back(sketch);
  }
  if (others.empty()) return std::nullopt;
  return others[random.Below(others.size())];
}

std::optional<SearchPoint> ChangeSketch(TaskSpace& space, const SearchPoint& from, Random& random) {
  std::optional<size_t> sketch = DrawSketch(space, from.sketch, true, random);
  if (!sketch) return std::nullopt;
  Decisions decisions = space.Points(from.sketch)->ToDecisions(from.point);
  std::optional<Point> point =
      space.Points(*sketch)->Adopt(decisions, random, space.sketch(*sketch).start);
  if (!point) return std::nullopt;
  return SearchPoint{*sketch, *std::move(point)};
}

std::optional<SearchPoint> ChangeVariant(TaskSpace& space, const SearchPoint& from,
                                         Random& random) {
  std::optional<size_t> sketch = DrawSketch(space, from.sketch, false, random);
  if (!sketch) return std::nullopt;
  SearchPoint start = *space.Start(*sketch);
  return Scale(space, start, random).value_or(start);
}

struct MoveRow {
  double odds;
  std::optional<SearchPoint> (*move)(TaskSpace&, const SearchPoint&, Random&);
};

// clang-format off
constexpr MoveRow kMoves[] = {
    {0.40, Exchange},
    {0.25, Scale},
    {0.15, Step},
    {0.05, Redraw},
    {0.12, ChangeSketch},
    {0.03, ChangeVariant},
};
// clang-format on

// A point that differs from `from`, and may break constraints.
std::optional<SearchPoint> TryMove(TaskSpace& space, const SearchPoint& from, Random& random) {
  double draw = random.Unit();
  for (const MoveRow& row : kMoves) {
    draw -= row.odds;
    if (draw >= 0 && &row != std::prev(std::end(kMoves))) continue;
    std::optional<SearchPoint> moved = row.move(space, from, random);
    if (moved && *moved != from) return moved;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<SearchPoint> TryMoves(TaskSpace& space, const SearchPoint& from, Random& random) {
  for (int i = 0; i < kTries; ++i) {
    if (std::optional<SearchPoint> moved = TryMove(space, from, random)) return moved;
  }
  return std::nullopt;
}

// The point if it is legal, else one near it; nullopt where that leads back to `from`.
std::optional<SearchPoint> MadeLegal(TaskSpace& space, SearchPoint moved, const SearchPoint& from,
                                     Random& random) {
  std::optional<Point> legal = space.Points(moved.sketch)->Repair(moved.point, random);
  if (!legal) return std::nullopt;
  moved.point = *std::move(legal);
  if (moved == from) return std::nullopt;
  return moved;
}

}  // namespace

std::vector<std::optional<SearchPoint>> MutateMany(TaskSpace& space,
                                                   std::span<const SearchPoint> from,
                                                   Random& random) {
  std::vector<std::optional<SearchPoint>> moved;
  std::map<size_t, std::vector<size_t>> of_sketch;  // places in `moved`
  for (const SearchPoint& point : from) {
    moved.push_back(TryMoves(space, point, random));
    if (moved.back()) of_sketch[moved.back()->sketch].push_back(moved.size() - 1);
  }
  for (const auto& [sketch, places] : of_sketch) {
    std::vector<Point> points;
    for (size_t place : places) points.push_back(moved[place]->point);
    std::vector<bool> legal = space.Points(sketch)->AreLegal(points);
    for (size_t i = 0; i < places.size(); ++i) {
      std::optional<SearchPoint>& point = moved[places[i]];
      if (!legal[i]) point = MadeLegal(space, *std::move(point), from[places[i]], random);
    }
  }
  return moved;
}

std::optional<SearchPoint> Recombine(TaskSpace& space, const SearchPoint& a, const SearchPoint& b,
                                     Random& random) {
  const Sketch& sketch = space.sketch(a.sketch);
  if (sketch.variant != space.sketch(b.sketch).variant) return std::nullopt;
  std::optional<Point> child = space.Points(a.sketch)->Crossover(
      space.Points(a.sketch)->ToDecisions(a.point), space.Points(b.sketch)->ToDecisions(b.point),
      random, sketch.start);
  if (!child) return std::nullopt;
  return SearchPoint{a.sketch, *std::move(child)};
}

}  // namespace tcc
