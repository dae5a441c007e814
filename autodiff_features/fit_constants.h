#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autodiff_features/measured_tasks.h"
#include "autodiff_features/tape/tape.h"
#include "schedule/space/space.h"
#include "support/status.h"

// The fit of a prior's constants to measured tasks, whatever the prior is.
namespace tcc {

struct FittedConstant {
  std::string name;
  double start = 0;    // above 0
  bool fitted = true;  // false: it stays
  double pull = 1;     // times FitOptions::pull
};

// Makes the formula of ln seconds of a task's sketch. Its variables are the sizes of the program,
// then all constants in their order.
using PriorTape =
    std::function<StatusOr<Tape>(const SymbolicProgram& program, const MeasuredTask& task)>;

struct FitOptions {
  int steps = 150;
  double first_rate = 0.05, last_rate = 0.002;
  double pull = 0.01;  // towards the start
  // The number of points per task that count, the same share of fast and slow ones.
  size_t points_of_task = 64;
  // Called after each step with its number and the mean loss.
  std::function<void(int step, double loss)> progress = {};
  // Called once if points have a time, prediction or slope that is not finite, with their number.
  std::function<void(size_t points)> left_out = {};
};

// Fits constants to measured tasks: Adam on their logarithms from the start minimizes the mean of
// Huber(ln predicted - ln measured, 0.5), where points near a task's best weigh most, plus pull *
// (ln of a constant's change)^2 per constant, so that a constant without influence stays.
// Deterministic. Sketches without a tape and points that are not finite are left out. Error: no
// point is left.
StatusOr<std::vector<double>> FitConstants(std::span<const MeasuredTask> tasks,
                                           std::span<const FittedConstant> constants,
                                           const PriorTape& tape, const FitOptions& options);

}  // namespace tcc
