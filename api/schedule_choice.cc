#include "api/schedule_choice.h"

#include <algorithm>
#include <optional>

#include "ir/simplify.h"
#include "ir/substitute.h"
#include "schedule/limits.h"
#include "schedule/resources.h"
#include "schedule/space.h"

namespace tcc {
namespace {

// What a program is predicted to take, at points of it.
class RegisterCount {
 public:
  RegisterCount(const SymbolicProgram& program, const Target& target) : fn_(program.fn) {
    for (const NestResources& nest : ResourcesOf(program.fn, target))
      nests_.push_back(nest.registers);
  }

  // The most of all launches.
  int64_t At(const Decisions& decisions) const {
    Substitution values = ToSubstitution(fn_, decisions);
    int64_t most = 0;
    for (const Expr& registers : nests_)
      most = std::max(most, AsConstant(Simplify(Substitute(registers, values))).value_or(0));
    return most;
  }

 private:
  const Function& fn_;
  std::vector<Expr> nests_;
};

// The largest value that is allowed and at most half of `value`.
std::optional<int64_t> HalfOf(const FreeSize& size, int64_t value) {
  std::optional<int64_t> half;
  for (int64_t allowed : ValuesOf(size)) {
    if (allowed <= value / 2) half = allowed;
  }
  return half;
}

// The legal point with the fewest registers of those that halve one size.
std::optional<Point> Smaller(const SearchSpace& space, const RegisterCount& registers,
                             const Point& point) {
  std::optional<Point> best;
  int64_t fewest = registers.At(space.ToDecisions(point));
  for (size_t i = 0; i < point.size(); ++i) {
    std::optional<int64_t> half = HalfOf(space.sizes()[i], point[i]);
    if (!half) continue;
    Point candidate = point;
    candidate[i] = *half;
    if (!space.IsLegal(candidate)) continue;
    int64_t count = registers.At(space.ToDecisions(candidate));
    if (count >= fewest) continue;
    fewest = count;
    best = candidate;
  }
  return best;
}

std::vector<Sketch> SmallerPoints(const Function& fn, const Target& target, const Sketch& sketch) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, sketch.trace);
  if (!program.ok()) return {};
  StatusOr<SearchSpace> space = SearchSpace::Create(WithLimits(*program, target));
  if (!space.ok()) return {};
  RegisterCount registers(*program, target);
  std::vector<Sketch> smaller;
  std::optional<Point> point = space->ToPoint(sketch.start);
  while (smaller.size() < kSmallerPoints) {
    point = Smaller(*space, registers, *point);
    if (!point) break;
    smaller.push_back(sketch);
    smaller.back().start = space->ToDecisions(*point);
  }
  return smaller;
}

}  // namespace

std::vector<Sketch> OtherSchedules(const Function& fn, const Target& target,
                                   std::span<const SketchRule> rules) {
  if (target.kind != TargetKind::kCuda) return {};
  std::vector<Sketch> sketches = GenerateSketches(fn, target, rules);
  std::vector<Sketch> others = SmallerPoints(fn, target, sketches[0]);
  others.insert(others.end(), sketches.begin() + 1, sketches.end());
  others.push_back(FirstSketch(fn, target, rules.last(1)));
  return others;
}

}  // namespace tcc
