#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/analysis/loop_tree.h"
#include "schedule/sketches/parts/shared_log.h"
#include "schedule/space/trace.h"
#include "support/target.h"

namespace tcc {

// One way to run a task: a trace for one of its variants whose sizes are free, and a point to start
// from: a value for every size, chosen from extents and the target alone. A search point is a
// sketch and other values.
struct Sketch {
  std::string name;    // the rules that made it, "tile, map"
  size_t variant = 0;  // of the task
  Trace trace;
  Decisions start;
};

// A schedule being made: what the steps so far have made of the function.
class SketchState {
 public:
  explicit SketchState(const Function& fn);

  const Function& fn() const { return *fn_; }
  Sketch sketch() const;
  Decisions start() const;

  // Takes a step that is legal; the rule has seen to that.
  void Do(const Step& step);
  // Takes the step if it is legal.
  bool Try(const Step& step);

  // The extent of `loop`, left free in [1, high] and named after the loop, so that points move
  // between sketches: "mm.i.1" for "mm/i.1". `start` is moved to the nearest value that is allowed.
  // A range with a single value is that value and no variable.
  Expr Size(const LoopRef& loop, int64_t high, Domain domain, int64_t start);

  // The first block that no rule has dealt with, nullptr after the last. A rule marks what it deals
  // with beside the block that it is given: copies, consumers, initialisations.
  const Block* Next() const;
  void MarkDone(const std::string& block);
  bool IsDone(const std::string& block) const;
  void AddRuleName(std::string_view rule);

 private:
  // The function, no longer shared with other states.
  Function& Own();
  void Take(const Step& step);

  // A state is copied for each of a function's blocks, of which there may be thousands.
  std::shared_ptr<Function> fn_;
  std::string name_;
  SharedLog<Step> steps_;
  SharedLog<FreeSize> sizes_;
  SharedLog<std::pair<std::string, int64_t>> start_;
  SharedLog<std::string> done_;
  // The places of names in done_ and in what others have added to it.
  std::shared_ptr<std::unordered_map<std::string, size_t>> places_;
};

// A composite schedule: from a state and its next block, the states that it may go on as. None: the
// rule does not fit the block. More than one: the sketch forks.
struct SketchRule {
  std::string_view name;
  std::vector<SketchState> (*apply)(const SketchState& state, const Block& block,
                                    const Target& target);
  std::string_view fits;
};

// The rules for a target, in order: the first that fits a block schedules it. The last row fits
// every block, so that nothing is left unbound.
std::span<const SketchRule> SketchRules(const Target& target);

// Every sketch of `fn` (kTensor, static extents), at least one and at most `kMaxSketches`; none for
// the reference target, which runs functions as they are. `rules` may be a caller's own; a block
// that none of them fits stays as it is.
inline constexpr size_t kMaxSketches = 16;
std::vector<Sketch> GenerateSketches(const Function& fn, const Target& target,
                                     std::span<const SketchRule> rules);
std::vector<Sketch> GenerateSketches(const Function& fn, const Target& target);

// The first of them, without the work for the others: at its start always legal and decent, what a
// kernel gets that nobody has tuned. The reference target's has no steps.
Sketch FirstSketch(const Function& fn, const Target& target, std::span<const SketchRule> rules);
Sketch FirstSketch(const Function& fn, const Target& target);

// The program of a sketch of `fn` with the limits of the target: what a search looks for points in.
// The start is one of them.
SymbolicProgram ProgramOf(const Function& fn, const Target& target, const Sketch& sketch);

// Moves the sizes that a sketch starts from to a point near by that breaks no constraint and no
// limit of the target; false, and nothing changes, where none is found.
bool StartWithinLimits(const Function& fn, const Target& target, Sketch& sketch);

}  // namespace tcc
