#include <algorithm>
#include <limits>

#include "graph/ops/node_lowering.h"
#include "graph/passes/attention_operands.h"
#include "graph/passes/passes.h"

namespace tcc {
namespace {

// Numbers down from here are exporters' stand-ins for -inf: beside them every score is 0. A score
// may well be -1e4 or lower.
constexpr double kMaxInvisible = -1e30;

Pattern Scores() {
  Pattern product =
      NodePattern(OpKind::kMatMul, {AnyValue("query"), AnyValue("columns")}, "product");
  return MaybeCast(Either({product, NodePattern(OpKind::kMul, {product, AnyNumber("factor")}),
                           NodePattern(OpKind::kDiv, {product, AnyNumber("divisor")})}));
}

// A window's mask is added under a view that takes the batch apart.
Pattern Masked() {
  Pattern scores = Scores();
  Pattern added = NodePattern(OpKind::kAdd, {scores, AnyValue("mask")});
  Pattern view = NodePattern(OpKind::kReshape, {Either({scores, added})}, "view");
  Pattern viewed = NodePattern(OpKind::kAdd, {view, AnyValue("view_mask")}, "viewed");
  return Either({scores, added, NodePattern(OpKind::kReshape, {viewed}),
                 NodePattern(OpKind::kWhere, {AnyValue("seen"), scores, AnyNumber("hidden")}),
                 NodePattern(OpKind::kWhere, {AnyValue("unseen"), AnyNumber("hidden"), scores})});
}

Pattern Attended() {
  Pattern softmax = NodePattern(OpKind::kSoftmax, {MaybeCast(Masked())}, "softmax");
  Pattern guarded = NodePattern(
      OpKind::kWhere, {NodePattern(OpKind::kIsNaN, {softmax}), Number(0), softmax}, "guard");
  return NodePattern(OpKind::kMatMul, {MaybeCast(Either({softmax, guarded})), AnyValue("value")});
}

// Rewrites one match.
class AttentionWriter {
 public:
  explicit AttentionWriter(Rewrite& rewrite) : rewrite_(rewrite), graph_(rewrite.graph) {}

  // The Attention node over four dimensions, without its output; nullopt where the pattern fits and
  // the meaning does not.
  std::optional<Node> Write() {
    if (!ReadScores() || !KeepsTypes()) return std::nullopt;
    Scaled query = WithoutFactors(rewrite_, rewrite_.Bound("query"));
    Scaled keys = KeysOfColumns(rewrite_, rewrite_.Bound("columns"));
    std::optional<ValueId> query_heads = WithAllHeads(rewrite_, query.value, heads_);
    if (!query_heads || !ReadKeysAndValues(keys.value)) return std::nullopt;
    Node node;
    node.op = OpKind::kAttention;
    node.inputs = {*query_heads, keys_, values_};
    node.attributes["scale"] = query.factor * keys.factor * ScaleOfScores();
    // Without a guard a query that sees no key gives NaN.
    node.attributes["empty_rows"] = std::string(Has("guard") ? "zero" : "nan");
    if (IsCausal()) {
      node.attributes["is_causal"] = int64_t{1};
      return node;
    }
    if (!WriteMask()) return std::nullopt;
    if (mask_ != kNoValue) node.inputs.push_back(mask_);
    if (Has("hidden")) node.attributes["hidden_logit"] = rewrite_.NumberAt("hidden");
    return node;
  }

  std::vector<Expr> OutputShape() const {
    return {heads_.batch, heads_.heads, queries_, graph_.value(values_).shape.back()};
  }

  size_t Rank() const { return scores_.size(); }

 private:
  // A value or a node of this name was matched.
  bool Has(const std::string& name) const {
    return rewrite_.match.values.contains(name) || rewrite_.match.named.contains(name);
  }

  std::vector<Expr> DimsOf(ValueId id) const { return graph_.value(id).shape; }

