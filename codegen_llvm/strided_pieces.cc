#include "codegen_llvm/strided_pieces.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

namespace tcc {

using llvm::Value;

int StridedPieces::Count() const {
  return (Span() + lanes - 1) / lanes;
}

int StridedPieces::Begin(int piece) const {
  return std::min(piece * lanes, Span() - lanes);
}

Value* StridedPieces::MaskOf(llvm::IRBuilderBase& b, Value* mask, int piece) const {
  std::vector<int> order;
  for (int cell = Begin(piece); cell < Begin(piece) + lanes; ++cell) {
    order.push_back(cell % stride == 0 ? cell / stride : lanes);
  }
  return b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), order);
}

Value* StridedPieces::Pick(llvm::IRBuilderBase& b, const std::vector<Value*>& pieces) const {
  // Lanes that lie in the first two pieces, then those of each that follows.
  Value* picked = pieces[0];
  for (int p = 1; p < Count(); ++p) {
    std::vector<int> order;
    for (int lane = 0; lane < lanes; ++lane) {
      int cell = lane * stride;
      if (cell / lanes == p) {
        order.push_back(lanes + cell - Begin(p));
      } else {
        order.push_back(p == 1 && cell < lanes ? cell : lane);
      }
    }
    picked = b.CreateShuffleVector(picked, pieces[static_cast<size_t>(p)], order);
  }
  return picked;
}

}  // namespace tcc
