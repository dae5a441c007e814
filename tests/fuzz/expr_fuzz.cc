#include "ir/text/printer.h"
#include "tests/fuzz/expr_point.h"
#include "tests/fuzz/fuzz.h"

namespace tcc {

FuzzResult FuzzExpr(const FuzzOptions& options) {
  return RunPoints("expr", options, [](uint64_t seed, Histogram& histogram) {
    std::optional<ExprFailure> failure = CheckExprPoint(seed, histogram);
    if (!failure) return OkStatus();
    return WrongResult("{} is broken for {}", failure->property, Print(failure->expr));
  });
}

}  // namespace tcc