  ValueId ResultOf(const std::string& name) const { return rewrite_.NodeAt(name).outputs[0]; }
  // The shape of scores, which masks must not widen, divided into batch and heads.
  bool ReadScores() {
    scores_ = DimsOf(ResultOf("product"));
    bool fits = (scores_.size() == 3 || scores_.size() == 4) &&
                std::ranges::none_of(scores_, [](const Expr& dim) { return IsConstant(dim, 0); }) &&
                SameShape(DimsOf(ResultOf("softmax")), scores_);
    int64_t axis = fits ? rewrite_.NodeAt("softmax").Int("axis", -1) : 0;
    if (!fits || (axis != -1 && axis != static_cast<int64_t>(scores_.size()) - 1)) return false;
    queries_ = scores_[scores_.size() - 2];
    heads_ = scores_.size() == 4 ? AttentionHeads{scores_[0], scores_[1]}
                                 : AttentionHeads{scores_[0], Expr(1)};
    if (!Has("view")) return true;
    std::vector<Expr> view = DimsOf(ResultOf("view"));
    bool views = view.size() > 3 &&
                 SameShape(std::span(view).last(2), std::span(scores_).last(2)) &&
                 SameShape(DimsOf(ResultOf("viewed")), view);
    if (views && scores_.size() == 3 && view.size() == 4) heads_ = {view[0], view[1]};
    return views;
  }

  // Casts on the way are to floats that are no wider than what the operator computes in.
  bool KeepsTypes() const {
    DType type = graph_.value(rewrite_.Bound("query")).dtype;
    bool same = type.is_float() && !type.is_storage_only() &&
                type == graph_.value(rewrite_.Bound("columns")).dtype &&
                type == graph_.value(rewrite_.match.result).dtype;
    const std::set<int>& nodes = rewrite_.match.nodes;
    return same && std::ranges::all_of(nodes, [&](int n) {
             DType own = graph_.value(graph_.nodes[n].outputs[0]).dtype;
             return own.is_bool() ||
                    (own.is_float() && own.bits() <= AccumulationType(type).bits());
           });
  }

  bool ReadKeysAndValues(ValueId all_keys) {
    ValueId all_values = rewrite_.Bound("value");
    std::optional<ValueId> keys = WithoutRepeats(rewrite_, all_keys, heads_);
    std::optional<ValueId> values = WithoutRepeats(rewrite_, all_values, heads_);
    if (!keys || !values || !SameExtent(DimsOf(*keys)[1], DimsOf(*values)[1])) {
      keys = WithAllHeads(rewrite_, all_keys, heads_);
      values = WithAllHeads(rewrite_, all_values, heads_);
    }
    if (!keys || !values || !SameExtent(DimsOf(*keys)[2], DimsOf(*values)[2])) return false;
    keys_ = *keys;
    values_ = *values;
    return true;
  }

  double ScaleOfScores() const {
    if (rewrite_.match.values.contains("factor")) return rewrite_.NumberAt("factor");
    return rewrite_.match.values.contains("divisor") ? 1 / rewrite_.NumberAt("divisor") : 1;
  }

  ValueId EmitMask(OpKind op, const std::string& name, const std::vector<ValueId>& inputs,
                   DType type, const std::vector<Expr>& shape) {
    return rewrite_.Emit(op, graph_.value(rewrite_.match.result).name + name, inputs, type, shape);
  }

  // mask_: what was matched as such, as one operand; false if it cannot be.
  bool WriteMask() {
    if (Has("seen") || Has("unseen")) return WriteChoice();
    if (Has("mask") && !AddMask(rewrite_.Bound("mask"), scores_)) return false;
    return !Has("view") || AddMask(rewrite_.Bound("view_mask"), DimsOf(ResultOf("view")));
  }

  bool AddMask(ValueId value, const std::vector<Expr>& shape) {
    std::optional<ValueId> mask = MaskOfHeads(rewrite_, value, shape, heads_);
    if (!mask) return false;
    if (mask_ == kNoValue) {
      mask_ = *mask;
      return true;
    }
    std::vector<Expr> sum = DimsOf(mask_);
    std::vector<Expr> own = DimsOf(*mask);
    for (size_t d = 0; d < sum.size(); ++d) sum[d] = IsConstant(sum[d], 1) ? own[d] : sum[d];
    if (graph_.value(mask_).dtype != graph_.value(*mask).dtype) return false;
    mask_ = EmitMask(OpKind::kAdd, ".mask", {mask_, *mask}, graph_.value(*mask).dtype, sum);
    return true;
  }

