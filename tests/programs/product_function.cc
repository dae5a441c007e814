#include "tests/programs/product_function.h"

#include <fmt/format.h>

#include "ir/parser.h"
#include "ir/support/check.h"

namespace tcc {
namespace {

std::string ShapeOf(const ProductShape& shape, const std::string& indices) {
  std::string text;
  for (char index : indices) {
    if (index == 'b') text += std::to_string(shape.batch);
    if (index == 'i') text += std::to_string(shape.rows);
    if (index == 'j') text += std::to_string(shape.columns);
    if (index == 'k') text += std::to_string(shape.depth);
    if (index == ',') text += ", ";
  }
  return text;
}

}  // namespace

Function ProductFunction(const ProductShape& shape) {
  std::string outer = shape.batch > 0 ? "b, " : "";
  std::string loop = shape.batch > 0 ? fmt::format("for b in 0..{} @mm/b {{ ", shape.batch) : "";
  std::string iter = shape.batch > 0 ? fmt::format("b: spatial {} = b, ", shape.batch) : "";
  std::string loops = loop + fmt::format("for i in 0..{} @mm/i {{ for j in 0..{} @mm/j {{ ",
                                         shape.rows, shape.columns);
  std::string iters =
      iter + fmt::format("i: spatial {} = i, j: spatial {} = j", shape.rows, shape.columns);
  std::string close = shape.batch > 0 ? "} } }" : "} }";
  std::string round_loops = loops;
  for (size_t at = 0; (at = round_loops.find("@mm", at)) != std::string::npos; ++at) {
    round_loops.replace(at, 3, "@out");
  }
  std::string cell = outer + "i, j";
  std::string result = shape.rounded ? "S" : "C";
  std::string text =
      fmt::format("fn f(A: {0}[{1}], B: {0}[{2}], D: f32[{3}], C: {4}[{5}]) tensor {{\n",
                  shape.type, ShapeOf(shape, shape.a), ShapeOf(shape, shape.b), shape.columns,
                  shape.rounded ? shape.type : shape.sum, ShapeOf(shape, cell));
  if (shape.rounded) text += fmt::format("alloc S: {}[{}]\n", shape.sum, ShapeOf(shape, cell));
  text += loops + fmt::format(
                      "for k in 0..{0} @mm/k {{ block mm({1}, k: reduce {0} = k) {{ reduce sum_{2} "
                      "init ({3}[{4}]) with ({2}(A[{5}]) * {2}(B[{6}])) }} }} {7}\n",
                      shape.depth, iters, shape.sum, result, cell, shape.a, shape.b, close);
  if (shape.rounded) {
    text += round_loops + fmt::format("block out({0}) {{ C[{1}] = {2}(S[{1}] + D[j]) }} {3}\n",
                                      iters, cell, shape.type, close);
  }
  StatusOr<Function> fn = ParseFunction(text + "}");
  TCC_CHECK(fn.ok()) << text << Message(fn.status());
  return *fn;
}

}  // namespace tcc
