#include "bench/operator/operator_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "support/random.h"

namespace tcc {
namespace {

constexpr int kSamples = 200;
constexpr double kAllowed = 8;

// An element by its definition: its value, the sum of the absolute values of its terms (M), and how
// many there are (K).
struct Expected {
  double value = 0, magnitude = 0, terms = 0;

  void Add(double term) {
    value += term;
    magnitude += std::abs(term);
    ++terms;
  }
};

struct Operands {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& constants;

  double Input(size_t which, int64_t i) const { return At(inputs[which], i); }
  double Constant(size_t which, int64_t i) const { return At(constants[which], i); }

 private:
  static double At(const Tensor& tensor, int64_t i) {
    return tensor.values<float>()[static_cast<size_t>(i)];
  }
};

// [batch, channel, y, x] of a flat index.
std::array<int64_t, 4> PixelOf(int64_t i, const WindowShape& window, int64_t channels) {
  int64_t width = window.OutWidth(), height = window.OutHeight();
  return {i / width / height / channels, i / width / height % channels, i / width % height,
          i % width};
}

// Calls visit(y, x, ky, kx) for the pixels of a window that are no padding.
template <typename Visit>
void VisitWindow(const WindowShape& window, int64_t out_y, int64_t out_x, const Visit& visit) {
  for (int64_t ky = 0; ky < window.kernel; ++ky) {
    for (int64_t kx = 0; kx < window.kernel; ++kx) {
      int64_t y = out_y * window.stride + ky - window.top;
      int64_t x = out_x * window.stride + kx - window.left;
      if (y >= 0 && y < window.height && x >= 0 && x < window.width) visit(y, x, ky, kx);
    }
  }
}

int64_t PixelIndex(const WindowShape& window, int64_t n, int64_t c, int64_t y, int64_t x) {
  return ((n * window.channels + c) * window.height + y) * window.width + x;
}

Expected Element(const ConvolutionOp& op, const Operands& of, int64_t i) {
  const WindowShape& window = op.window;
  auto [n, f, out_y, out_x] = PixelOf(i, window, op.filters);
  int64_t depth = window.channels / op.groups, group = f / (op.filters / op.groups);
  Expected sum;
  for (int64_t c = 0; c < depth; ++c) {
    VisitWindow(window, out_y, out_x, [&](int64_t y, int64_t x, int64_t ky, int64_t kx) {
      int64_t weight = ((f * depth + c) * window.kernel + ky) * window.kernel + kx;
      sum.Add(of.Input(0, PixelIndex(window, n, group * depth + c, y, x)) * of.Constant(0, weight));
    });
  }
  if (op.bias_relu) {
    sum.Add(of.Constant(1, f));
    sum.value = std::max(sum.value, 0.0);
  }
  return sum;
}

Expected Element(const AveragePoolOp& op, const Operands& of, int64_t i) {
  const WindowShape& window = op.window;
  auto [n, c, out_y, out_x] = PixelOf(i, window, window.channels);
  Expected mean;
  VisitWindow(window, out_y, out_x, [&](int64_t y, int64_t x, int64_t, int64_t) {
    mean.Add(of.Input(0, PixelIndex(window, n, c, y, x)));
  });
  mean.value /= mean.terms;
  mean.magnitude /= mean.terms;
  return mean;
}

Expected Element(const MatmulOp& op, const Operands& of, int64_t i) {
  int64_t row = i / op.columns, column = i % op.columns, batch = row / op.rows;
  Expected sum;
  for (int64_t k = 0; k < op.depth; ++k) {
    int64_t right = (batch * op.depth + k) * op.columns + column;
    double b = op.batch == 1 ? of.Constant(0, right) : of.Input(1, right);
    sum.Add(of.Input(0, row * op.depth + k) * b);
  }
  return sum;
}

Expected Element(const ReluOp&, const Operands& of, int64_t i) {
  double x = of.Input(0, i);
  return {std::max(x, 0.0), std::abs(x), 1};
}

// Walks the reduced axes with the other indices fixed.
Expected Element(const ReduceSumOp& op, const Operands& of, int64_t i) {
  std::vector<int64_t> strides(op.shape.size(), 1);
  for (size_t axis = op.shape.size() - 1; axis-- > 0;) {
    strides[axis] = strides[axis + 1] * op.shape[axis + 1];
  }
  int64_t base = 0, terms = 1;
  for (size_t axis = op.shape.size(); axis-- > 0;) {
    if (std::ranges::count(op.axes, static_cast<int64_t>(axis)) > 0) {
      terms *= op.shape[axis];
    } else {
      base += i % op.shape[axis] * strides[axis];
      i /= op.shape[axis];
    }
  }
  Expected sum;
  for (int64_t t = 0; t < terms; ++t) {
    int64_t index = base, rest = t;
    for (size_t a = op.axes.size(); a-- > 0;) {
      auto axis = static_cast<size_t>(op.axes[a]);
      index += rest % op.shape[axis] * strides[axis];
      rest /= op.shape[axis];
    }
    sum.Add(of.Input(0, index));
  }
  return sum;
}

Expected Element(const SoftmaxOp& op, const Operands& of, int64_t i) {
  int64_t row = i / op.columns * op.columns;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, span = 0;
  for (int64_t c = 0; c < op.columns; ++c) largest = std::max(largest, of.Input(0, row + c));
  for (int64_t c = 0; c < op.columns; ++c) {
    span = std::max(span, largest - of.Input(0, row + c));
    sum += std::exp(of.Input(0, row + c) - largest);
  }
  double value = std::exp(of.Input(0, i) - largest) / sum;
  // x - max is off by eps * |x - max|, and so is its exponential, relatively.
  return {value, value * (1 + span), static_cast<double>(op.columns)};
}

Expected Element(const LayerNormOp& op, const Operands& of, int64_t i) {
  int64_t row = i / op.columns * op.columns;
  auto columns = static_cast<double>(op.columns);
  double mean = 0, absolute = 0, variance = 0;
  for (int64_t c = 0; c < op.columns; ++c) {
    mean += of.Input(0, row + c) / columns;
    absolute += std::abs(of.Input(0, row + c)) / columns;
  }
  for (int64_t c = 0; c < op.columns; ++c) {
    variance += std::pow(of.Input(0, row + c) - mean, 2) / columns;
  }
  double root = std::sqrt(variance + kLayerNormEpsilon), x = of.Input(0, i);
  double scale = of.Constant(0, i % op.columns), bias = of.Constant(1, i % op.columns);
  return {(x - mean) / root * scale + bias,
          (std::abs(x) + absolute) / root * std::abs(scale) + std::abs(bias), columns};
}

Expected Element(const AttentionOp& op, const Operands& of, int64_t i) {
  int64_t row = i / op.depth, head = row / op.tokens * op.tokens, column = i % op.depth;
  std::vector<double> scores(static_cast<size_t>(op.tokens));
  double largest = -std::numeric_limits<double>::infinity(), spread = 0, sum = 0;
  double root = std::sqrt(static_cast<double>(op.depth));
  for (int64_t t = 0; t < op.tokens; ++t) {
    Expected product;
    for (int64_t d = 0; d < op.depth; ++d) {
      product.Add(of.Input(0, row * op.depth + d) * of.Input(1, (head + t) * op.depth + d));
    }
    scores[static_cast<size_t>(t)] = product.value / root;
    largest = std::max(largest, product.value / root);
    spread = std::max(spread, product.magnitude / root);
  }
  for (double& score : scores) sum += score = std::exp(score - largest);
  Expected mixed;
  for (int64_t t = 0; t < op.tokens; ++t) {
    mixed.Add(scores[static_cast<size_t>(t)] / sum * of.Input(2, (head + t) * op.depth + column));
  }
  // A score's own error is one of its exponential, relatively.
  mixed.magnitude *= 1 + spread;
  mixed.terms = static_cast<double>(std::max(op.tokens, op.depth));
  return mixed;
}

// Nothing is known of it but that it is there.
Expected Element(const NetworkOp&, const Operands&, int64_t) {
  return {0, std::numeric_limits<double>::infinity(), 1};
}

// Bytes of 0xff are no float that a network computes, and no bool; integers may be anything.
bool IsWritten(const DType& dtype, double value) {
  if (dtype == kBool) return value == 0 || value == 1;
  return std::isfinite(value);
}

// The first element that is not; -1: all are.
int64_t FindUnwritten(const Tensor& result) {
  if (result.dtype == kFloat32) {  // which may be large
    std::span<const float> values = result.values<float>();
    auto bad = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
    return bad == values.end() ? -1 : bad - values.begin();
  }
  for (int64_t i = 0; i < *ElementCount(result.shape); ++i) {
    if (!IsWritten(result.dtype, ElementAsDouble(result, i))) return i;
  }
  return -1;
}

Status CheckWritten(const BenchOperator& op, const std::vector<Tensor>& results) {
  for (size_t number = 0; number < results.size(); ++number) {
    int64_t i = FindUnwritten(results[number]);
    if (i < 0) continue;
    std::string which = results.size() == 1 ? "" : fmt::format("output {}: ", number);
    return absl::DataLossError(fmt::format("{}: {}element {} is {}; expected a finite number",
                                           op.name, which, i, ElementAsDouble(results[number], i)));
  }
  return OkStatus();
}

}  // namespace

StatusOr<OperatorCheck> CheckOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                      const std::vector<Tensor>& constants,
                                      const std::vector<Tensor>& results, NumericMode numeric) {
  TCC_RETURN_IF_ERROR(CheckWritten(op, results));
  OperatorCheck check;
  if (std::holds_alternative<NetworkOp>(op.kind)) {
    check.error = std::numeric_limits<double>::quiet_NaN();
    return check;
  }
  Operands operands{inputs, constants};
  std::span<const float> values = results[0].values<float>();
  Random random(7);
  for (int sample = 0; sample < kSamples; ++sample) {
    // The ends are where tails go wrong.
    int64_t count = std::ssize(values);
    int64_t i = sample == 0 ? 0 : sample == 1 ? count - 1 : random.Between(0, count - 1);
    Expected wanted =
        std::visit([&](const auto& kind) { return Element(kind, operands, i); }, op.kind);
    double unit = std::numeric_limits<float>::epsilon() * wanted.magnitude;
    double got = values[static_cast<size_t>(i)], off = std::abs(got - wanted.value);
    double allowed = kAllowed * std::sqrt(wanted.terms) * unit;
    allowed += RowOf(numeric).product_error * wanted.magnitude;
    if (!(off <= allowed)) {
      return absl::DataLossError(fmt::format("{}: element {} is {}; expected {} +- {}", op.name, i,
                                             got, wanted.value, allowed));
    }
    if (unit > 0) check.error = std::max(check.error, off / unit);
    ++check.elements;
  }
  return check;
}

}  // namespace tcc
