#include "search/candidate/result_bound.h"

#include <algorithm>
#include <cmath>

#include "ir/expr/visitor.h"

namespace tcc {
namespace {

// The distance from 1 to the next larger number of a float type; 0 for other types.
double Epsilon(DType dtype) {
  switch (dtype.code()) {
    case DTypeCode::kFloat64:
      return std::ldexp(1, -52);
    case DTypeCode::kFloat32:
      return std::ldexp(1, -23);
    case DTypeCode::kFloat16:
      return std::ldexp(1, -10);
    case DTypeCode::kBFloat16:
      return std::ldexp(1, -7);
    case DTypeCode::kFloat8E4M3:
      return std::ldexp(1, -3);
    case DTypeCode::kFloat8E5M2:
      return std::ldexp(1, -2);
    default:
      return 0;
  }
}

}  // namespace

double TermsOf(const Function& fn) {
  double most = 1;
  for (const Ref<Block>& block : BlocksOf(fn.body)) {
    double terms = 1;
    for (const IterVar& iter : block->iters) {
      if (iter.kind != IterKind::kReduce) continue;
      terms *= static_cast<double>(AsConstant(iter.domain).value_or(1));
    }
    most = std::max(most, terms);
  }
  return most;
}

double EpsilonOf(const Function& fn) {
  double largest = 0;
  for (const Buffer& buffer : DeclaredBuffers(fn)) {
    // Reading a storage type rounds nothing; writing one goes through a cast.
    if (buffer.dtype().is_float()) largest = std::max(largest, Epsilon(buffer.dtype()));
  }
  PreOrderExprs(fn.body, [&](const Expr& expr) {
    if (expr.as<Cast>()) largest = std::max(largest, Epsilon(expr.dtype()));
  });
  return largest;
}

}  // namespace tcc
