#include "graph/passes/fuse_graph.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/ops/op_lowering.h"
#include "graph/ops/storage_order.h"
#include "graph/passes/edit.h"
#include "graph/passes/offloading.h"
#include "graph/passes/to_tensor_exprs.h"
#include "ir/expr/evaluate.h"
#include "ir/expr/visitor.h"
#include "ir/graph/constants.h"
#include "ir/text/printer.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// The largest fused group: beyond it a kernel gains nothing and its expression grows.
constexpr size_t kMaxNodes = 24;
constexpr size_t kMaxInputs = 16;

constexpr int kSink = -1;  // the reader of the graph's outputs

bool IsElementwise(const Node& node) {
  return FormOf(node) == OpForm::kElementwise;
}

// Returns whether each element of the result is one of the operand's, at an index that may take a
// division.
bool IsPlainMovement(const Node& node) {
  return node.op == OpKind::kTranspose || node.op == OpKind::kExpand || node.op == OpKind::kSlice ||
         FormOf(node) == OpForm::kView;
}

// Returns whether the kernel of the node reads each element of its first operand once or twice.
bool TakesMovements(const Node& node) {
  return IsPlainMovement(node) || node.op == OpKind::kRotaryEmbedding;
}

// Returns the last index of each load in the sums of a contraction, along which its inner loops
// run.
std::vector<Expr> LastIndices(const TensorProgram& program) {
  std::vector<Expr> indices;
  for (const TensorExpr& expr : program.stages) {
    const auto* stage = std::get_if<ComputeExpr>(&expr);
    if (!stage || !stage->combiner) continue;
    PreOrder(stage->values[0], [&](const Expr& value) {
      const auto* load = value.as<Load>();
      if (load) indices.push_back(load->indices.empty() ? Expr(0) : load->indices.back());
    });
  }
  return indices;
}

// Compares variables by name, because the two programs were built separately.
bool SameIndices(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(a, b,
                            [](const Expr& x, const Expr& y) { return Print(x) == Print(y); });
}

// The least bytes of an image between two convolutions in a chain. Less stays in the second caches
// of two cores, and tiles of the first convolution may cross from one row to the next.
constexpr double kChainedBytes = 4 << 20;

// Returns the bytes of each image of a batch at the usual sizes.
double ImageBytes(const Value& value) {
  double bytes = static_cast<double>(WholeBytes(value.dtype));
  for (size_t d = 1; d < value.shape.size(); ++d) {
    bytes *= static_cast<double>(AtUsual(value.shape[d]).value_or(0));
  }
  return bytes;
}

// Returns the weight's extents [kh, kw, channels of a group, filters] if the node is a convolution
// of channels that lie last.
std::optional<std::vector<int64_t>> WeightOf(const Graph& graph, const Node& node) {
  bool fits = node.op == OpKind::kConv && node.layout == DataLayout::kChannelsLast;
  if (!fits || graph.value(node.inputs[1]).shape.size() != 4) return std::nullopt;
  std::vector<int64_t> extents;
  for (const Expr& extent : graph.value(node.inputs[1]).shape) {
    extents.push_back(AsConstant(extent).value_or(0));
  }
  return extents;
}

bool IsDepthwise(const Graph& graph, const Node& node) {
  auto weight = WeightOf(graph, node);
  return weight && (*weight)[2] == 1 && (*weight)[3] > 1 && node.Int("group", 1) == (*weight)[3];
}

// Columns of more channels are copied in several vectors.
constexpr int64_t kFewChannels = 4;

bool HasFewChannels(const Graph& graph, const Node& node) {
  return node.op == OpKind::kConv && node.Int("group", 1) == 1 &&
         AsConstant(graph.value(node.inputs[0]).shape[1]).value_or(INT64_MAX) <= kFewChannels;
}

bool IsPointwise(const Graph& graph, const Node& node) {
  auto weight = WeightOf(graph, node);
  return weight && (*weight)[0] == 1 && (*weight)[1] == 1 && node.Int("group", 1) == 1;
}

class Fuser {
 public:
  Fuser(const Graph& graph, Fusion fusion)
      : graph_(graph), fusion_(fusion), uses_(UsesOf(graph)), producers_(ProducersOf(graph)) {
    group_.resize(graph.nodes.size(), kNone);
    FindPostDominators();
  }

