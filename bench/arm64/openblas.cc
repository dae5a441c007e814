#include <cblas.h>

#include <memory>

#include "bench/arm64/peer.h"

namespace tcc::peers {

// Packs both operands in each call: the interface keeps no packed weights.
Operator MakeProduct(const Product& product) {
  auto data = std::make_shared<std::vector<float>>(product.rows * product.depth, 1.F);
  auto weights = std::make_shared<std::vector<float>>(product.depth * product.columns, 1.F);
  auto result = std::make_shared<std::vector<float>>(product.rows * product.columns);
  auto run = [=] {
    const auto rows = static_cast<blasint>(product.rows);
    const auto columns = static_cast<blasint>(product.columns);
    const auto depth = static_cast<blasint>(product.depth);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, depth, 1.F, data->data(),
                depth, weights->data(), columns, 0.F, result->data(), columns);
  };
  return {.run = run, .output = [=] { return *result; }};
}

Operator MakeConvolution(const Convolution&) {
  return {};
}

}  // namespace tcc::peers
