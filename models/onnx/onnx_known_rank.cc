#include "models/onnx/onnx_known_rank.h"

#include <algorithm>
#include <iterator>

namespace tcc {
namespace {

// Nodes that are looked at for one value: a model of many nodes is still read in seconds.
constexpr int kMaxNodes = 50'000;

// Their first result has the rank of their first operand.
constexpr OpKind kKeepRank[] = {OpKind::kCast,
                                OpKind::kClip,
                                OpKind::kConcat,
                                OpKind::kDropout,
                                OpKind::kLogSoftmax,
                                OpKind::kSlice,
                                OpKind::kSoftmax,
                                OpKind::kSplit,
                                OpKind::kTile,
                                OpKind::kTranspose,
                                OpKind::kTrilu,
                                OpKind::kPad,
                                OpKind::kLayerNormalization,
                                OpKind::kRMSNormalization,
                                OpKind::kConv,
                                OpKind::kScatterND,
                                OpKind::kTensorScatter};

constexpr OpKind kReductions[] = {OpKind::kReduceMax, OpKind::kReduceMean, OpKind::kReduceMin,
                                  OpKind::kReduceProd, OpKind::kReduceSum};

template <size_t count>
bool IsOneOf(const OpKind (&kinds)[count], OpKind op) {
  return std::find(std::begin(kinds), std::end(kinds), op) != std::end(kinds);
}

// Returns whether the result has the rank of the operand that has most.
bool Broadcasts(OpKind op) {
  return FindScalarKind(op) || op == OpKind::kPow || op == OpKind::kWhere;
}

class RankFinder {
 public:
  explicit RankFinder(const Graph& graph) : graph_(graph) {}

  std::optional<size_t> Find(ValueId id) {
    if (id == kNoValue) return std::nullopt;
    if (const Tensor* constant = graph_.ConstantOf(id)) return constant->shape.size();
    if (!graph_.value(id).shape.empty()) return graph_.value(id).shape.size();
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (++looked_at_ > kMaxNodes) return std::nullopt;
      const auto& outputs = node->outputs;
      if (std::ranges::find(outputs, id) != outputs.end()) return Of(*node);
    }
    return std::nullopt;
  }

 private:
  std::optional<size_t> Of(const Node& node) {
    if (node.inputs.empty()) return std::nullopt;
    std::optional<size_t> first = Find(node.inputs[0]);
    if (IsOneOf(kKeepRank, node.op)) return first;
    if (Broadcasts(node.op)) return Most(node, first);
    if (node.op == OpKind::kMatMul) {
      std::optional<size_t> most = Most(node, first);
      return most && *most > 1 && first > 1u ? most : std::nullopt;
    }
    if (node.op == OpKind::kGemm || node.op == OpKind::kFlatten) return 2;
    if (node.op == OpKind::kReshape) return CountOf(node, 1);
    if (node.op == OpKind::kUnsqueeze) return Sum(first, CountOf(node, 1));
    if (node.op == OpKind::kSqueeze) return Difference(first, CountOf(node, 1));
    if (IsOneOf(kReductions, node.op)) {
      return node.Int("keepdims", 1) != 0 ? first : Difference(first, CountOf(node, 1));
    }
    if (node.op == OpKind::kGather) {
      std::optional<size_t> joint = Sum(first, Find(node.inputs[1]));
      return Difference(joint, 1);
    }
    return std::nullopt;
  }

  std::optional<size_t> Most(const Node& node, std::optional<size_t> most) {
    for (size_t i = 1; most && i < node.inputs.size(); ++i) {
      std::optional<size_t> rank = Find(node.inputs[i]);
      most = rank ? std::optional(std::max(*most, *rank)) : std::nullopt;
    }
    return most;
  }

  // Elements of a constant list.
  std::optional<size_t> CountOf(const Node& node, size_t input) const {
    if (node.inputs.size() <= input) return std::nullopt;
    const Tensor* list = graph_.ConstantOf(node.inputs[input]);
    if (!list || list->shape.size() > 1) return std::nullopt;
    return list->shape.empty() ? 1 : static_cast<size_t>(list->shape[0]);
  }

  static std::optional<size_t> Sum(std::optional<size_t> a, std::optional<size_t> b) {
    return a && b ? std::optional(*a + *b) : std::nullopt;
  }
  static std::optional<size_t> Difference(std::optional<size_t> a, std::optional<size_t> b) {
    return a && b && *a >= *b ? std::optional(*a - *b) : std::nullopt;
  }

  const Graph& graph_;
  int looked_at_ = 0;
};

}  // namespace

std::optional<size_t> KnownRank(const Graph& graph, ValueId id) {
  return RankFinder(graph).Find(id);
}

}  // namespace tcc
