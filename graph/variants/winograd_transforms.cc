#include "graph/variants/winograd_transforms.h"

#include <cmath>

namespace tcc {
namespace {

// Returns the transforms of three taps by the points and infinity (Cook and Toom): a product of
// polynomials is found from its values there. With n points, n - 1 outputs.
WinogradTransforms TransformsAt(const std::vector<double>& points) {
  const size_t window = points.size() + 1, tile = window - 2;
  WinogradTransforms t{.a = Matrix(tile, std::vector<double>(window)),
                       .b = Matrix(window, std::vector<double>(window)),
                       .g = Matrix(window, std::vector<double>(3))};
  auto times = [](std::vector<double>& polynomial, double root) {
    for (size_t k = polynomial.size(); k-- > 0;) {
      polynomial[k] = (k > 0 ? polynomial[k - 1] : 0) - root * polynomial[k];
    }
  };
  for (size_t i = 0; i < window; ++i) {
    bool is_infinity = i == points.size();
    double scale = 1;
    t.b[i][0] = 1;
    for (size_t j = 0; j < points.size(); ++j) {
      if (j == i) continue;
      times(t.b[i], points[j]);
      if (!is_infinity) scale *= points[i] - points[j];
    }
    for (size_t k = 0; k < tile; ++k) {
      t.a[k][i] = is_infinity ? (k + 1 == tile ? 1 : 0) : std::pow(points[i], k);
    }
    for (size_t k = 0; k < 3; ++k) {
      t.g[i][k] = is_infinity ? (k == 2 ? 1 : 0) : std::pow(points[i], k) / scale;
    }
  }
  return t;
}

// Returns the entry of `entries` at `index`.
Expr SelectFrom(const std::vector<Expr>& entries, const Expr& index) {
  Expr selected = entries.back();
  for (size_t i = entries.size() - 1; i-- > 0;) {
    Expr is_at = Make<Eq>(index, Expr(static_cast<int64_t>(i)));
    selected = SelectOf(is_at, entries[i], selected);
  }
  return selected;
}

}  // namespace

const WinogradTransforms& TransformsOfTwo() {
  static const WinogradTransforms* const transforms = new WinogradTransforms{
      .a = {{1, 1, 1, 0}, {0, 1, -1, -1}},
      .b = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
      .g = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
  };
  return *transforms;
}

const WinogradTransforms& TransformsOfFour() {
  static const WinogradTransforms* const transforms =
      new WinogradTransforms(TransformsAt({0, 0.625, -0.625, 1.5, -1.5}));
  return *transforms;
}

const WinogradTransforms& WholeTransformsOfTwo() {
  static const WinogradTransforms* const transforms = new WinogradTransforms{
      .a = TransformsOfTwo().a,
      .b = TransformsOfTwo().b,
      .g = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}},
      .divisor = 4,
  };
  return *transforms;
}

Expr EntryOf(const Matrix& matrix, DType type, const Expr& row, const Expr& column) {
  std::vector<Expr> rows;
  for (const std::vector<double>& numbers : matrix) {
    std::vector<Expr> entries;
    for (double number : numbers) entries.push_back(Const(type, number));
    rows.push_back(SelectFrom(entries, column));
  }
  return SelectFrom(rows, row);
}

Expr RowTimes(const Matrix& matrix, const Expr& row, const std::function<Expr(const Expr&)>& at) {
  std::vector<Expr> sums;
  for (const std::vector<double>& entries : matrix) {
    Expr sum;
    for (size_t k = 0; k < entries.size(); ++k) {
      if (entries[k] == 0) continue;
      Expr term = at(Expr(static_cast<int64_t>(k)));
      if (std::abs(entries[k]) != 1) term = Const(term.dtype(), std::abs(entries[k])) * term;
      bool is_negative = entries[k] < 0;
      if (sum) {
        sum = is_negative ? sum - term : sum + term;
      } else {
        sum = is_negative ? Const(term.dtype(), -1) * term : term;
      }
    }
    sums.push_back(sum);
  }
  return SelectFrom(sums, row);
}

}  // namespace tcc
