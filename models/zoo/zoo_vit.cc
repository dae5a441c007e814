#include "models/zoo/transformer_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

constexpr double kEpsilon = 1e-6;

// One projection gives queries, keys and values.
ValueId SelfAttention(GraphBuilder& net, const std::string& name, ValueId x,
                      const TransformerSpec& spec) {
  ValueId all = Dense(net, name + ".in", x, spec.width, 3 * spec.width, kProjectionGain);
  all = Reshape(net, name + ".parts", all, {1, spec.tokens, 3, spec.heads, spec.depth()});
  all = Transpose(net, name + ".parts_first", all, {2, 0, 3, 1, 4});
  Heads heads{.query = Pick(net, name + ".q", all, 0, 0),
              .key = Pick(net, name + ".k", all, 0, 1),
              .value = Pick(net, name + ".v", all, 0, 2)};
  ValueId mixed = AttentionOf(net, name, heads, spec.depth());
  mixed = JoinHeads(net, name + ".join", mixed, spec);
  return Dense(net, name + ".out", mixed, spec.width, spec.width, kBranchGain);
}

ValueId EncoderLayer(GraphBuilder& net, const std::string& name, ValueId x,
                     const TransformerSpec& spec) {
  ValueId normal = LayerNormalization(net, name + ".ln1", x, spec.width, kEpsilon);
  x = net.Add(name + ".add1", x, SelfAttention(net, name + ".attention", normal, spec));
  normal = LayerNormalization(net, name + ".ln2", x, spec.width, kEpsilon);
  ValueId inner = Dense(net, name + ".mlp1", normal, spec.width, spec.hidden, 1);
  inner = Gelu(net, name + ".gelu", inner);
  inner = Dense(net, name + ".mlp2", inner, spec.hidden, spec.width, kBranchGain);
  return net.Add(name + ".add2", x, inner);
}

}  // namespace

Graph BuildVitB16(const ZooOptions& options) {
  int64_t size = options.small ? 48 : 224;
  int64_t patch = 16;
  int64_t side = size / patch;
  int layers = options.small ? 2 : 12;
  int64_t classes = options.small ? 10 : 1000;
  TransformerSpec spec{.tokens = side * side + 1,
                       .width = options.small ? 32 : 768,
                       .heads = options.small ? 4 : 12,
                       .hidden = options.small ? 64 : 3072};

  GraphBuilder net("vit_b_16", options.seed);
  ValueId x = net.Input("x", {1, 3, size, size});
  x = net.Conv(
      "patches", x,
      {.in = 3, .out = spec.width, .kernel = patch, .stride = patch, .gain = kProjectionGain});
  x = Reshape(net, "patches.flat", x, {1, spec.width, side * side});
  x = Transpose(net, "patches.tokens", x, {0, 2, 1});
  ValueId token = net.Weight("class_token", {1, 1, spec.width}, 0, 1);
  x = net.Emit("tokens", OpKind::kConcat, {token, x}, {{"axis", int64_t{1}}});
  x = net.Add("positions", x, net.Weight("positions.weight", {1, spec.tokens, spec.width}, 0, 0.5));
  for (int layer = 0; layer < layers; ++layer) {
    x = EncoderLayer(net, fmt::format("layer{}", layer), x, spec);
  }
  x = LayerNormalization(net, "ln", x, spec.width, kEpsilon);
  x = Pick(net, "class", x, 1, 0);
  x = net.Linear("head", x, spec.width, classes, 1);
  net.Output(x, {1, classes});
  return net.Take();
}

}  // namespace tcc
