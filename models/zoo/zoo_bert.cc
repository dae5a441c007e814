#include "models/zoo/transformer_builder.h"
#include "models/zoo/zoo_networks.h"

namespace tcc {
namespace {

constexpr double kEpsilon = 1e-12;

ValueId Embedding(GraphBuilder& net, const std::string& name, ValueId ids, int64_t rows,
                  int64_t width) {
  ValueId table = net.Weight(name + ".weight", {rows, width}, 0, 1);
  return net.Emit(name, OpKind::kGather, {table, ids}, {{"axis", int64_t{0}}});
}

// 0 where the mask is 1, -10000 where it is 0; [1, 1, 1, tokens].
ValueId ScoreMask(GraphBuilder& net, ValueId mask) {
  ValueId wide =
      net.Emit("mask.wide", OpKind::kUnsqueeze, {mask, net.Ints("mask.axes", {1, 2})}, {}, kInt64);
  ValueId number = net.Emit("mask.f32", OpKind::kCast, {wide}, {{"to", ToString(kFloat32)}});
  ValueId off = net.Emit("mask.off", OpKind::kSub, {net.Scalar("mask.one", 1), number});
  return Mul(net, "mask", off, net.Scalar("mask.low", -10000));
}

ValueId EncoderLayer(GraphBuilder& net, const std::string& name, ValueId x, ValueId mask,
                     const TransformerSpec& spec) {
  auto heads_of = [&](const std::string& part) {
    ValueId projected = Dense(net, name + "." + part, x, spec.width, spec.width, kProjectionGain);
    return SplitHeads(net, name + "." + part + "_heads", projected, spec.tokens, spec.heads,
                      spec.depth());
  };
  ValueId query = heads_of("query");
  ValueId key = heads_of("key");
  ValueId value = heads_of("value");
  ValueId mixed = AttentionOf(net, name + ".attention", {query, key, value, mask}, spec.depth());
  mixed = JoinHeads(net, name + ".join", mixed, spec);
  mixed = Dense(net, name + ".out", mixed, spec.width, spec.width, kProjectionGain);
  x = net.Add(name + ".add1", mixed, x);
  x = LayerNormalization(net, name + ".ln1", x, spec.width, kEpsilon);
  ValueId inner = Dense(net, name + ".intermediate", x, spec.width, spec.hidden, 1);
  inner = Gelu(net, name + ".gelu", inner);
  inner = Dense(net, name + ".output", inner, spec.hidden, spec.width, kProjectionGain);
  return LayerNormalization(net, name + ".ln2", net.Add(name + ".add2", inner, x), spec.width,
                            kEpsilon);
}

}  // namespace

Graph BuildBertBase(const ZooOptions& options) {
  int64_t words = options.small ? 100 : 30522;
  int64_t positions = options.small ? 24 : 512;
  int layers = options.small ? 2 : 12;
  TransformerSpec spec{.tokens = options.small ? 12 : 128,
                       .width = options.small ? 32 : 768,
                       .heads = options.small ? 4 : 12,
                       .hidden = options.small ? 64 : 3072};

  GraphBuilder net("bert_base", options.seed);
  ValueId ids = net.IntegerInput("input_ids", {1, spec.tokens});
  ValueId mask = ScoreMask(net, net.IntegerInput("attention_mask", {1, spec.tokens}));
  ValueId types = net.IntegerInput("token_type_ids", {1, spec.tokens});
  ValueId word = Embedding(net, "words", ids, words, spec.width);
  ValueId type = Embedding(net, "types", types, 2, spec.width);
  ValueId table = net.Weight("positions.weight", {1, positions, spec.width}, 0, 1);
  ValueId position =
      net.Emit("positions", OpKind::kSlice,
               {table, net.Ints("positions.start", {0}), net.Ints("positions.end", {spec.tokens}),
                net.Ints("positions.axis", {1})});
  ValueId x = net.Add("embeddings.add", net.Add("embeddings", word, type), position);
  x = LayerNormalization(net, "embeddings.ln", x, spec.width, kEpsilon);
  for (int layer = 0; layer < layers; ++layer) {
    x = EncoderLayer(net, fmt::format("layer{}", layer), x, mask, spec);
  }
  net.Output(x, {1, spec.tokens, spec.width});
  ValueId first = Pick(net, "first", x, 1, 0);
  ValueId pooled = net.Linear("pooler", first, spec.width, spec.width, kProjectionGain);
  net.Output(net.Emit("pooled", OpKind::kTanh, {pooled}), {1, spec.width});
  return net.Take();
}

}  // namespace tcc
