#include "graph/ops/broadcast.h"

#include <algorithm>

namespace tcc {

StatusOr<std::vector<Expr>> BroadcastShapes(const NodeLowering& node,
                                            const std::vector<std::vector<Expr>>& shapes) {
  size_t rank = 0;
  for (const auto& shape : shapes) rank = std::max(rank, shape.size());
  std::vector<Expr> result(rank, Expr(1));
  for (const auto& shape : shapes) {
    size_t skipped = rank - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      Expr& dim = result[skipped + d];
      if (IsConstant(shape[d], 1) || SameExtent(dim, shape[d])) continue;
      if (!IsConstant(dim, 1)) {
        return node.Error("operands {} and {} do not broadcast: dimension {} is {} and {}",
                          ShapeText(shapes[0]), ShapeText(shape), skipped + d, ShapeText({dim}),
                          ShapeText({shape[d]}));
      }
      dim = shape[d];
    }
  }
  return result;
}

}  // namespace tcc
