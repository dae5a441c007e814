#include <xnnpack.h>

#include <limits>
#include <memory>

#include "bench/arm64/peer.h"

namespace tcc::peers {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::infinity();  // of an activation

void Check(xnn_status status, const char* what) {
  if (status != xnn_status_success) Fail(what);
}

// Returns ones that may be read XNN_EXTRA_BYTES beyond the end.
std::shared_ptr<std::vector<float>> Ones(size_t elements) {
  return std::make_shared<std::vector<float>>(elements + XNN_EXTRA_BYTES / sizeof(float), 1.F);
}

Operator OperatorOf(xnn_operator_t made, std::shared_ptr<std::vector<float>> data,
                    std::shared_ptr<std::vector<float>> result) {
  auto run = [=] {
    (void)data;  // keeps it
    Check(xnn_run_operator(made, nullptr), "xnn_run_operator");
  };
  return {.run = run, .output = [=] { return *result; }};
}

}  // namespace

Operator MakeProduct(const Product& product) {
  Check(xnn_initialize(nullptr), "xnn_initialize");
  auto data = Ones(product.rows * product.depth);
  auto weights = Ones(product.depth * product.columns);
  auto result = std::make_shared<std::vector<float>>(product.rows * product.columns);
  xnn_operator_t made = nullptr;
  Check(xnn_create_fully_connected_nc_f32(product.depth, product.columns, product.depth,
                                          product.columns, weights->data(), nullptr, -kNoBound,
                                          kNoBound, 0, &made),
        "xnn_create_fully_connected_nc_f32");
  Check(xnn_setup_fully_connected_nc_f32(made, product.rows, data->data(), result->data(), nullptr),
        "xnn_setup_fully_connected_nc_f32");
  return OperatorOf(made, data, result);
}

Operator MakeConvolution(const Convolution& c) {
  Check(xnn_initialize(nullptr), "xnn_initialize");
  const auto padding = static_cast<uint32_t>(c.padding());
  const auto kernel = static_cast<uint32_t>(c.kernel);
  const auto stride = static_cast<uint32_t>(c.stride);
  const size_t group_channels = c.channels / c.groups;
  auto data = Ones(c.size * c.size * c.channels);
  auto weights = Ones(c.filters * c.kernel * c.kernel * group_channels);
  auto result = std::make_shared<std::vector<float>>(c.output_size() * c.output_size() * c.filters);
  xnn_operator_t made = nullptr;
  Check(xnn_create_convolution2d_nhwc_f32(
            padding, padding, padding, padding, kernel, kernel, stride, stride, 1, 1,
            static_cast<uint32_t>(c.groups), group_channels, c.filters / c.groups, c.channels,
            c.filters, weights->data(), nullptr, -kNoBound, kNoBound, 0, &made),
        "xnn_create_convolution2d_nhwc_f32");
  Check(xnn_setup_convolution2d_nhwc_f32(made, 1, c.size, c.size, data->data(), result->data(),
                                         nullptr),
        "xnn_setup_convolution2d_nhwc_f32");
  return OperatorOf(made, data, result);
}

}  // namespace tcc::peers
