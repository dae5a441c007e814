#include "autodiff_features/tape/tape.h"

#include <algorithm>
#include <memory>

#include "autodiff_features/tape/smooth_ops.h"
#include "support/check.h"

namespace tcc {
namespace {

using Instruction = FormulaProgram::Instruction;

// Points that go through the instructions together: values and adjoints of two thousand
// instructions stay in the second-level cache.
constexpr size_t kBlock = 32;

// One value at each point of a block, for each operand.
struct Operands {
  const double* a;
  const double* b;
  const double* c;
};
struct Adjoints {
  double* a;
  double* b;
  double* c;
};

template <FormulaOp Op>
void SmoothAll(const Operands& in, double* result, size_t count, double width) {
  for (size_t i = 0; i < count; ++i) {
    result[i] = SmoothOp<Op>::Value(in.a[i], in.b[i], in.c[i], width);
  }
}

// No default: an op without a rule does not compile.
void ApplySmoothly(FormulaOp op, const Operands& in, double* result, size_t count, double width) {
  switch (op) {
#define TCC_SMOOTH_CASE(op, operands, meaning) \
  case FormulaOp::op:                          \
    return SmoothAll<FormulaOp::op>(in, result, count, width);
    TCC_FORMULA_OPS(TCC_SMOOTH_CASE)
#undef TCC_SMOOTH_CASE
  }
}

// Nothing passes from where nothing comes: the arm that is not picked may have an infinite slope.
inline double Pulled(double adjoint, double slope) {
  const double product = adjoint * slope;
  return adjoint != 0 ? product : 0;
}

inline void AddAll(const double* terms, double* sums, size_t count) {
  for (size_t i = 0; i < count; ++i) sums[i] += terms[i];
}

// Adds slope * adjoint to the operands' adjoints; operands may be the same value.
template <FormulaOp Op>
void PullAll(const Operands& in, const double* result, const double* adjoint, const Adjoints& out,
             size_t count, double width) {
  double to_a[kBlock], to_b[kBlock], to_c[kBlock];
  for (size_t i = 0; i < count; ++i) {
    OpSlopes slopes = SmoothOp<Op>::Slopes(in.a[i], in.b[i], in.c[i], result[i], width);
    to_a[i] = Pulled(adjoint[i], slopes.a);
    to_b[i] = Pulled(adjoint[i], slopes.b);
    to_c[i] = Pulled(adjoint[i], slopes.c);
  }
  AddAll(to_a, out.a, count);
  if (OperandsOf(Op) >= 2) AddAll(to_b, out.b, count);
  if (OperandsOf(Op) == 3) AddAll(to_c, out.c, count);
}

void PullBack(FormulaOp op, const Operands& in, const double* result, const double* adjoint,
              const Adjoints& out, size_t count, double width) {
  switch (op) {
#define TCC_PULL_CASE(op, operands, meaning) \
  case FormulaOp::op:                        \
    return PullAll<FormulaOp::op>(in, result, adjoint, out, count, width);
    TCC_FORMULA_OPS(TCC_PULL_CASE)
#undef TCC_PULL_CASE
  }
}

// Whether each value has an adjoint: some seeded result depends on it, by more than comparisons
// where these have no slope.
std::vector<bool> ValuesToPull(const FormulaProgram& program, double width,
                               const PointTable& seeds) {
  std::vector<bool> pulled(program.values());
  for (size_t r = 0; r < program.results.size(); ++r) {
    std::span<const double> column = seeds.column(r);
    bool seeded = std::ranges::any_of(column, [](double seed) { return seed != 0; });
    if (seeded) pulled[program.results[r]] = true;
  }
  size_t id = program.values();
  for (size_t i = program.instructions.size(); i-- > 0;) {
    const Instruction& step = program.instructions[i];
    --id;
    if (width == 0 && Compares(step.op)) pulled[id] = false;
    if (!pulled[id]) continue;
    pulled[step.a] = true;
    if (OperandsOf(step.op) >= 2) pulled[step.b] = true;
    if (OperandsOf(step.op) == 3) pulled[step.c] = true;
  }
  return pulled;
}

// One block of points after the other through the instructions of a program, forward and back.
class Sweep {
 public:
  Sweep(const FormulaProgram& program, double width)
      : program_(program),
        width_(width),
        values_(std::make_unique_for_overwrite<double[]>(program.values() * kBlock)) {
    for (size_t i = 0; i < program.constants.size(); ++i) {
      std::fill_n(Values(program.vars + i), kBlock, program.constants[i]);
    }
  }

