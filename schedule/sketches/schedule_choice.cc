#include "schedule/sketches/schedule_choice.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/expr/substitute.h"
#include "ir/simplify/simplify.h"
#include "schedule/space/limits.h"
#include "schedule/space/resources.h"
#include "schedule/space/space.h"

namespace tcc {
namespace {

// The predicted need of a program, at its points, for the resource that smaller sizes save:
// registers of a GPU, statements of code on a CPU.
class Need {
 public:
  Need(const SymbolicProgram& program, const Target& target) : fn_(program.fn) {
    for (const NestResources& nest : ResourcesOf(program.fn, target))
      nests_.push_back(target.kind == TargetKind::kGpu ? nest.registers : nest.statements);
  }

  // Returns the largest need of all nests.
  int64_t At(const Decisions& decisions) const {
    Substitution values = ToSubstitution(fn_, decisions);
    int64_t most = 0;
    for (const Expr& amount : nests_)
      most = std::max(most, AsConstant(Simplify(Substitute(amount, values))).value_or(0));
    return most;
  }

 private:
  const Function& fn_;
  std::vector<Expr> nests_;
};

// Returns the largest allowed value that is at most half of `value`.
std::optional<int64_t> HalfOf(const FreeSize& size, int64_t value) {
  std::optional<int64_t> half;
  for (int64_t allowed : ValuesOf(size)) {
    if (allowed <= value / 2) half = allowed;
  }
  return half;
}

// Returns the legal point with the least need among the points that halve one size.
std::optional<Point> Smaller(const SearchSpace& space, const Need& need, const Point& point) {
  std::optional<Point> best;
  int64_t least = need.At(space.ToDecisions(point));
  for (size_t i = 0; i < point.size(); ++i) {
    std::optional<int64_t> half = HalfOf(space.sizes()[i], point[i]);
    if (!half) continue;
    Point candidate = point;
    candidate[i] = *half;
    if (!space.IsLegal(candidate)) continue;
    int64_t amount = need.At(space.ToDecisions(candidate));
    if (amount >= least) continue;
    least = amount;
    best = candidate;
  }
  return best;
}

std::vector<Sketch> SmallerPoints(const Function& fn, const Target& target, const Sketch& sketch) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, sketch);
  if (!program.ok()) return {};
  StatusOr<SearchSpace> space = SearchSpace::Create(WithLimits(*program, target));
  if (!space.ok()) return {};
  Need need(*program, target);
  std::vector<Sketch> smaller;
  std::optional<Point> point = space->ToPoint(sketch.start);
  while (smaller.size() < kSmallerPoints) {
    point = Smaller(*space, need, *point);
    if (!point) break;
    smaller.push_back(sketch);
    smaller.back().start = space->ToDecisions(*point);
  }
  return smaller;
}

}  // namespace

std::vector<Sketch> OtherSchedules(const Function& fn, const Target& target,
                                   std::span<const SketchRule> rules) {
  if (target.kind == TargetKind::kReference) return {};
  std::vector<Sketch> sketches = GenerateSketches(fn, target, rules);
  std::vector<Sketch> others;
  if (target.kind == TargetKind::kCpu) {
    // A GPU's sketches already start within its limits.
    for (Sketch& sketch : sketches) StartWithinLimits(fn, target, sketch);
    others.push_back(sketches[0]);
  }
  std::vector<Sketch> smaller = SmallerPoints(fn, target, sketches[0]);
  others.insert(others.end(), smaller.begin(), smaller.end());
  others.insert(others.end(), sketches.begin() + 1, sketches.end());
  others.push_back(FirstSketch(fn, target, rules.last(1)));
  return others;
}

std::vector<Sketch> AllSketches(const KernelWork& work, const Target& target,
                                std::span<const SketchRule> rules) {
  std::vector<size_t> order(work.variants.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_partition(order, [&](size_t v) { return v == work.first_variant; });
  std::vector<Sketch> sketches;
  for (size_t variant : order) {
    for (Sketch& sketch : GenerateSketches(work.variants[variant], target, rules)) {
      sketch.variant = variant;
      sketches.push_back(std::move(sketch));
    }
  }
  return sketches;
}

}  // namespace tcc
