#include "bench/estimator/lattice.h"

#include <algorithm>

#include "ir/analysis/canonical.h"
#include "ir/analysis/canonical_names.h"
#include "support/check.h"

namespace tcc {
namespace {

// A sketch's lattice is thinned out until its points, legal or not, are at most this multiple of
// the legal ones that it may have.
constexpr size_t kMaxDrawn = 64;
constexpr size_t kMinPoints = 60;  // of a sketch that is worth its place
constexpr size_t kChunk = 4096;    // points that are checked at once

using Values = std::vector<std::vector<int64_t>>;  // of each size, rising

Values AlignedValues(const Sketch& sketch) {
  Values aligned;
  for (const FreeSize& size : sketch.trace.sizes) {
    std::vector<int64_t> values = ValuesOf(size);
    int64_t start = sketch.start.at(size.var->name), last = values.back();
    std::erase_if(values, [&](int64_t value) {
      return !IsAligned(value) && value != start && value != last;
    });
    aligned.push_back(std::move(values));
  }
  return aligned;
}

size_t ProductOf(const Values& values, size_t most) {
  size_t product = 1;
  for (const std::vector<int64_t>& of_size : values) {
    product *= of_size.size();
    if (product > most) return most + 1;
  }
  return product;
}

// Drops every other value of the size with most, but for its start and its ends; of two or three
// values the one furthest from the start. False if every size has only its start left.
bool Thin(const Sketch& sketch, Values& values) {
  auto widest = std::ranges::max_element(values, {}, &std::vector<int64_t>::size);
  if (widest == values.end() || widest->size() < 2) return false;
  const FreeSize& size = sketch.trace.sizes[static_cast<size_t>(widest - values.begin())];
  int64_t start = sketch.start.at(size.var->name);
  if (widest->size() < 4) {
    bool start_is_last = widest->back() == start;
    widest->erase(start_is_last ? widest->begin() : std::prev(widest->end()));
    return true;
  }
  std::vector<int64_t> kept = {widest->front()};
  bool dropped = false;  // the value before
  for (size_t i = 1; i < widest->size(); ++i) {
    int64_t value = (*widest)[i];
    dropped = !dropped && value != start && value != widest->back();
    if (!dropped) kept.push_back(value);
  }
  *widest = std::move(kept);
  return true;
}

Sketch WithValues(Sketch sketch, const Values& values) {
  for (size_t s = 0; s < values.size(); ++s) {
    sketch.trace.sizes[s].domain = {.kind = DomainKind::kChoice, .numbers = values[s]};
  }
  sketch.program = nullptr;  // these are of the sizes before
  sketch.limited = nullptr;
  return sketch;
}

// Takes the next point in lexicographic order; false after the last.
bool Advance(const SearchSpace& space, std::vector<size_t>& places) {
  for (size_t s = places.size(); s-- > 0;) {
    if (++places[s] < space.values(s).size()) return true;
    places[s] = 0;
  }
  return false;
}

std::vector<Point> LegalPoints(const SearchSpace& space) {
  std::vector<Point> legal, chunk;
  std::vector<size_t> places(space.sizes().size(), 0);
  auto flush = [&] {
    std::vector<bool> are_legal = space.AreLegal(chunk);
    for (size_t p = 0; p < chunk.size(); ++p) {
      if (are_legal[p]) legal.push_back(std::move(chunk[p]));
    }
    chunk.clear();
  };
  do {
    Point& point = chunk.emplace_back();
    for (size_t s = 0; s < places.size(); ++s) point.push_back(space.values(s)[places[s]]);
    if (chunk.size() == kChunk) flush();
  } while (Advance(space, places));
  flush();
  return legal;
}

size_t CountLegal(const Workload& workload, const Target& target, const Sketch& sketch) {
  TaskSpace space(workload, target, std::vector<Sketch>{sketch});
  const SearchSpace* points = space.Points(0);
  return points ? LegalPoints(*points).size() : 0;
}

}  // namespace

Workload WorkloadOf(const BenchKernel& kernel) {
  Function fn = WithCanonicalNames(TensorFunction(kernel));
  fn.name = "kernel";
  Workload workload;
  workload.key = FunctionKey(fn);
  workload.name = kernel.name;
  workload.inputs = fn.params.size() - 1;
  workload.flops = NominalFlops(kernel);
  workload.variant_keys = {workload.key};
  workload.variants = {std::move(fn)};
  return workload;
}

std::vector<Sketch> LatticeOf(const Workload& workload, const Target& target, size_t most) {
  TaskSpace whole(workload, target);
  std::vector<Sketch> lattice;
  size_t left = most;
  for (size_t s = 0; s < whole.size() && left > 0; ++s) {
    if (!whole.Points(s)) continue;
    // Sketches that come first have the larger share.
    size_t share = std::max(left / 2, std::min(left, kMinPoints));
    Values values = AlignedValues(whole.sketch(s));
    bool fits = false;
    do {
      if (ProductOf(values, kMaxDrawn * share) > kMaxDrawn * share) continue;
      Sketch sketch = WithValues(whole.sketch(s), values);
      size_t points = CountLegal(workload, target, sketch);
      if (points > share) continue;
      fits = true;
      bool worth = lattice.empty() || points >= std::min(kMinPoints, share);
      if (!worth || points == 0) break;
      lattice.push_back(std::move(sketch));
      left -= points;
    } while (!fits && Thin(whole.sketch(s), values));
  }
  return lattice;
}

std::vector<SearchPoint> PointsOf(TaskSpace& lattice) {
  std::vector<SearchPoint> points;
  for (size_t s = 0; s < lattice.size(); ++s) {
    const SearchSpace* space = lattice.Points(s);
    if (!space) continue;
    for (Point& point : LegalPoints(*space)) points.push_back({s, std::move(point)});
  }
  return points;
}

}  // namespace tcc
