#pragma once

#include <string>
#include <vector>

#include "graph/ops/node_lowering.h"

// One dimension of a Resize: the input places that an output place reads, and their weights.
// Formulas: ONNX's Resize, section "coordinate_transformation_mode".
namespace tcc {

enum class Interpolation : uint8_t { kNearest, kLinear, kCubic };

// A number, or a formula of free extents.
struct CoordinateTerm {
  double number = 0;
  Expr formula = {};  // an f64 in place of the number

  CoordinateTerm(double value) : number(value) {}
  explicit CoordinateTerm(const Expr& f64) : formula(f64) {}

  bool Is(double value) const { return !formula && number == value; }
  Expr As(DType type) const;
};

// The map from output place o to the place x = ((o + shift) * factor / divisor + offset) -
// shift_back in the input.
struct Coordinate {
  CoordinateTerm shift = 0;
  CoordinateTerm factor = 1;
  CoordinateTerm divisor = 1;
  CoordinateTerm offset = 0;
  CoordinateTerm shift_back = 0;
  bool rounds_steps = true;  // else x alone is rounded

  // Returns whether no term is a formula, as `At` and `RoundedAt` of a number expect.
  bool IsNumeric() const;

  double At(int64_t output) const;
  // Returns x as ONNX Runtime computes it, in f32 step by step, or rounded to f32 at the end: where
  // an input is picked by rounding x, 1 / f32(1/3) has to be 3.
  float RoundedAt(int64_t output) const;
  // Return both as f64 and f32; `output` is an i64.
  Expr At(const Expr& output) const;
  Expr RoundedAt(const Expr& output) const;
};

// A scale up / down of small whole numbers.
struct ScaleRatio {
  int64_t up = 1;
  int64_t down = 1;
};

// The largest whole number of a ratio.
inline constexpr int64_t kMaxRatio = 64;

// Returns the ratio with which f32(scale) * n, rounded down as ONNX does it, is n * up / down,
// rounded down, for all n with n * up < 2^23; nullopt if there is none.
std::optional<ScaleRatio> RatioOf(double scale);

struct ResampledDim {
  Expr input;
  Expr output;
  CoordinateTerm scale = 1;  // output / input but for rounding
  // The scale of a free dimension where it is known; numbers need none.
  std::optional<ScaleRatio> ratio = {};
  Coordinate coordinate = {};

  bool IsFree() const { return !AsConstant(input) || !AsConstant(output); }
  // Returns whether every output place reads the input at the same place.
  bool IsIdentity() const;
};

// Returns the transformation `mode` of a dimension; `start` and `end` are its region of interest.
// InvalidArgument for a mode that ONNX does not have, Unimplemented for one that wants a free
// dimension to be known.
StatusOr<Coordinate> CoordinateOf(const NodeLowering& node, const std::string& mode,
                                  const ResampledDim& dim, double start, double end);

// Returns the input place for `nearest_mode`, clamped into the input: one of ONNX's modes, or
// "simple", which opset 10 had in their place: up where the dimension shrinks, else down.
// InvalidArgument for an unknown mode.
StatusOr<Expr> NearestPlace(const NodeLowering& node, const std::string& nearest_mode,
                            const ResampledDim& dim, const Expr& output);

// A place x = base + ratio with 0 <= ratio < 1; base is i64 and not clamped, ratio f32.
struct SplitPlace {
  Expr base;
  Expr ratio;
};
SplitPlace SplitPlaceOf(const ResampledDim& dim, const Expr& output);

// Returns the condition under which 0 <= x <= input - 1; the constant true if it always holds.
Expr IsInside(const ResampledDim& dim, const Expr& output);

// Returns the weight of an input at distance `x` (f32, either sign): the triangle 1 - |x|, or Keys'
// cubic with parameter a. (Keys, Cubic convolution interpolation for digital image processing,
// 1981.)
Expr KernelWeight(Interpolation kind, double a, const Expr& x);

}  // namespace tcc