  std::vector<Subgraph> Run() {
    if (fusion_ == Fusion::kNodeByNode) {
      for (size_t n = 0; n < graph_.nodes.size(); ++n) groups_.push_back({static_cast<int>(n)});
      return Collect();
    }
    int count = static_cast<int>(graph_.nodes.size());
    // Late reductions first: if two meet in an addition, the later one takes it, because the other
    // result exists by then.
    for (int n = count - 1; n >= 0; --n) {
      OpForm form = FormOf(graph_.nodes[n]);
      if (form == OpForm::kReduction || form == OpForm::kContraction) Grow(n);
    }
    // The last of several movements in a row takes the others, and so does a rotary embedding.
    for (int n = count - 1; n >= 0; --n) {
      if (group_[n] == kNone && FollowsMovement(n)) Grow(n);
    }
    for (int n = 0; n < count; ++n) {
      if (group_[n] == kNone) Grow(n);
    }
    MergeMaps();
    if (fusion_ == Fusion::kChained || fusion_ == Fusion::kOffloading) ChainConvolutions();
    std::erase_if(groups_, [](const std::vector<int>& nodes) { return nodes.empty(); });
    return Collect();
  }

 private:
  static constexpr int kNone = -1;

  bool IsUsed(ValueId id) const {
    return id != kNoValue && (uses_.is_output[id] || !uses_.readers[id].empty());
  }

  // Finds the first node that all paths from a node's results to the graph's outputs lead through.
  void FindPostDominators() {
    int count = static_cast<int>(graph_.nodes.size());
    post_dominator_.assign(count, kSink);
    depth_.assign(count, 1);
    for (int n = count - 1; n >= 0; --n) {
      std::optional<int> common;
      for (ValueId output : graph_.nodes[n].outputs) {
        if (output == kNoValue) continue;
        if (uses_.is_output[output]) common = kSink;
        for (int reader : uses_.readers[output]) {
          common = common ? CommonPostDominator(*common, reader) : reader;
        }
      }
      post_dominator_[n] = common.value_or(kSink);
      depth_[n] = Depth(post_dominator_[n]) + 1;
    }
  }

  int Depth(int n) const { return n == kSink ? 0 : depth_[n]; }

  int CommonPostDominator(int a, int b) const {
    while (a != b) {
      int& deeper = Depth(a) >= Depth(b) ? a : b;
      deeper = post_dominator_[deeper];
    }
    return a;
  }

  bool MayLead(const Node& node) const {
    if (IsView(graph_, node) || node.op == OpKind::kConcat || node.op == OpKind::kRepack ||
        !node.bodies.empty()) {
      return false;
    }
    return std::none_of(node.outputs.begin() + 1, node.outputs.end(),
                        [&](ValueId id) { return IsUsed(id); });
  }

  // Returns the extents of the node's result in the order that it is stored in.
  std::vector<Expr> StoredShape(const Node& node) const {
    const std::vector<Expr>& shape = graph_.value(node.outputs[0]).shape;
    return Permuted(shape, OutputOrder(graph_, node, shape.size()));
  }

  // Returns whether the node is a Transpose whose result is stored as the operand is, dimension by
  // dimension: only what they are called differs.
  bool OnlyRenames(const Node& node) const {
    if (node.op != OpKind::kTranspose || !IsView(graph_, node)) return false;
    const std::vector<Expr>& operand = graph_.value(node.inputs[0]).shape;
    return SameShape(Permuted(operand, InputOrder(graph_, node, 0)), StoredShape(node));
  }

  // Returns whether the node is elementwise with a result laid out like the leader's, or a view
  // that keeps the layout.
  bool MayFollow(const Node& leader, const Node& node) const {
    bool fits = (IsElementwise(node) && MayLead(node)) || OnlyRenames(node);
    return fits && SameShape(StoredShape(leader), StoredShape(node));
  }

  // Returns the nodes on the paths from `from` to `to`, `to` included, or nullopt if one may not
  // follow.
  std::optional<std::set<int>> Between(int leader, int from, int to) const {
    std::set<int> found;
    std::vector<int> work = {from};
    while (!work.empty()) {
      int n = work.back();
      work.pop_back();
      if (n == to) continue;
      for (ValueId output : graph_.nodes[n].outputs) {
        if (output == kNoValue) continue;
        for (int reader : uses_.readers[output]) {
          if (found.contains(reader)) continue;
          if (group_[reader] != kNone || !MayFollow(graph_.nodes[leader], graph_.nodes[reader])) {
            return std::nullopt;
          }
          found.insert(reader);
          work.push_back(reader);
        }
      }
    }
    return found;
  }

