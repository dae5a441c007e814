#include <dnnl.hpp>

#include <algorithm>
#include <memory>

#include "bench/arm64/peer.h"

namespace tcc::peers {
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

constexpr auto kF32 = memory::data_type::f32;
constexpr auto kAny = memory::format_tag::any;

float* DataOf(const memory& of) {
  return static_cast<float*>(of.get_data_handle());
}
size_t ElementsOf(const memory& of) {
  return of.get_desc().get_size() / sizeof(float);
}

// Runs the primitive on ones in the layouts that it chose, padding included.
Operator OperatorOf(const dnnl::engine& engine, const dnnl::primitive& primitive,
                    const memory::desc& source, const memory::desc& weights,
                    const memory::desc& destination) {
  auto operands = std::make_shared<Arguments>(Arguments{{DNNL_ARG_SRC, {source, engine}},
                                                        {DNNL_ARG_WEIGHTS, {weights, engine}},
                                                        {DNNL_ARG_DST, {destination, engine}}});
  for (int ones : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS}) {
    const memory& operand = operands->at(ones);
    std::fill_n(DataOf(operand), ElementsOf(operand), 1.F);
  }
  auto run = [=, stream = dnnl::stream(engine)]() mutable {
    primitive.execute(stream, *operands);
    stream.wait();
  };
  auto output = [=] {
    const memory& result = operands->at(DNNL_ARG_DST);
    return std::vector<float>(DataOf(result), DataOf(result) + ElementsOf(result));
  };
  return {.run = run, .output = output};
}

memory::dim Dim(size_t extent) {
  return static_cast<memory::dim>(extent);
}

}  // namespace

Operator MakeProduct(const Product& product) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::dim rows = Dim(product.rows), columns = Dim(product.columns);
  const memory::dim depth = Dim(product.depth);
  const dnnl::matmul::primitive_desc chosen(
      dnnl::matmul::desc({{rows, depth}, kF32, memory::format_tag::ab},
                         {{depth, columns}, kF32, kAny},
                         {{rows, columns}, kF32, memory::format_tag::ab}),
      engine);
  return OperatorOf(engine, dnnl::matmul(chosen), chosen.src_desc(), chosen.weights_desc(),
                    chosen.dst_desc());
}

Operator MakeConvolution(const Convolution& c) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::dim size = Dim(c.size), output_size = Dim(c.output_size());
  const memory::dim kernel = Dim(c.kernel), stride = Dim(c.stride), padding = Dim(c.padding());
  const memory::dim groups = Dim(c.groups), channels = Dim(c.channels), filters = Dim(c.filters);
  memory::dims weights = {filters, channels, kernel, kernel};
  if (groups > 1) weights = {groups, filters / groups, channels / groups, kernel, kernel};
  const dnnl::convolution_forward::primitive_desc chosen(
      dnnl::convolution_forward::desc(
          dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto,
          {{1, channels, size, size}, kF32, kAny}, {weights, kF32, kAny},
          {{1, filters, output_size, output_size}, kF32, kAny}, {stride, stride},
          {padding, padding}, {padding, padding}),
      engine);
  return OperatorOf(engine, dnnl::convolution_forward(chosen), chosen.src_desc(),
                    chosen.weights_desc(), chosen.dst_desc());
}

}  // namespace tcc::peers
