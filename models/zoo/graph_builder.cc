#include "models/zoo/graph_builder.h"

#include <algorithm>
#include <cmath>

#include "ir/graph/constants.h"
#include "support/check.h"

namespace tcc {
namespace {

using Extents = std::vector<int64_t>;

// Returns half the width of a uniform distribution with He's variance, gain^2 * 2 / fan_in.
double HeSpread(int64_t fan_in, double gain) {
  return gain * std::sqrt(6.0 / static_cast<double>(fan_in));
}

constexpr double kBiasSpread = 0.1;

}  // namespace

ValueId GraphBuilder::Input(const std::string& name, const std::vector<int64_t>& shape) {
  graph_.inputs.push_back(
      graph_.AddValue({.name = name, .dtype = kFloat32, .shape = ToExprs(shape)}));
  return graph_.inputs.back();
}

ValueId GraphBuilder::IntegerInput(const std::string& name, const std::vector<int64_t>& shape) {
  graph_.inputs.push_back(
      graph_.AddValue({.name = name, .dtype = kInt64, .shape = ToExprs(shape)}));
  return graph_.inputs.back();
}

void GraphBuilder::Output(ValueId id, const std::vector<int64_t>& shape) {
  graph_.values[id].shape = ToExprs(shape);
  graph_.outputs.push_back(id);
}

ValueId GraphBuilder::Emit(const std::string& name, OpKind op, std::vector<ValueId> inputs,
                           std::map<std::string, Attribute> attributes, DType dtype) {
  ValueId output = graph_.AddValue({.name = name, .dtype = dtype});
  graph_.nodes.push_back({.name = name,
                          .op = op,
                          .inputs = std::move(inputs),
                          .outputs = {output},
                          .attributes = std::move(attributes)});
  return output;
}

ValueId GraphBuilder::Weight(const std::string& name, const std::vector<int64_t>& shape,
                             double center, double spread) {
  Tensor tensor = MakeZeroTensor(kFloat32, shape);
  auto* values = reinterpret_cast<float*>(MutableBytes(tensor).data());
  Random random = random_.Fork();
  for (size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i) {
    values[i] = static_cast<float>(center + spread * (2 * random.Unit() - 1));
  }
  return Constant(name, tensor);
}

ValueId GraphBuilder::Constant(const std::string& name, const Tensor& tensor) {
  return graph_.AddValue(
      {.name = name, .dtype = tensor.dtype, .shape = ToExprs(tensor.shape), .constant = tensor});
}

ValueId GraphBuilder::Ints(const std::string& name, const std::vector<int64_t>& values) {
  return Constant(name, IntVector(values));
}

ValueId GraphBuilder::Scalar(const std::string& name, double value) {
  return Weight(name, {}, value, 0);
}

ValueId GraphBuilder::Conv(const std::string& name, ValueId x, const ConvSpec& spec) {
  return ConvNd(name, x,
                {.in = spec.in,
                 .out = spec.out,
                 .kernel = {spec.kernel, spec.kernel},
                 .strides = {spec.stride, spec.stride},
                 .padding = {spec.padding, spec.padding},
                 .group = spec.group,
                 .bias = spec.bias,
                 .gain = spec.gain});
}

ValueId GraphBuilder::ConvNd(const std::string& name, ValueId x, const ConvNdSpec& spec) {
  TCC_CHECK(spec.in % spec.group == 0 && spec.out % spec.group == 0) << name;
  Extents shape = {spec.out, spec.in / spec.group};
  shape.insert(shape.end(), spec.kernel.begin(), spec.kernel.end());
  int64_t fan_in = spec.in / spec.group;
  for (int64_t extent : spec.kernel) fan_in *= extent;
  Extents pads = spec.padding;
  pads.insert(pads.end(), spec.padding.begin(), spec.padding.end());
  std::vector<ValueId> inputs = {x,
                                 Weight(name + ".weight", shape, 0, HeSpread(fan_in, spec.gain))};
  if (spec.bias) inputs.push_back(Weight(name + ".bias", {spec.out}, 0, kBiasSpread));
  return Emit(name, OpKind::kConv, std::move(inputs),
              {{"auto_pad", std::string("NOTSET")},
               {"dilations", Extents(spec.kernel.size(), 1)},
               {"group", spec.group},
               {"kernel_shape", spec.kernel},
               {"pads", pads},
               {"strides", spec.strides}});
}

ValueId GraphBuilder::ConvTranspose(const std::string& name, ValueId x, const ConvSpec& spec) {
  TCC_CHECK(spec.group == 1 && !spec.bias) << name;
  // Only the taps of one phase, about (kernel / stride)^2 of kernel^2, contribute to an output.
  int64_t taps = std::max<int64_t>(spec.kernel / spec.stride, 1);
  double spread = HeSpread(spec.in * taps * taps, spec.gain);
  ValueId weight =
      Weight(name + ".weight", {spec.in, spec.out, spec.kernel, spec.kernel}, 0, spread);
  return Emit(name, OpKind::kConvTranspose, {x, weight},
              {{"auto_pad", std::string("NOTSET")},
               {"dilations", Extents{1, 1}},
               {"group", spec.group},
               {"kernel_shape", Extents{spec.kernel, spec.kernel}},
               {"pads", Extents(4, spec.padding)},
               {"strides", Extents{spec.stride, spec.stride}}});
}

ValueId GraphBuilder::BatchNormalization(const std::string& name, ValueId x, int64_t channels,
                                         double gain) {
  ValueId scale = Weight(name + ".weight", {channels}, gain, gain / 4);
  ValueId bias = Weight(name + ".bias", {channels}, 0, kBiasSpread);
  ValueId mean = Weight(name + ".running_mean", {channels}, 0, kBiasSpread);
  ValueId variance = Weight(name + ".running_var", {channels}, 1, 0.25);
  return Emit(name, OpKind::kBatchNormalization, {x, scale, bias, mean, variance},
              {{"epsilon", static_cast<double>(1e-5f)}});
}

ValueId GraphBuilder::Relu(const std::string& name, ValueId x) {
  return Emit(name, OpKind::kRelu, {x});
}

ValueId GraphBuilder::Relu6(const std::string& name, ValueId x) {
  ValueId low = Scalar(name + ".min", 0);
  ValueId high = Scalar(name + ".max", 6);
  return Emit(name, OpKind::kClip, {x, low, high});
}

ValueId GraphBuilder::Add(const std::string& name, ValueId a, ValueId b) {
  return Emit(name, OpKind::kAdd, {a, b});
}

ValueId GraphBuilder::MaxPool(const std::string& name, ValueId x, int64_t kernel, int64_t stride,
                              int64_t padding) {
  return Emit(name, OpKind::kMaxPool, {x},
              {{"auto_pad", std::string("NOTSET")},
               {"ceil_mode", int64_t{0}},
               {"dilations", Extents{1, 1}},
               {"kernel_shape", Extents{kernel, kernel}},
               {"pads", Extents(4, padding)},
               {"storage_order", int64_t{0}},
               {"strides", Extents{stride, stride}}});
}

ValueId GraphBuilder::GlobalAveragePool(const std::string& name, ValueId x) {
  return Emit(name, OpKind::kGlobalAveragePool, {x});
}

ValueId GraphBuilder::Flatten(const std::string& name, ValueId x) {
  return Emit(name, OpKind::kFlatten, {x}, {{"axis", int64_t{1}}});
}

ValueId GraphBuilder::Linear(const std::string& name, ValueId x, int64_t in, int64_t out,
                             double gain) {
  ValueId weight = Weight(name + ".weight", {out, in}, 0, HeSpread(in, gain));
  ValueId bias = Weight(name + ".bias", {out}, 0, kBiasSpread);
  return Emit(name, OpKind::kGemm, {x, weight, bias},
              {{"alpha", 1.0}, {"beta", 1.0}, {"transA", int64_t{0}}, {"transB", int64_t{1}}});
}

}  // namespace tcc