  size_t CountInputs(const std::set<int>& nodes) const {
    std::set<ValueId> inputs;
    for (int n : nodes) {
      const Node& node = graph_.nodes[n];
      // A movement's other operands are known, and in its indices.
      const size_t read = IsPlainMovement(node) ? 1 : node.inputs.size();
      for (size_t i = 0; i < read; ++i) {
        if (node.inputs[i] != kNoValue) inputs.insert(node.inputs[i]);
      }
    }
    return inputs.size();
  }

  // Makes a group of a product for an accelerator, and of what the output stage computes.
  void Offload(int product) {
    std::vector<int> nodes = OutputStageOf(graph_, uses_, product);
    nodes.insert(nodes.begin(), product);
    AddGroup(std::move(nodes));
  }

  void AddGroup(std::vector<int> nodes) {
    const int group = static_cast<int>(groups_.size());
    for (int n : nodes) group_[n] = group;
    groups_.push_back(std::move(nodes));
  }

  void Grow(int leader) {
    if (fusion_ == Fusion::kOffloading && IsOffloadable(graph_, graph_.nodes[leader])) {
      return Offload(leader);
    }
    std::set<int> members = {leader}, grown = members;
    int last = leader;
    while (MayLead(graph_.nodes[leader]) && post_dominator_[last] != kSink) {
      int next = post_dominator_[last];
      std::optional<std::set<int>> between = Between(leader, last, next);
      if (!between) break;
      grown.insert(between->begin(), between->end());
      if (grown.size() > kMaxNodes || CountInputs(grown) > kMaxInputs) break;
      // A view behind all others costs nothing where it is.
      if (!IsView(graph_, graph_.nodes[next])) members = grown;
      last = next;
    }
    AbsorbMovements(leader, members);
    AddGroup({members.begin(), members.end()});
  }

  // Returns whether the group maps elements of its operands to elements of its result, so that
  // computing it at its reader costs the same.
  bool IsMap(const std::vector<int>& nodes) const {
    return std::ranges::all_of(nodes, [&](int n) {
      const Node& node = graph_.nodes[n];
      bool moves = node.op == OpKind::kSlice && !IsView(graph_, node);
      return (moves || IsElementwise(node)) && MayLead(node);
    });
  }

  // Returns the only group that reads this one's result, if both are maps over one shape.
  int OnlyReader(int group) const {
    const std::vector<int>& nodes = groups_[group];
    if (nodes.empty() || !IsMap(nodes)) return kNone;
    const Node& last = graph_.nodes[nodes.back()];
    ValueId output = last.outputs[0];
    if (uses_.is_output[output] || uses_.readers[output].empty()) return kNone;
    int reader = group_[uses_.readers[output][0]];
    for (int n : uses_.readers[output]) {
      if (group_[n] != reader) return kNone;
    }
    bool fits = IsMap(groups_[reader]) && MayFollow(last, graph_.nodes[groups_[reader].back()]);
    return fits ? reader : kNone;
  }

  // Returns the number of non-constant values that the nodes read from outside.
  size_t CountComputedInputs(const std::set<int>& nodes) const {
    std::set<ValueId> inputs;
    for (int n : nodes) {
      for (ValueId id : graph_.nodes[n].inputs) {
        if (id != kNoValue && !graph_.ConstantOf(id)) inputs.insert(id);
      }
    }
    for (int n : nodes) {
      for (ValueId id : graph_.nodes[n].outputs) inputs.erase(id);
    }
    return inputs.size();
  }

  // Merges slices and scalar functions that only other scalar functions read: the gates of an LSTM.
  // Leaves groups without nodes behind.
  void MergeMaps() {
    std::vector<int> order(groups_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, [&](int a, int b) { return groups_[a].back() < groups_[b].back(); });
    for (int group : order) {
      int reader = OnlyReader(group);
      if (reader == kNone) continue;
      std::set<int> merged(groups_[reader].begin(), groups_[reader].end());
      merged.insert(groups_[group].begin(), groups_[group].end());
      if (merged.size() > kMaxNodes || CountComputedInputs(merged) > kMaxInputs) continue;
      for (int n : groups_[group]) group_[n] = reader;
      groups_[group].clear();
      groups_[reader].assign(merged.begin(), merged.end());
    }
  }

