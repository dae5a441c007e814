#pragma once

#include <functional>
#include <string>

#include "schedule/space/trace.h"
#include "tests/programs/compare_programs.h"

namespace tcc {

enum class PointOutcome : uint8_t {
  kRight,
  kTooLarge,   // more instances would be issued than a test can wait for
  kRefused,    // the other way to run it has no code for such a program (Unimplemented)
  kUndefined,  // the function itself fails on the random arguments: an index leaves its tensor
  kWrong,
};

struct PointReport {
  PointOutcome outcome = PointOutcome::kRight;
  std::string message;  // what was wrong
  bool alpha_equal = true;
};

using RunFunction = std::function<Status(const Function& fn, std::vector<Tensor>& arguments)>;

struct PointCheckOptions {
  int64_t max_instances = 300'000;
  // A planted mistake, which must be found: alters the substituted program; or what comes out of
  // the pass named `plant_after` (lower/pipeline.h), "prepare" for functions that make constants.
  std::function<Function(const Function&)> plant = nullptr;
  std::string_view plant_after = "";
  // Off, only the results are compared: to see what they alone find.
  bool compare_with_replay = true;
  // Runs the scheduled, or the lowered program some other way than the interpreter (as machine
  // code), arguments in place.
  RunFunction run_scheduled = nullptr;
  RunFunction run_lowered = nullptr;
  // What is run otherwise gives the interpreter's results, not nearly.
  bool exact = false;
  // What to run it on; empty: random tensors.
  std::vector<Tensor> arguments = {};
};

// Holds one point of a symbolic program against what it must equal: Substitute and Replay give
// alpha-equal functions after Simplify; both verify; the text round-trips; interpreted before and
// after lowering, in two thread orders and with the race detector, the results are those of the
// unscheduled function; and so where constants are computed before the rest.
PointReport CheckPoint(const Function& original, const SymbolicProgram& program,
                       const Decisions& decisions, Random& random,
                       const PointCheckOptions& options = {});

}  // namespace tcc
