#include <arm_compute/runtime/NEON/NEFunctions.h>
#include <arm_compute/runtime/NEON/NEScheduler.h>
#include <arm_compute/runtime/Tensor.h>

#include <memory>

#include "bench/arm64/peer.h"

namespace tcc::peers {
namespace {

using arm_compute::PadStrideInfo;
using arm_compute::Tensor;
using arm_compute::TensorShape;

struct Tensors {
  Tensor source, weights, destination;
};

// Calls `visit` with each element; a tensor's rows may lie apart.
template <typename Visit>
void ForEach(Tensor& tensor, const Visit& visit) {
  arm_compute::Window window;
  window.use_tensor_dimensions(tensor.info()->tensor_shape());
  arm_compute::Iterator at(&tensor, window);
  auto element = [&](const arm_compute::Coordinates&) {
    visit(*reinterpret_cast<float*>(at.ptr()));
  };
  arm_compute::execute_window_loop(window, element, at);
}

void Init(Tensor& tensor, const TensorShape& shape) {
  tensor.allocator()->init(
      arm_compute::TensorInfo(shape, 1, arm_compute::DataType::F32, arm_compute::DataLayout::NHWC));
}

// Runs `function`, which is configured for the tensors.
template <typename Function>
Operator OperatorOf(std::shared_ptr<Function> function, const std::shared_ptr<Tensors>& tensors) {
  for (Tensor* tensor : {&tensors->source, &tensors->weights, &tensors->destination}) {
    tensor->allocator()->allocate();
    ForEach(*tensor, [](float& element) { element = 1.F; });
  }
  auto output = [tensors] {
    std::vector<float> elements;
    ForEach(tensors->destination, [&](float element) { elements.push_back(element); });
    return elements;
  };
  return {.run = [function, tensors] { function->run(); }, .output = output};
}

}  // namespace

Operator MakeProduct(const Product& product) {
  arm_compute::NEScheduler::get().set_num_threads(1);
  auto tensors = std::make_shared<Tensors>();
  auto& [source, weights, destination] = *tensors;
  Init(source, TensorShape(product.depth, product.rows));
  Init(weights, TensorShape(product.columns, product.depth));
  Init(destination, TensorShape(product.columns, product.rows));
  auto function = std::make_shared<arm_compute::NEGEMM>();
  const arm_compute::GEMMInfo keeps_packed_weights(false, false, true);
  function->configure(&source, &weights, nullptr, &destination, 1.F, 0.F, keeps_packed_weights);
  return OperatorOf(function, tensors);
}

Operator MakeConvolution(const Convolution& c) {
  arm_compute::NEScheduler::get().set_num_threads(1);
  auto tensors = std::make_shared<Tensors>();
  auto& [source, weights, destination] = *tensors;
  const PadStrideInfo steps(c.stride, c.stride, c.padding(), c.padding());
  Init(source, TensorShape(c.channels, c.size, c.size));
  Init(destination, TensorShape(c.filters, c.output_size(), c.output_size()));
  if (c.is_depthwise()) {
    Init(weights, TensorShape(c.channels, c.kernel, c.kernel));
    auto function = std::make_shared<arm_compute::NEDepthwiseConvolutionLayer>();
    function->configure(&source, &weights, nullptr, &destination, steps);
    return OperatorOf(function, tensors);
  }
  Init(weights, TensorShape(c.channels / c.groups, c.kernel, c.kernel, c.filters));
  auto function = std::make_shared<arm_compute::NEConvolutionLayer>();
  function->configure(&source, &weights, nullptr, &destination, steps);
  return OperatorOf(function, tensors);
}

}  // namespace tcc::peers
