#include "tests/programs/product_function.h"

#include <fmt/format.h>

#include "ir/text/parser.h"
#include "support/check.h"

namespace tcc {
namespace {

int64_t ExtentOf(const ProductShape& shape, char index) {
  switch (index) {
    case 'b':
      return shape.batch;
    case 'i':
      return shape.rows;
    case 'j':
      return shape.columns;
    default:
      return shape.depth;
  }
}

// "i, k" as "64, 32".
std::string ShapeOf(const ProductShape& shape, const std::string& indices) {
  std::string text;
  for (char index : indices) {
    if (index == ' ' || index == ',') {
      text += index;
    } else {
      text += std::to_string(ExtentOf(shape, index));
    }
  }
  return text;
}

// Loops over `indices`, k being reduced, round a block that does `statement`.
std::string Nest(const ProductShape& shape, const std::string& block, const std::string& indices,
                 const std::string& statement) {
  std::string loops, iters, close;
  for (char index : indices) {
    if (index == ' ' || index == ',') continue;
    int64_t extent = ExtentOf(shape, index);
    bool reduced = index == 'k' && block == "mm";
    loops += fmt::format("for {0} in 0..{1} @{2}/{0} {{ ", index, extent, block);
    iters += fmt::format("{0}{1}: {2} {3} = {1}", iters.empty() ? "" : ", ", index,
                         reduced ? "reduce" : "spatial", extent);
    close += " }";
  }
  return fmt::format("{}block {}({}) {{ {} }}{}\n", loops, block, iters, statement, close);
}

// Of two elements.
std::string ProductOf(const ProductShape& shape, const std::string& a, const std::string& b) {
  auto rounded = [](const std::string& x) { return fmt::format("f32(tf32({}))", x); };
  auto big = [](const std::string& x) {
    return fmt::format("select(is_inf({0}), sign({0}), f32(tf32(min(max({0}, -{1}), {1}))))", x,
                       "3.4011621342146535e+38");
  };
  auto small = [&](const std::string& x) { return rounded(x + " - " + big(x)); };
  if (shape.tf32 == "tf32") return rounded(a) + " * " + rounded(b);
  if (shape.tf32 == "tf32 of a") return fmt::format("{} * f32({})", rounded(a), b);
  if (shape.tf32 == "tf32 of b") return fmt::format("f32({}) * {}", a, rounded(b));
  if (shape.tf32 == "3xtf32") {
    return fmt::format("({0} * {3} + {2} * {1}) + {0} * {1}", big(a), big(b), small(a), small(b));
  }
  return fmt::format("{0}({1}) * {0}({2})", shape.sum, a, b);
}

}  // namespace

Function ProductFunction(const ProductShape& shape) {
  std::string cell = shape.batch > 0 ? "b, i, j" : "i, j";
  bool rounds_a = shape.narrowed || shape.tf32 == "tf32 of a";
  std::string text =
      fmt::format("fn f(A: {0}[{1}], B: {2}[{3}]{7}, D: f32[{4}], C: {5}[{6}]) tensor {{\n",
                  rounds_a ? "f32" : shape.type, ShapeOf(shape, shape.a),
                  shape.tf32 == "tf32 of b" ? "f32" : shape.type, ShapeOf(shape, shape.b),
                  shape.columns, shape.rounded ? shape.type : shape.sum, ShapeOf(shape, cell),
                  shape.constant ? " constant" : "");
  std::string left = shape.narrowed ? "N" : "A", result = shape.rounded ? "S" : "C";
  if (shape.rounded) text += fmt::format("alloc S: {}[{}]\n", shape.sum, ShapeOf(shape, cell));
  if (shape.narrowed) {
    text +=
        fmt::format("alloc N: {}[{}]\n", shape.type, ShapeOf(shape, shape.a)) +
        Nest(shape, "narrow", shape.a, fmt::format("N[{0}] = {1}(A[{0}])", shape.a, shape.type));
  }
  text += Nest(shape, "mm", cell + ", k",
               fmt::format("reduce sum_{} init ({}[{}]) with ({})", shape.sum, result, cell,
                           ProductOf(shape, fmt::format("{}[{}]", left, shape.a),
                                     fmt::format("B[{}]", shape.b))));
  if (shape.rounded) {
    text += Nest(shape, "out", cell, fmt::format("C[{0}] = {1}(S[{0}] + D[j])", cell, shape.type));
  }
  StatusOr<Function> fn = ParseFunction(text + "}");
  TCC_CHECK(fn.ok()) << text << Message(fn.status());
  return *fn;
}

}  // namespace tcc
