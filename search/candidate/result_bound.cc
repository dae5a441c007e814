#include "search/candidate/result_bound.h"

#include <algorithm>

#include "ir/expr/visitor.h"
#include "support/storage_types.h"

namespace tcc {

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
