#pragma once

#include "models/zoo/graph_builder.h"

// The parts of the zoo's transformers. Activations are [1, tokens, width]; heads of attention are
// [1, heads, tokens, depth].
namespace tcc {

struct TransformerSpec {
  int64_t tokens = 1;
  int64_t width = 1;
  int64_t heads = 1;
  int64_t hidden = 1;  // of the feed-forward part
  int64_t depth() const { return width / heads; }
};

// The gain of a projection that is not rectified, and of one whose result is added to its operand.
inline constexpr double kProjectionGain = 0.7;
inline constexpr double kBranchGain = 0.3;

// Adds x * w + b with w [in, out].
ValueId Dense(GraphBuilder& net, const std::string& name, ValueId x, int64_t in, int64_t out,
              double gain);
// Adds x * w.
ValueId DenseWithoutBias(GraphBuilder& net, const std::string& name, ValueId x, int64_t in,
                         int64_t out, double gain);
ValueId LayerNormalization(GraphBuilder& net, const std::string& name, ValueId x, int64_t width,
                           double epsilon);
// Adds x * (1 + erf(x / sqrt 2)) / 2.
ValueId Gelu(GraphBuilder& net, const std::string& name, ValueId x);
ValueId Mul(GraphBuilder& net, const std::string& name, ValueId a, ValueId b);
ValueId Reshape(GraphBuilder& net, const std::string& name, ValueId x,
                const std::vector<int64_t>& shape);
ValueId Transpose(GraphBuilder& net, const std::string& name, ValueId x,
                  const std::vector<int64_t>& perm);
// Adds x[..., index, ...], without the indexed dimension.
ValueId Pick(GraphBuilder& net, const std::string& name, ValueId x, int64_t axis, int64_t index);

// These two reshape [1, tokens, heads * depth] to heads, and back.
ValueId SplitHeads(GraphBuilder& net, const std::string& name, ValueId x, int64_t tokens,
                   int64_t heads, int64_t depth);
ValueId JoinHeads(GraphBuilder& net, const std::string& name, ValueId x,
                  const TransformerSpec& spec);

struct Heads {
  ValueId query, key, value;
  ValueId mask = kNoValue;  // added to the scores
};
// Adds softmax(q k' / sqrt(depth) + mask) v.
ValueId AttentionOf(GraphBuilder& net, const std::string& name, const Heads& heads, int64_t depth);

}  // namespace tcc
