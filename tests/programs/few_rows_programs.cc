#include "tests/programs/few_rows_programs.h"

#include <fmt/format.h>

#include "ir/text/parser.h"
#include "support/check.h"

namespace tcc {

Function FewRowsProduct(const FewRowsShape& shape) {
  const bool is_batch = shape.batch > 1;
  const std::string m = std::to_string(shape.rows), n = std::to_string(shape.columns),
                    k = std::to_string(shape.terms);
  const std::string b = is_batch ? fmt::format("{}, ", shape.batch) : "",
                    at = is_batch ? "b, " : "";
  auto loops = [&](const std::string& block, const std::string& last, const std::string& extent) {
    std::string text;
    if (is_batch) text += fmt::format("for b in 0..{} @{}/b {{ ", shape.batch, block);
    return text + fmt::format("for i in 0..{} @{}/i {{ for {} in 0..{} @{}/{} {{ ", m, block, last,
                              extent, block, last);
  };
  auto iters = [&](const std::string& last, const std::string& extent) {
    return fmt::format("{}i: spatial {} = i, {}: spatial {} = {}",
                       is_batch ? fmt::format("b: spatial {} = b, ", shape.batch) : "", m, last,
                       extent, last);
  };
  const std::string end = is_batch ? " } } }\n" : " } }\n";
  std::string text = fmt::format(
      "fn few(A: f32[{0}{1}, {2}], B: f32[{0}{2}, {3}], D: f32[{3}], "
      "C: f32[{0}{1}, {3}]) tensor {{\n",
      b, m, k, n);
  const std::string a = shape.map ? "S" : "A", c = shape.epilogue ? "T" : "C";
  if (shape.map) text += fmt::format("alloc S: f32[{}{}, {}]\n", b, m, k);
  if (shape.epilogue) text += fmt::format("alloc T: f32[{}{}, {}]\n", b, m, n);
  if (shape.map) {
    text +=
        loops("scaled", "k", k) +
        fmt::format("block scaled({}) {{ S[{}i, k] = A[{}i, k] * 0.5 }}", iters("k", k), at, at) +
        end;
  }
  text += loops("mm", "j", n) +
          fmt::format(
              "for k in 0..{0} @mm/k {{ block mm({1}, k: reduce {0} = k) {{ "
              "reduce sum_f32 init ({2}[{4}i, j]) with ({3}[{4}i, k] * B[{4}k, j]) }} }}",
              k, iters("j", n), c, a, at) +
          end;
  if (shape.epilogue) {
    text += loops("out", "j", n) +
            fmt::format("block out({}) {{ C[{}i, j] = max(T[{}i, j] + D[j], 0.0) }}", iters("j", n),
                        at, at) +
            end;
  }
  StatusOr<Function> fn = ParseFunction(text + "}");
  TCC_CHECK(fn.ok()) << text << "\n" << Message(fn.status());
  return *fn;
}

}  // namespace tcc