  // Puts pointwise convolutions in front of the depthwise ones that read them. Leaves groups
  // without nodes behind.
  void ChainConvolutions() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      auto leads = [&](int n) { return IsDepthwise(graph_, graph_.nodes[n]); };
      auto leader = std::ranges::find_if(groups_[g], leads);
      int before = leader == groups_[g].end() ? kNone : ChainedBefore(*leader);
      if (before == kNone) continue;
      std::set<int> merged(groups_[g].begin(), groups_[g].end());
      merged.insert(groups_[before].begin(), groups_[before].end());
      if (merged.size() > kMaxNodes || CountInputs(merged) > kMaxInputs) continue;
      for (int n : groups_[before]) group_[n] = static_cast<int>(g);
      groups_[before].clear();
      groups_[g].assign(merged.begin(), merged.end());
    }
  }

  // Returns the group that makes the image of a depthwise convolution for it alone, if that is a
  // pointwise convolution with a large result.
  int ChainedBefore(int depthwise) const {
    ValueId image = graph_.nodes[depthwise].inputs[0];
    int producer = producers_[image];
    if (producer < 0 || !uses_.HasOneReader(image) || !LiesAsRead(image, producer, depthwise) ||
        ImageBytes(graph_.value(image)) < kChainedBytes) {
      return kNone;
    }
    int group = group_[producer];
    const std::vector<int>& nodes = groups_[group];
    bool fits =
        group != group_[depthwise] && nodes.back() == producer &&
        std::ranges::any_of(nodes, [&](int n) { return IsPointwise(graph_, graph_.nodes[n]); });
    return fits ? group : kNone;
  }

  // Absorbs the movements before operands, which are then read in place. A map reads each element
  // once, so this saves one pass over memory. A contraction takes the movements that leave the last
  // index of each operand as it is, and runs at the same speed, and repacks of few channels.
  void AbsorbMovements(int leader, std::set<int>& members) const {
    OpForm form = FormOf(graph_.nodes[leader]);
    bool maps = form == OpForm::kElementwise || TakesMovements(graph_.nodes[leader]);
    if ((!maps && form != OpForm::kContraction) || !MayLead(graph_.nodes[leader])) return;
    std::set<int> readers = maps ? members : std::set<int>{leader};
    for (int reader : readers) {
      for (ValueId operand : graph_.nodes[reader].inputs) {
        int movement = MovementBefore(operand, reader);
        if (movement >= 0) Absorb(movement, leader, maps, members);
      }
    }
  }

  bool FollowsMovement(int movement) const {
    const Node& node = graph_.nodes[movement];
    if (!TakesMovements(node) || IsView(graph_, node)) return false;
    for (int n = MovementBefore(node.inputs[0], movement); n >= 0;
         n = MovementBefore(graph_.nodes[n].inputs[0], n)) {
      if (!IsView(graph_, graph_.nodes[n])) return true;
    }
    return false;
  }

  // Absorbs `movement` and the movements before it, as far as that pays.
  void Absorb(int movement, int leader, bool maps, std::set<int>& members) const {
    std::set<int> taken = members;
    std::set<int> best = members;
    for (int n = movement; n >= 0; n = MovementBefore(graph_.nodes[n].inputs[0], n)) {
      taken.insert(n);
      if (taken.size() > kMaxNodes || CountInputs(taken) > kMaxInputs) break;
      const Node& node = graph_.nodes[n];
      bool pays = maps || node.op == OpKind::kRepack || ReadsAlike(taken, leader);
      if (!IsView(graph_, node) && pays) best = taken;
    }
    members = std::move(best);
  }

  // Returns the node that computes the value, if it is a movement for this reader alone, in the
  // order that the reader wants.
  int MovementBefore(ValueId id, int reader) const {
    int producer = id == kNoValue ? -1 : producers_[id];
    bool fits = producer >= 0 && group_[producer] == kNone && uses_.HasOneReader(id) &&
                (IsPlainMovement(graph_.nodes[producer]) || IsGathered(producer, reader)) &&
                LiesAsRead(id, producer, reader);
    return fits ? producer : -1;
  }

  // Returns whether the reader, a convolution, gathers the columns that the producer repacks.
  bool IsGathered(int producer, int reader) const {
    return fusion_ == Fusion::kGathering && graph_.nodes[producer].op == OpKind::kRepack &&
           HasFewChannels(graph_, graph_.nodes[reader]);
  }

  // Returns whether both expect the same storage order of the value. Orders that differ by
  // dimensions of extent 1 are the same bytes, but other buffers.
  bool LiesAsRead(ValueId id, int producer, int reader) const {
    const Node& node = graph_.nodes[reader];
    std::vector<int> order =
        OutputOrder(graph_, graph_.nodes[producer], graph_.value(id).shape.size());
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == id && InputOrder(graph_, node, i) != order) return false;
    }
    return true;
  }

  bool ReadsAlike(const std::set<int>& nodes, int leader) const {
    StatusOr<LoweredNode> fused =
        ToTensorExprs(graph_, SubgraphOf({nodes.begin(), nodes.end()}, "fused"));
    StatusOr<LoweredNode> alone = ToTensorExprs(graph_, SubgraphOf({leader}, "alone"));
    return fused.ok() && alone.ok() &&
           SameIndices(LastIndices(fused->program), LastIndices(alone->program));
  }

  std::string NameOf(const std::vector<int>& nodes) {
    constexpr size_t kNamed = 4;
    std::string name = Identifier(graph_.nodes[nodes[0]].name);
    for (size_t i = 1; i < std::min(nodes.size(), kNamed); ++i) {
      name += "_" + absl::AsciiStrToLower(std::string(ToString(graph_.nodes[nodes[i]].op)));
    }
    std::string unique = name;
    for (int suffix = 1; !names_.insert(unique).second; ++suffix) {
      unique = fmt::format("{}_{}", name, suffix);
    }
    return unique;
  }

  Subgraph SubgraphOf(const std::vector<int>& nodes, const std::string& name) const {
    Subgraph subgraph;
    subgraph.nodes = nodes;
    subgraph.name = name;
    const Node& last = graph_.nodes[nodes.back()];
    if (nodes.size() == 1 && IsView(graph_, last)) subgraph.kind = SubgraphKind::kView;
    if (last.op == OpKind::kLoop) subgraph.kind = SubgraphKind::kLoop;
    if (last.op == OpKind::kIf) subgraph.kind = SubgraphKind::kIf;
    for (const Graph& body : last.bodies) subgraph.bodies.push_back(FuseGraph(body, fusion_));
    for (ValueId output : last.outputs) {
      if (output != kNoValue) subgraph.outputs.push_back(output);
    }
    std::set<ValueId> known;
    for (int n : nodes) {
      for (ValueId input : graph_.nodes[n].inputs) {
        if (input != kNoValue && known.insert(input).second) subgraph.inputs.push_back(input);
      }
      for (ValueId output : graph_.nodes[n].outputs) known.insert(output);
    }
    return subgraph;
  }

  std::vector<Subgraph> Collect() {
    std::ranges::sort(groups_, [](const auto& a, const auto& b) { return a.back() < b.back(); });
    std::vector<Subgraph> subgraphs;
    for (const std::vector<int>& nodes : groups_) {
      subgraphs.push_back(SubgraphOf(nodes, NameOf(nodes)));
    }
    return subgraphs;
  }

  const Graph& graph_;
  Fusion fusion_;
  ValueUses uses_;
  std::vector<int> producers_;
  std::vector<int> post_dominator_;
  std::vector<int> depth_;
  std::vector<int> group_;
  std::vector<std::vector<int>> groups_;
  std::set<std::string> names_;
};

}  // namespace

bool IsView(const Graph& graph, const Node& node) {
  if (FormOf(node) == OpForm::kView) return true;
  if (node.op != OpKind::kTranspose) return false;
  const std::vector<Expr>& shape = graph.value(node.inputs[0]).shape;
  std::vector<int64_t> perm = node.Ints("perm");
  if (perm.size() != shape.size()) return false;
  // The source of each stored dimension of the result.
  std::vector<int> from =
      Permuted(std::vector<int>(perm.begin(), perm.end()), OutputOrder(graph, node, shape.size()));
  return SameBytes(shape, InputOrder(graph, node, 0), from);
}

std::vector<Subgraph> FuseGraph(const Graph& graph, Fusion fusion) {
  return Fuser(graph, fusion).Run();
}

Fusion FusionFor(const Target& target) {
  switch (target.kind) {
    case TargetKind::kCpu:
      return target.accelerator == Accelerator::kVdla ? Fusion::kOffloading : Fusion::kChained;
    case TargetKind::kGpu:
      return Fusion::kGathering;
    case TargetKind::kReference:
      return Fusion::kFused;
  }
  return Fusion::kFused;
}

}  // namespace tcc
