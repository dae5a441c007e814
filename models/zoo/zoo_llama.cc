#include <cmath>

#include "models/zoo/transformer_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

using Extents = std::vector<int64_t>;

struct LlamaSpec {
  TransformerSpec base;
  int64_t key_heads;  // shared by base.heads / key_heads queries each
};

// x / sqrt(mean(x^2) + epsilon) * weight, as exporters before opset 23 write it.
ValueId RmsNormalization(GraphBuilder& net, const std::string& name, ValueId x, int64_t width) {
  ValueId square = net.Emit(name + ".square", OpKind::kPow, {x, net.Scalar(name + ".two", 2)});
  ValueId mean =
      net.Emit(name + ".mean", OpKind::kReduceMean, {square, net.Ints(name + ".mean/axes", {-1})},
               {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{0}}});
  ValueId shifted = net.Add(name + ".shifted", mean, net.Scalar(name + ".epsilon", 1e-5));
  ValueId root = net.Emit(name + ".root", OpKind::kSqrt, {shifted});
  ValueId normal = net.Emit(name + ".normal", OpKind::kDiv, {x, root});
  return Mul(net, name, normal, net.Weight(name + ".weight", {width}, 1, 0.25));
}

// cos or sin of position * 10000^(-2 i / depth), twice side by side; [1, 1, tokens, depth].
ValueId Angles(GraphBuilder& net, const std::string& name, int64_t tokens, int64_t depth,
               double (*function)(double)) {
  Tensor table = MakeZeroTensor(kFloat32, {1, 1, tokens, depth});
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t d = 0; d < depth; ++d) {
      double exponent = static_cast<double>(2 * (d % (depth / 2))) / static_cast<double>(depth);
      SetElement(table, t * depth + d, function(static_cast<double>(t) * std::pow(1e4, -exponent)));
    }
  }
  return net.Constant(name, table);
}

struct Rotation {
  ValueId cosine;
  ValueId sine;
};

// x * cos + (-second half, first half) * sin.
ValueId Rotated(GraphBuilder& net, const std::string& name, ValueId x, const Rotation& rotation,
                int64_t depth) {
  auto half = [&](const std::string& part, int64_t from, int64_t to) {
    std::string slice = name + "." + part;
    return net.Emit(slice, OpKind::kSlice,
                    {x, net.Ints(slice + ".start", {from}), net.Ints(slice + ".end", {to}),
                     net.Ints(slice + ".axis", {3})});
  };
  ValueId first = half("first", 0, depth / 2);
  ValueId second = half("second", depth / 2, depth);
  ValueId negative = net.Emit(name + ".neg", OpKind::kNeg, {second});
  ValueId turned =
      net.Emit(name + ".turned", OpKind::kConcat, {negative, first}, {{"axis", int64_t{-1}}});
  return net.Add(name, Mul(net, name + ".cos", x, rotation.cosine),
                 Mul(net, name + ".sin", turned, rotation.sine));
}

// Each key head `copies` times in a row.
ValueId Repeated(GraphBuilder& net, const std::string& name, ValueId x, const LlamaSpec& spec) {
  int64_t copies = spec.base.heads / spec.key_heads;
  int64_t depth = spec.base.depth();
  ValueId wide = net.Emit(name + ".wide", OpKind::kUnsqueeze, {x, net.Ints(name + ".axis", {2})});
  ValueId all = net.Emit(
      name + ".expand", OpKind::kExpand,
      {wide, net.Ints(name + ".copies", {1, spec.key_heads, copies, spec.base.tokens, depth})});
  return Reshape(net, name, all, {1, spec.base.heads, spec.base.tokens, depth});
}

// 0 on and below the diagonal, a large negative number above.
ValueId CausalMask(GraphBuilder& net, int64_t tokens) {
  Tensor mask = MakeZeroTensor(kFloat32, {1, 1, tokens, tokens});
  for (int64_t row = 0; row < tokens; ++row) {
    for (int64_t column = row + 1; column < tokens; ++column) {
      SetElement(mask, row * tokens + column, -1e9);
    }
  }
  return net.Constant("causal_mask", mask);
}

ValueId SelfAttention(GraphBuilder& net, ValueId x, const LlamaSpec& spec) {
  const TransformerSpec& base = spec.base;
  int64_t depth = base.depth();
  auto heads_of = [&](const std::string& name, int64_t heads) {
    ValueId projected = DenseWithoutBias(net, name, x, base.width, heads * depth, kProjectionGain);
    return SplitHeads(net, name + "_heads", projected, base.tokens, heads, depth);
  };
  ValueId query = heads_of("query", base.heads);
  ValueId key = heads_of("key", spec.key_heads);
  ValueId value = heads_of("value", spec.key_heads);
  Rotation rotation{Angles(net, "cosines", base.tokens, depth, std::cos),
                    Angles(net, "sines", base.tokens, depth, std::sin)};
  query = Rotated(net, "query_rotated", query, rotation, depth);
  key = Rotated(net, "key_rotated", key, rotation, depth);
  key = Repeated(net, "key_repeated", key, spec);
  value = Repeated(net, "value_repeated", value, spec);
  ValueId mixed =
      AttentionOf(net, "attention", {query, key, value, CausalMask(net, base.tokens)}, depth);
  mixed = JoinHeads(net, "attention.join", mixed, base);
  return DenseWithoutBias(net, "attention.out", mixed, base.width, base.width, kBranchGain);
}

}  // namespace

Graph BuildLlamaBlock(const ZooOptions& options) {
  LlamaSpec spec{.base = {.tokens = options.small ? 8 : 128,
                          .width = options.small ? 32 : 2048,
                          .heads = options.small ? 4 : 32,
                          .hidden = options.small ? 48 : 5632},
                 .key_heads = options.small ? 2 : 4};
  const TransformerSpec& base = spec.base;
  GraphBuilder net("llama_block", options.seed);
  ValueId x = net.Input("x", {1, base.tokens, base.width});
  ValueId normal = RmsNormalization(net, "attention_norm", x, base.width);
  x = net.Add("attention.add", x, SelfAttention(net, normal, spec));
  normal = RmsNormalization(net, "mlp_norm", x, base.width);
  ValueId gate = DenseWithoutBias(net, "gate", normal, base.width, base.hidden, kProjectionGain);
  gate = Mul(net, "gate.silu", gate, net.Emit("gate.sigmoid", OpKind::kSigmoid, {gate}));
  ValueId up = DenseWithoutBias(net, "up", normal, base.width, base.hidden, kProjectionGain);
  ValueId down = DenseWithoutBias(net, "down", Mul(net, "gated", gate, up), base.hidden, base.width,
                                  kProjectionGain);
  net.Output(net.Add("y", x, down), {1, base.tokens, base.width});
  return net.Take();
}

}  // namespace tcc