  // Scores that a condition replaces by one number.
  bool WriteChoice() {
    bool keeps = Has("seen");
    ValueId condition = rewrite_.Bound(keeps ? "seen" : "unseen");
    std::optional<ValueId> chosen = MaskOfHeads(rewrite_, condition, scores_, heads_);
    if (!chosen) return false;
    mask_ = keeps ? *chosen : EmitMask(OpKind::kNot, ".seen", {*chosen}, kBool, DimsOf(*chosen));
    return true;
  }

  // Whether there is one mask, a constant that lets query i see just the keys up to i.
  bool IsCausal() const {
    if (Has("view")) return false;
    if (Has("mask")) {
      return IsTriangle(rewrite_.Bound("mask"), [](double added, bool visible) {
        return visible ? added == 0 : added <= kMaxInvisible;
      });
    }
    if (!Has("hidden") || rewrite_.NumberAt("hidden") > kMaxInvisible) return false;
    bool keeps = Has("seen");
    return IsTriangle(rewrite_.Bound(keeps ? "seen" : "unseen"),
                      [&](double flag, bool visible) { return (flag != 0) == (visible == keeps); });
  }

  // Whether each element of a constant [.., queries, keys] fits to what a causal order says of it.
  template <typename Fits>
  bool IsTriangle(ValueId id, const Fits& fits) const {
    const Tensor* tensor = graph_.ConstantOf(id);
    std::optional<int64_t> queries = AsConstant(queries_), keys = AsConstant(scores_.back());
    if (!tensor || !queries || !keys || tensor->shape.size() < 2 ||
        tensor->shape.size() > scores_.size() || tensor->shape.back() != *keys ||
        tensor->shape[tensor->shape.size() - 2] != *queries ||
        ElementCount(tensor->shape).value_or(0) != *queries * *keys) {
      return false;
    }
    for (int64_t i = 0; i < *queries * *keys; ++i) {
      if (!fits(ElementAsDouble(*tensor, i), i % *keys <= i / *keys)) return false;
    }
    return true;
  }

  Rewrite& rewrite_;
  Graph& graph_;
  std::vector<Expr> scores_;  // [leading.., queries, keys]
  AttentionHeads heads_;
  Expr queries_ = 0;
  ValueId keys_ = kNoValue;
  ValueId values_ = kNoValue;
  ValueId mask_ = kNoValue;
};

std::optional<Node> OfFourDims(Rewrite& rewrite) {
  AttentionWriter writer(rewrite);
  std::optional<Node> node = writer.Write();
  return node && writer.Rank() == 4 ? node : std::nullopt;
}

// Batch and heads in one dimension: the result is a view of the operator's.
std::optional<Node> OfThreeDims(Rewrite& rewrite) {
  Graph& graph = rewrite.graph;
  AttentionWriter writer(rewrite);
  std::optional<Node> node = writer.Write();
  if (!node || writer.Rank() != 3) return std::nullopt;
  const Value result = graph.value(rewrite.match.result);
  std::string name = result.name + ".attention";
  ValueId heads = rewrite.Emit(OpKind::kAttention, name, node->inputs, result.dtype,
                               writer.OutputShape(), node->attributes);
  Node view;
  view.inputs = {heads, AddSizes(graph, name + ".shape", result.shape)};
  view.attributes["allowzero"] = int64_t{0};
  return view;
}

constexpr RewriteRule kRules[] = {
    {"attention", OpKind::kMatMul, OpKind::kAttention, Attended, OfFourDims},
    {"batched_attention", OpKind::kMatMul, OpKind::kReshape, Attended, OfThreeDims},
};

}  // namespace

Status RewriteAttentions(Graph& graph) {
  TCC_RETURN_IF_ERROR(ApplyRules(graph, kRules));
  // Layers have masks and views of their own, though of one meaning.
  return SimplifyToFixedPoint(graph);
}

}  // namespace tcc
