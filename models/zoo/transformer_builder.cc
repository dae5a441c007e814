#include "models/zoo/transformer_builder.h"

#include <cmath>

#include "ir/graph/constants.h"

namespace tcc {
namespace {

using Extents = std::vector<int64_t>;

constexpr double kBiasSpread = 0.1;

// He's variance over that many inputs, as GraphBuilder's.
double Spread(int64_t fan_in, double gain) {
  return gain * std::sqrt(6.0 / static_cast<double>(fan_in));
}

}  // namespace

ValueId DenseWithoutBias(GraphBuilder& net, const std::string& name, ValueId x, int64_t in,
                         int64_t out, double gain) {
  ValueId weight = net.Weight(name + ".weight", {in, out}, 0, Spread(in, gain));
  return net.Emit(name + ".matmul", OpKind::kMatMul, {x, weight});
}

ValueId Dense(GraphBuilder& net, const std::string& name, ValueId x, int64_t in, int64_t out,
              double gain) {
  ValueId product = DenseWithoutBias(net, name, x, in, out, gain);
  return net.Add(name, product, net.Weight(name + ".bias", {out}, 0, kBiasSpread));
}

ValueId LayerNormalization(GraphBuilder& net, const std::string& name, ValueId x, int64_t width,
                           double epsilon) {
  ValueId scale = net.Weight(name + ".weight", {width}, 1, 0.25);
  ValueId bias = net.Weight(name + ".bias", {width}, 0, kBiasSpread);
  return net.Emit(name, OpKind::kLayerNormalization, {x, scale, bias},
                  {{"axis", int64_t{-1}},
                   {"epsilon", static_cast<double>(static_cast<float>(epsilon))},
                   {"stash_type", ToString(kFloat32)}});
}

ValueId Mul(GraphBuilder& net, const std::string& name, ValueId a, ValueId b) {
  return net.Emit(name, OpKind::kMul, {a, b});
}

ValueId Gelu(GraphBuilder& net, const std::string& name, ValueId x) {
  ValueId root = net.Scalar(name + ".sqrt2", std::sqrt(2.0));
  ValueId scaled = net.Emit(name + ".div", OpKind::kDiv, {x, root});
  ValueId erf = net.Emit(name + ".erf", OpKind::kErf, {scaled});
  ValueId sum = net.Add(name + ".add", erf, net.Scalar(name + ".one", 1));
  ValueId product = Mul(net, name + ".mul", x, sum);
  return Mul(net, name, product, net.Scalar(name + ".half", 0.5));
}

ValueId Reshape(GraphBuilder& net, const std::string& name, ValueId x, const Extents& shape) {
  return net.Emit(name, OpKind::kReshape, {x, net.Ints(name + ".shape", shape)},
                  {{"allowzero", int64_t{0}}});
}

ValueId Transpose(GraphBuilder& net, const std::string& name, ValueId x, const Extents& perm) {
  return net.Emit(name, OpKind::kTranspose, {x}, {{"perm", perm}});
}

ValueId Pick(GraphBuilder& net, const std::string& name, ValueId x, int64_t axis, int64_t index) {
  return net.Emit(name, OpKind::kGather, {x, net.Constant(name + ".index", IntScalar(index))},
                  {{"axis", axis}});
}

ValueId SplitHeads(GraphBuilder& net, const std::string& name, ValueId x, int64_t tokens,
                   int64_t heads, int64_t depth) {
  return Transpose(net, name, Reshape(net, name + ".split", x, {1, tokens, heads, depth}),
                   {0, 2, 1, 3});
}

ValueId JoinHeads(GraphBuilder& net, const std::string& name, ValueId x,
                  const TransformerSpec& spec) {
  return Reshape(net, name, Transpose(net, name + ".transpose", x, {0, 2, 1, 3}),
                 {1, spec.tokens, spec.width});
}

ValueId AttentionOf(GraphBuilder& net, const std::string& name, const Heads& heads, int64_t depth) {
  ValueId transposed = Transpose(net, name + ".keys", heads.key, {0, 1, 3, 2});
  ValueId scores = net.Emit(name + ".scores", OpKind::kMatMul, {heads.query, transposed});
  ValueId scale = net.Scalar(name + ".scale", 1 / std::sqrt(static_cast<double>(depth)));
  scores = Mul(net, name + ".scaled", scores, scale);
  if (heads.mask != kNoValue) scores = net.Add(name + ".masked", scores, heads.mask);
  ValueId weights =
      net.Emit(name + ".softmax", OpKind::kSoftmax, {scores}, {{"axis", int64_t{-1}}});
  return net.Emit(name + ".mix", OpKind::kMatMul, {weights, heads.value});
}

}  // namespace tcc