  void Forward(const PointTable& points, size_t first, size_t count, PointTable& results) {
    for (size_t v = 0; v < program_.vars; ++v) {
      std::copy_n(&points.column(v)[first], count, Values(v));
    }
    size_t id = FirstInstruction();
    for (const Instruction& step : program_.instructions) {
      double* result = Values(id++);
      Operands in = OperandsAt(step);
      if (width_ == 0)
        ApplyExactly(step, in.a, in.b, in.c, result, count);
      else
        ApplySmoothly(step.op, in, result, count, width_);
    }
    for (size_t r = 0; r < program_.results.size(); ++r) {
      std::copy_n(Values(program_.results[r]), count, &results.column(r)[first]);
    }
  }

  // Expects Forward to have come over the same points.
  void Backward(const PointTable& seeds, const std::vector<bool>& pulled, size_t first,
                size_t count, PointTable& gradient) {
    if (!adjoints_) adjoints_ = std::make_unique<double[]>(program_.values() * kBlock);
    std::fill_n(adjoints_.get(), program_.values() * kBlock, 0.0);
    for (size_t r = 0; r < program_.results.size(); ++r) {
      AddAll(&seeds.column(r)[first], AdjointsOf(program_.results[r]), count);
    }
    size_t id = program_.values();
    for (size_t i = program_.instructions.size(); i-- > 0;) {
      if (!pulled[--id]) continue;
      const Instruction& step = program_.instructions[i];
      Adjoints out = {AdjointsOf(step.a), AdjointsOf(step.b), AdjointsOf(step.c)};
      PullBack(step.op, OperandsAt(step), Values(id), AdjointsOf(id), out, count, width_);
    }
    for (size_t v = 0; v < program_.vars; ++v) {
      std::copy_n(AdjointsOf(v), count, &gradient.column(v)[first]);
    }
  }

 private:
  size_t FirstInstruction() const { return program_.vars + program_.constants.size(); }
  double* Values(size_t id) { return &values_[id * kBlock]; }
  double* AdjointsOf(size_t id) { return &adjoints_[id * kBlock]; }
  Operands OperandsAt(const Instruction& step) {
    return {Values(step.a), Values(step.b), Values(step.c)};
  }

  const FormulaProgram& program_;
  const double width_;
  // By value number, kBlock each.
  std::unique_ptr<double[]> values_, adjoints_;
};

void CheckPoints(const FormulaProgram& program, const PointTable& points, double width) {
  TCC_CHECK(points.columns() == program.vars)
      << points.columns() << " columns for " << program.vars;
  TCC_CHECK(width >= 0) << width;
}

}  // namespace

PointTable Tape::Smooth(const PointTable& points, double width) const {
  CheckPoints(program(), points, width);
  PointTable results(program().results.size(), points.points());
  Sweep sweep(program(), width);
  for (size_t first = 0; first < points.points(); first += kBlock) {
    sweep.Forward(points, first, std::min(kBlock, points.points() - first), results);
  }
  return results;
}

Tape::Slopes Tape::Gradient(const PointTable& points, double width, const PointTable& seeds) const {
  CheckPoints(program(), points, width);
  TCC_CHECK(seeds.columns() == program().results.size() && seeds.points() == points.points())
      << seeds.columns() << " columns of " << seeds.points() << " seeds for "
      << program().results.size() << " results at " << points.points() << " points";
  Slopes slopes = {PointTable(program().results.size(), points.points()),
                   PointTable(program().vars, points.points())};
  std::vector<bool> pulled = ValuesToPull(program(), width, seeds);
  Sweep sweep(program(), width);
  for (size_t first = 0; first < points.points(); first += kBlock) {
    size_t count = std::min(kBlock, points.points() - first);
    sweep.Forward(points, first, count, slopes.values);
    sweep.Backward(seeds, pulled, first, count, slopes.gradient);
  }
  return slopes;
}

}  // namespace tcc
