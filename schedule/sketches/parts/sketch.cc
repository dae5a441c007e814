#include "schedule/sketches/parts/sketch.h"

#include <algorithm>
#include <map>

#include "schedule/sketches/parts/cpu_thresholds.h"
#include "schedule/space/limits.h"
#include "schedule/space/overflow.h"
#include "schedule/space/space.h"
#include "support/check.h"

namespace tcc {
namespace {

int64_t Nearest(const std::vector<int64_t>& values, int64_t wanted) {
  return *std::ranges::min_element(
      values, [&](int64_t a, int64_t b) { return std::abs(a - wanted) < std::abs(b - wanted); });
}

// Returns a word that expressions can hold: "mm/(i*j).1" gives "mm.i_j.1".
std::string SizeName(const LoopRef& loop) {
  std::string name;
  for (char c : loop) {
    if (c == '/') c = '.';
    if (c == '*') c = '_';
    if (c != '(' && c != ')') name += c;
  }
  return name;
}

}  // namespace

StatusOr<SymbolicProgram> Instantiate(const Function& fn, const Sketch& sketch) {
  if (!sketch.program) return Instantiate(fn, sketch.trace);
  for (const Constraint& constraint : sketch.program->constraints) {
    TCC_RETURN_IF_ERROR(ExpectKnownToHold(constraint));
  }
  TCC_RETURN_IF_ERROR(ExpectNoOverflow(sketch.program->fn));
  return *sketch.program;
}

SketchState::SketchState(const Function& fn)
    : fn_(std::make_shared<Function>(fn)),
      places_(std::make_shared<std::unordered_map<std::string, size_t>>()) {
  fn_->level = Level::kScheduled;
}

Sketch SketchState::sketch() const {
  Sketch sketch{.name = name_, .trace = {}, .start = start()};
  sketch.trace.sizes.assign(sizes_.begin(), sizes_.end());
  sketch.trace.steps.assign(steps_.begin(), steps_.end());
  sketch.program = std::make_shared<const SymbolicProgram>(
      SymbolicProgram{*fn_, Constraints(constraints_.begin(), constraints_.end()), sketch.trace});
  return sketch;
}

Decisions SketchState::start() const {
  Decisions decisions;
  for (const auto& [name, value] : start_) decisions[name] = value;
  return decisions;
}

Function& SketchState::Own() {
  if (fn_.use_count() > 1) fn_ = std::make_shared<Function>(*fn_);
  return *fn_;
}

void SketchState::Take(const Step& step, const Constraints& constraints) {
  Function& fn = Own();
  fn = Apply(std::move(fn), step);
  steps_.Add(step);
  for (const Constraint& constraint : constraints) constraints_.Add(constraint);
}

bool SketchState::Try(const Step& step) {
  StatusOr<Constraints> constraints = Check(*fn_, step);
  if (!constraints.ok()) return false;
  Take(step, *constraints);
  return true;
}

void SketchState::Do(const Step& step) {
  StatusOr<Constraints> constraints = Check(*fn_, step);
  TCC_CHECK(constraints.ok()) << Print(step) << " of a sketch: " << Message(constraints.status());
  Take(step, *constraints);
}

Expr SketchState::Size(const LoopRef& loop, int64_t high, Domain domain, int64_t start) {
  FreeSize size{TileVar(SizeName(loop), 1, std::max<int64_t>(high, 1)), std::move(domain)};
  std::vector<int64_t> values = ValuesOf(size);
  TCC_CHECK(!values.empty()) << Print(size) << " allows no value";
  if (values.size() == 1) return values[0];
  start_.Add({size.var->name, Nearest(values, start)});
  Own().vars.push_back(size.var);
  sizes_.Add(size);
  return size.var;
}

const Block* SketchState::Next() const {
  for (const Ref<Block>& block : BlocksOf(fn_->body)) {
    if (!IsDone(block->name)) return block.get();
  }
  return nullptr;
}

bool SketchState::IsDone(const std::string& block) const {
  auto found = places_->find(block);
  return found != places_->end() && found->second < done_.size() &&
         done_.begin()[found->second] == block;
}

void SketchState::MarkDone(const std::string& block) {
  if (IsDone(block)) return;
  auto [place, fresh] = places_->emplace(block, done_.size());
  done_.Add(block);
  if (fresh || place->second + 1 == done_.size()) return;
  // Another state has the name at another index.
  places_ = std::make_shared<std::unordered_map<std::string, size_t>>();
  for (const std::string& name : done_) places_->emplace(name, places_->size());
}

void SketchState::AddRuleName(std::string_view rule) {
  if (!name_.empty()) name_ += ", ";
  name_ += rule;
}

namespace {

// Returns whether the block has instances. Without one there is nothing to schedule, and loops of
// extent 0 cannot be fused.
bool HasInstances(const Block& block) {
  return std::ranges::none_of(block.iters, [](const IterVar& iter) {
    return iter.kind == IterKind::kSpatial && IsConstant(iter.domain, 0);
  });
}

// Returns the states that the first rule that fits the next block makes of `state`.
std::vector<SketchState> Advance(const SketchState& state, const Block& block, const Target& target,
                                 std::span<const SketchRule> rules) {
  std::string name = block.name;
  std::vector<SketchState> next;
  for (const SketchRule& rule : rules) {
    if (!HasInstances(block)) break;
    next = rule.apply(state, block, target);
    for (SketchState& forked : next) forked.AddRuleName(rule.name);
    if (!next.empty()) break;
  }
  if (next.empty()) next.push_back(state);
  for (SketchState& forked : next) forked.MarkDone(name);
  return next;
}

// Drops sketches whose initial point cannot be moved within the target's limits, unless none would
// be left: a GPU refuses to run a kernel beyond its limits.
void DropUnfit(const Function& fn, const Target& target, std::vector<Sketch>& sketches) {
  std::vector<Sketch> fit;
  for (Sketch& sketch : sketches) {
    if (StartWithinLimits(fn, target, sketch)) fit.push_back(sketch);
  }
  if (!fit.empty()) sketches = std::move(fit);
}

}  // namespace

std::vector<Sketch> GenerateSketches(const Function& fn, const Target& target,
                                     std::span<const SketchRule> rules) {
  // The forks that a sketch has taken so far. Sketches are ordered by them, however many blocks a
  // rule schedules at once.
  using Choices = std::vector<size_t>;
  std::vector<std::pair<Choices, SketchState>> open = {{Choices(), SketchState(fn)}};
  std::map<Choices, Sketch> complete;
  while (!open.empty()) {
    auto [choices, state] = std::move(open.front());
    open.erase(open.begin());
    const Block* block = state.Next();
    if (block == nullptr) {
      complete.emplace(std::move(choices), state.sketch());
      continue;
    }
    std::vector<SketchState> forks = Advance(state, *block, target, rules);
    choices.push_back(0);
    // The first fork is always followed; the others only while there is room.
    for (size_t i = 0; i < forks.size(); ++i) {
      choices.back() = i;
      bool is_followed = i == 0 || open.size() + complete.size() < kMaxSketches;
      if (is_followed) open.emplace_back(choices, std::move(forks[i]));
    }
  }
  std::vector<Sketch> done;
  for (auto& [choices, sketch] : complete) done.push_back(std::move(sketch));
  if (target.kind == TargetKind::kGpu) DropUnfit(fn, target, done);
  return done;
}

Sketch FirstSketch(const Function& fn, const Target& target, std::span<const SketchRule> rules) {
  SketchState state(fn);
  while (const Block* block = state.Next()) {
    state = std::move(Advance(state, *block, target, rules).front());
  }
  Sketch first = state.sketch();
  // Sizes beyond the limits only make CPU code slow; a GPU refuses to run it.
  if (target.kind != TargetKind::kGpu || StartWithinLimits(fn, target, first)) return first;
  for (Sketch& sketch : GenerateSketches(fn, target, rules)) {
    if (StartWithinLimits(fn, target, sketch)) return std::move(sketch);
  }
  return first;
}

namespace {

SymbolicProgram Instantiated(const Function& fn, const Sketch& sketch) {
  StatusOr<SymbolicProgram> program = Instantiate(fn, sketch);
  TCC_CHECK(program.ok()) << sketch.name << ": " << Message(program.status());
  return *std::move(program);
}

}  // namespace

SymbolicProgram ProgramOf(const Function& fn, const Target& target, const Sketch& sketch) {
  return WithLimits(Instantiated(fn, sketch), target, sketch.start);
}

namespace {

StatusOr<std::shared_ptr<const LimitedProgram>> Limited(SymbolicProgram program) {
  TCC_ASSIGN_OR_RETURN(SearchSpace points, SearchSpace::Create(program));
  return std::make_shared<const LimitedProgram>(
      LimitedProgram{std::move(program), std::move(points)});
}

}  // namespace

StatusOr<std::shared_ptr<const LimitedProgram>> WithinLimits(const Function& fn,
                                                             const Target& target,
                                                             const Sketch& sketch) {
  if (sketch.limited) return sketch.limited;
  TCC_ASSIGN_OR_RETURN(SymbolicProgram program, Instantiate(fn, sketch));
  return Limited(WithLimits(std::move(program), target, sketch.start));
}

bool StartWithinLimits(const Function& fn, const Target& target, Sketch& sketch) {
  StatusOr<std::shared_ptr<const LimitedProgram>> limited =
      Limited(WithLimits(Instantiated(fn, sketch), target));
  if (!limited.ok()) return false;
  const SearchSpace& space = (*limited)->points;
  Random random(0);
  std::optional<Point> point = space.Repair(space.ToPoint(sketch.start), random);
  if (!point) return false;
  sketch.start = space.ToDecisions(*point);
  sketch.limited = *std::move(limited);
  return true;
}

Sketch FirstSketch(const Function& fn, const Target& target) {
  return FirstSketch(fn, target, SketchRules(target));
}

std::vector<Sketch> GenerateSketches(const Function& fn, const Target& target) {
  if (target.kind == TargetKind::kReference) return {};
  return GenerateSketches(fn, target, SketchRules(target));
}

std::span<const SketchRule> SketchRules(const Target& target) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return target.accelerator == Accelerator::kVdla ? VdlaSketchRules() : CpuSketchRules();
    case TargetKind::kGpu:
      return GpuSketchRules();
    case TargetKind::kReference:
      return {};
  }
  TCC_UNREACHABLE();
}

}  // namespace tcc
