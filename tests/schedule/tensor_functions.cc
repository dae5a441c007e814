#include "tests/schedule/tensor_functions.h"

#include <fmt/format.h>

#include <cctype>

#include <vector>

namespace tcc {
namespace {

int64_t Extent(Random& random) {
  constexpr int64_t kExtents[] = {1, 2, 3, 7, 13, 16, 31, 64};
  return kExtents[random.Below(std::size(kExtents))];
}

int64_t Small(Random& random) {
  constexpr int64_t kExtents[] = {1, 2, 3, 7};
  return kExtents[random.Below(std::size(kExtents))];
}

// Of rows that are reduced: shorter than a vector, a few vectors, and many.
int64_t RowExtent(Random& random) {
  constexpr int64_t kExtents[] = {3, 8, 16, 49, 64, 197, 512, 515};
  return kExtents[random.Below(std::size(kExtents))];
}

// An iteration variable: its name, extent and kind.
struct Axis {
  const char* name;
  int64_t extent;
  const char* kind = "spatial";
};

// One block and its loops: `body` is the text of the leaf, `where` a predicate or nothing.
std::string Nest(const std::string& block, const std::vector<Axis>& axes, const std::string& body,
                 const std::string& where = "") {
  std::string loops, iters, ends;
  for (const Axis& axis : axes) {
    loops += fmt::format("for {0} in 0..{1} @{2}/{0} {{ ", axis.name, axis.extent, block);
    iters += fmt::format("{}{}: {} {} = {}", iters.empty() ? "" : ", ", axis.name, axis.kind,
                         axis.extent, axis.name);
    ends += " }";
  }
  return fmt::format("{}block {}({}){} {{ {} }}{}\n", loops, block, iters,
                     where.empty() ? "" : " where " + where, body, ends);
}

std::string Matmul(Random& random) {
  return MatmulText(Extent(random), Extent(random), Extent(random), "");
}

std::string MatmulWithEpilogue(Random& random) {
  constexpr const char* kEpilogues[] = {"max(x, 0.0)", "x + D[j]", "max(x + D[j], 0.0)",
                                        "x * D[j] + A[i, 0]"};
  return MatmulText(Extent(random), Extent(random), Small(random),
                    kEpilogues[random.Below(std::size(kEpilogues))]);
}

std::string Conv(Random& random, bool channels_last) {
  int64_t height = random.Between(3, 8), width = random.Between(3, 8), c = Small(random);
  int64_t o = Extent(random), stride = random.Between(1, 2), kernel = random.Between(1, 3);
  int64_t pad = random.Between(0, 1);
  int64_t y = (height + 2 * pad - kernel) / stride + 1, x = (width + 2 * pad - kernel) / stride + 1;
  std::string row = fmt::format("y * {} + ky - {}", stride, pad);
  std::string column = fmt::format("x * {} + kx - {}", stride, pad);
  std::string where =
      fmt::format("0 <= {0} && {0} < {1} && 0 <= {2} && {2} < {3}", row, height, column, width);
  auto image = [&](const std::string& channel, const std::string& r, const std::string& s) {
    return channels_last ? fmt::format("{}, {}, {}", r, s, channel)
                         : fmt::format("{}, {}, {}", channel, r, s);
  };
  std::vector<Axis> axes = channels_last ? std::vector<Axis>{{"y", y}, {"x", x}, {"o", o}}
                                         : std::vector<Axis>{{"o", o}, {"y", y}, {"x", x}};
  std::vector<Axis> spatial = axes;
  for (Axis axis :
       {Axis{"ky", kernel, "reduce"}, Axis{"kx", kernel, "reduce"}, Axis{"c", c, "reduce"}}) {
    axes.push_back(axis);
  }
  std::string out = image("o", "y", "x");
  std::string shape = image(std::to_string(o), std::to_string(y), std::to_string(x));
  std::string residual =
      random.OneIn(2) ? "max(T[" + out + "] + R[" + out + "], 0.0)" : "T[" + out + "] + S[o]";
  return fmt::format(
      "fn conv(X: f32[{}], W: f32[{}, {}, {}, {}], R: f32[{}], S: f32[{}], "
      "Y: f32[{}]) tensor {{\nalloc T: f32[{}]\n{}{}}}",
      image(std::to_string(c), std::to_string(height), std::to_string(width)), kernel, kernel, c, o,
      shape, o, shape, shape,
      Nest("conv", axes,
           fmt::format("reduce sum_f32 init (T[{}]) with (X[{}] * W[ky, kx, c, o])", out,
                       image("c", row, column)),
           where),
      Nest("out", spatial, fmt::format("Y[{}] = {}", out, residual)));
}

std::string ConvNhwc(Random& random) {
  return Conv(random, true);
}

std::string ConvNchw(Random& random) {
  return Conv(random, false);
}

std::string Depthwise(Random& random) {
  int64_t h = random.Between(3, 9), w = random.Between(3, 9), c = Extent(random);
  return fmt::format(
      "fn depthwise(X: f32[{}, {}, {}], W: f32[3, 3, {}], Y: f32[{}, {}, {}]) tensor "
      "{{\n{}}}",
      h, w, c, c, h, w, c,
      Nest("dw", {{"y", h}, {"x", w}, {"c", c}, {"ky", 3, "reduce"}, {"kx", 3, "reduce"}},
           "reduce sum_f32 init (Y[y, x, c]) with (X[y + ky - 1, x + kx - 1, c] * "
           "W[ky, kx, c])",
           fmt::format("0 <= y + ky - 1 && y + ky - 1 < {} && 0 <= x + kx - 1 && x + "
                       "kx - 1 < {}",
                       h, w)));
}

std::string MaxPool(Random& random) {
  int64_t h = random.Between(1, 7), w = random.Between(1, 7), c = Extent(random);
  return fmt::format(
      "fn pool(X: f32[{}, {}, {}], Y: f32[{}, {}, {}]) tensor {{\n{}}}", h * 2, w * 2, c, h, w, c,
      Nest("pool", {{"y", h}, {"x", w}, {"c", c}, {"ky", 2, "reduce"}, {"kx", 2, "reduce"}},
           "reduce max_f32 init (Y[y, x, c]) with (X[y * 2 + ky, x * 2 + kx, c])"));
}

std::string GlobalAverage(Random& random) {
  int64_t n = Small(random), h = Extent(random), c = Extent(random);
  return fmt::format(
      "fn average(X: f32[{0}, {1}, {2}], Y: f32[{0}, {2}]) tensor {{\nalloc T: f32[{0}, "
      "{2}]\n{3}{4}}}",
      n, h, c,
      Nest("sum", {{"n", n}, {"c", c}, {"h", h, "reduce"}},
           "reduce sum_f32 init (T[n, c]) with (X[n, h, c])"),
      Nest("scale", {{"n", n}, {"c", c}}, fmt::format("Y[n, c] = T[n, c] * {}", 1.0 / 64)));
}

std::string Softmax(Random& random) {
  int64_t m = Extent(random), n = Extent(random);
  return fmt::format(
      "fn softmax(X: f32[{0}, {1}], Y: f32[{0}, {1}]) tensor {{\nalloc m: f32[{0}]\nalloc l: "
      "f32[{0}]\n{2}{3}}}",
      m, n,
      Nest("stat", {{"i", m}, {"j", n, "reduce"}},
           "reduce softmax_f32 init (m[i], l[i]) with (X[i, j], 1.0)"),
      Nest("out", {{"i", m}, {"j", n}}, "Y[i, j] = exp_diff(X[i, j], m[i]) / l[i]"));
}

std::string SoftmaxByRows(Random& random) {
  int64_t a = Small(random), m = Extent(random), n = RowExtent(random);
  std::vector<Axis> rows = {{"a", a}, {"i", m}, {"one", 1}};
  std::vector<Axis> reduced = {{"a", a}, {"i", m}, {"one", 1}, {"t", n, "reduce"}};
  std::vector<Axis> whole = {{"a", a}, {"i", m}, {"j", n}};
  return fmt::format(
      "fn rows(X: f32[{0}, {1}, {2}], Y: f32[{0}, {1}, {2}]) tensor {{\nalloc m: f32[{0}, {1}, 1]\n"
      "alloc e: f32[{0}, {1}, {2}]\nalloc s: f32[{0}, {1}, 1]\n{3}{4}{5}{6}}}",
      a, m, n, Nest("max", reduced, "reduce max_f32 init (m[a, i, one]) with (X[a, i, t])"),
      Nest("exp", whole, "e[a, i, j] = exp(X[a, i, j] - m[a, i, 0])"),
      Nest("sum", reduced, "reduce sum_f32 init (s[a, i, one]) with (e[a, i, t])"),
      Nest("out", whole, "Y[a, i, j] = e[a, i, j] / s[a, i, 0]"));
}

// Mean and deviation over the last axis, both from sums of differences to the first element.
std::string NormByRows(Random& random) {
  int64_t m = Extent(random), n = RowExtent(random);
  std::vector<Axis> reduced = {{"i", m}, {"t", n, "reduce"}};
  return fmt::format(
      "fn norm(X: f32[{0}, {1}], G: f32[{1}], Y: f32[{0}, {1}]) tensor {{\nalloc s: f32[{0}]\n"
      "alloc q: f32[{0}]\n{2}{3}{4}}}",
      m, n, Nest("sum", reduced, "reduce sum_f32 init (s[i]) with (X[i, t])"),
      Nest("square", reduced,
           fmt::format("reduce sum_f32 init (q[i]) with ((X[i, t] - s[i] * {0}) * "
                       "(X[i, t] - s[i] * {0}))",
                       1.0 / static_cast<double>(n))),
      Nest("out", {{"i", m}, {"j", n}},
           fmt::format("Y[i, j] = (X[i, j] - s[i] * {0}) / sqrt(q[i] * {0} + 0.5) * G[j]",
                       1.0 / static_cast<double>(n))));
}

// A matrix with its rows contiguous, times a vector.
std::string MatrixVector(Random& random) {
  int64_t m = Extent(random), n = RowExtent(random);
  return fmt::format(
      "fn gemv(A: f32[{0}, {1}], X: f32[{1}], B: f32[{0}], Y: f32[{0}]) tensor {{\nalloc T: "
      "f32[{0}]\n{2}{3}}}",
      m, n,
      Nest("mv", {{"i", m}, {"k", n, "reduce"}},
           "reduce sum_f32 init (T[i]) with (A[i, k] * X[k])"),
      Nest("out", {{"i", m}}, "Y[i] = max(T[i] + B[i], 0.0)"));
}

std::string Broadcasting(Random& random) {
  int64_t a = Small(random), b = Extent(random), c = Extent(random);
  return fmt::format(
      "fn map(X: f32[{0}, {1}, {2}], R: f32[1, {1}, 1], S: f32[{2}], Y: f32[{0}, {1}, {2}]) tensor "
      "{{\n{3}}}",
      a, b, c,
      Nest("map", {{"a", a}, {"b", b}, {"c", c}},
           "Y[a, b, c] = max(X[a, b, c] * R[0, b, 0] + S[c], 0.0)"));
}

std::string FirstAxis(Random& random) {
  int64_t m = Extent(random), n = Extent(random);
  return fmt::format(
      "fn first(X: f32[{0}, {1}], Y: f32[{1}]) tensor {{\n{2}}}", m, n,
      Nest("sum", {{"j", n}, {"i", m, "reduce"}}, "reduce sum_f32 init (Y[j]) with (X[i, j])"));
}

std::string LastAxis(Random& random) {
  int64_t m = Extent(random), n = Extent(random);
  return fmt::format("fn last(X: f32[{0}, {1}], Y: f32[{0}, 1]) tensor {{\n{2}}}", m, n,
                     Nest("sum", {{"i", m}, {"one", 1}, {"j", n, "reduce"}},
                          "reduce sum_f32 init (Y[i, one]) with (X[i, j])"));
}

std::string AllAxes(Random& random) {
  int64_t m = Extent(random), n = Extent(random);
  return fmt::format("fn all(X: f32[{0}, {1}], Y: f32[1]) tensor {{\n{2}}}", m, n,
                     Nest("sum", {{"i", m, "reduce"}, {"j", n, "reduce"}},
                          "reduce sum_f32 init (Y[0]) with (X[i, j])"));
}

// Two readers of one result: neither may be placed alone with it.
std::string TwoConsumers(Random& random) {
  int64_t m = Extent(random), n = Extent(random), k = Small(random);
  return fmt::format(
      "fn two(A: f32[{0}, {2}], B: f32[{2}, {1}], Y: f32[{0}, {1}], Z: f32[{0}, {1}]) tensor {{\n"
      "alloc T: f32[{0}, {1}]\n{3}{4}{5}}}",
      m, n, k,
      Nest("mm", {{"i", m}, {"j", n}, {"k", k, "reduce"}},
           "reduce sum_f32 init (T[i, j]) with (A[i, k] * B[k, j])"),
      Nest("y", {{"i", m}, {"j", n}}, "Y[i, j] = max(T[i, j], 0.0)"),
      Nest("z", {{"i", m}, {"j", n}}, "Z[i, j] = T[i, j] * 2.0"));
}

// The reader writes the transpose of what it reads.
std::string Transposing(Random& random) {
  int64_t m = Extent(random), n = Extent(random), k = Small(random);
  return fmt::format(
      "fn turn(A: f32[{0}, {2}], B: f32[{2}, {1}], Y: f32[{1}, {0}]) tensor {{\n"
      "alloc T: f32[{0}, {1}]\n{3}{4}}}",
      m, n, k,
      Nest("mm", {{"i", m}, {"j", n}, {"k", k, "reduce"}},
           "reduce sum_f32 init (T[i, j]) with (A[i, k] * B[k, j])"),
      Nest("y", {{"i", m}, {"j", n}}, "Y[j, i] = T[i, j] + 1.0"));
}

constexpr TensorFunctionKind kKinds[] = {
    {"matmul", Matmul},
    {"matmul with an epilogue", MatmulWithEpilogue},
    {"convolution, channels last", ConvNhwc},
    {"convolution, channels first", ConvNchw},
    {"depthwise convolution", Depthwise},
    {"maximum pooling", MaxPool},
    {"global average", GlobalAverage},
    {"softmax", Softmax},
    {"softmax by rows", SoftmaxByRows},
    {"normalization by rows", NormByRows},
    {"matrix times vector", MatrixVector},
    {"map with broadcasting", Broadcasting},
    {"sum over the first axis", FirstAxis},
    {"sum over the last axis", LastAxis},
    {"sum over everything", AllAxes},
    {"matmul with two readers", TwoConsumers},
    {"matmul, transposed after", Transposing},
};

}  // namespace

std::span<const TensorFunctionKind> TensorFunctionKinds() {
  return kKinds;
}

std::string MatmulText(int64_t rows, int64_t columns, int64_t depth, const std::string& epilogue) {
  std::vector<Axis> axes = {{"i", rows}, {"j", columns}, {"k", depth, "reduce"}};
  std::string head = fmt::format(
      "fn mm(A: f32[{0}, {2}], B: f32[{2}, {1}], D: f32[{1}], C: f32[{0}, {1}]) tensor {{\n", rows,
      columns, depth);
  auto sum_into = [](const char* buffer) {
    return fmt::format("reduce sum_f32 init ({}[i, j]) with (A[i, k] * B[k, j])", buffer);
  };
  if (epilogue.empty()) return head + Nest("mm", axes, sum_into("C")) + "}";
  std::string value = epilogue;
  // The only x of an epilogue that stands alone is its operand.
  for (size_t at = value.find('x'); at != std::string::npos; at = value.find('x', at + 1)) {
    bool alone = at == 0 || !std::isalpha(static_cast<unsigned char>(value[at - 1]));
    if (alone) value.replace(at, 1, "T[i, j]");
  }
  axes.pop_back();
  return head + fmt::format("alloc T: f32[{}, {}]\n", rows, columns) +
         Nest("mm", {{"i", rows}, {"j", columns}, {"k", depth, "reduce"}}, sum_into("T")) +
         Nest("out", axes, "C[i, j] = " + value) + "}";
}

}  // namespace tcc
