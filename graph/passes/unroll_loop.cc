#include "graph/passes/unroll_loop.h"

#include <algorithm>

#include "graph/passes/control_flow.h"
#include "graph/passes/edit.h"
#include "graph/passes/node_writer.h"

namespace tcc {
namespace {

// A Loop is written out up to this many nodes, in a graph that is not larger already.
constexpr int64_t kMaxNodes = 1'000;
constexpr size_t kMaxValues = 100'000;

int64_t CountNodes(const Graph& graph) {
  auto count = static_cast<int64_t>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const Graph& body : node.bodies) count += CountNodes(body);
  }
  return count;
}

class Unroller {
 public:
  Unroller(Graph& graph, const Node& loop, const Graph& body)
      : graph_(graph),
        loop_(loop),
        body_(body),
        parts_(PartsOf(loop)),
        operands_(loop.inputs),
        slices_(parts_.scan_outputs) {
    Tensor holds = MakeZeroTensor(kBool, {});
    SetElementInt(holds, 0, 1);
    operands_[1] = NodeWriter(graph, nodes_, loop.name).Constant("condition", holds);
  }

  std::vector<Node> Unroll(int64_t trips) {
    for (int64_t t = 0; t < trips; ++t) AddIteration(t, t + 1 == trips);
    for (size_t scan = 0; scan < slices_.size(); ++scan) Stack(scan);
    return std::move(nodes_);
  }

 private:
  static ValueId Number(NodeWriter& writer, int64_t number) {
    Tensor tensor = MakeZeroTensor(kInt64, {});
    SetElementInt(tensor, 0, number);
    return writer.Constant("iteration", tensor);
  }

  void AddIteration(int64_t t, bool is_last) {
    // Names that are new at once: looking for one takes time for each that is there.
    std::string suffix = fmt::format(".{}", t);
    NodeWriter writer(graph_, nodes_, loop_.name + suffix);
    std::vector<ValueId> inputs = operands_;
    inputs[0] = Number(writer, t);
    for (size_t i = 0; i < parts_.scan_inputs; ++i) {
      bool backward = RunsBackward(loop_, "scan_input_directions", i);
      ValueId& slice = inputs[parts_.first_scan_input() + i];
      ValueId index = backward ? Number(writer, -1 - t) : inputs[0];
      slice = writer.Emit(OpKind::kGather, {slice, index}, {{"axis", int64_t{0}}});
    }
    std::vector<ValueId> results = {kNoValue};
    for (size_t i = 0; i < loop_.outputs.size(); ++i) {
      bool carried = i < parts_.carried;
      bool gives = carried && is_last && loop_.outputs[i] != kNoValue;
      DType dtype = body_.value(body_.outputs[1 + i]).dtype;
      results.push_back(gives ? loop_.outputs[i]
                              : AddComputed(graph_,
                                            fmt::format("{}{}/result{}", loop_.name, suffix, i),
                                            dtype, {}));
      if (carried) operands_[2 + i] = results.back();
      if (!carried) slices_[i - parts_.carried].push_back(results.back());
    }
    for (Node& node : InlineBody(graph_, body_, inputs, results, suffix)) {
      nodes_.push_back(std::move(node));
    }
  }

  void Stack(size_t scan) {
    ValueId result = loop_.outputs[parts_.carried + scan];
    if (result == kNoValue) return;
    int64_t axis = loop_.Ints("scan_output_axes")[scan];
    std::vector<ValueId>& slices = slices_[scan];
    if (RunsBackward(loop_, "scan_output_directions", scan)) {
      std::reverse(slices.begin(), slices.end());
    }
    for (size_t t = 0; t < slices.size(); ++t) {
      NodeWriter writer(graph_, nodes_, fmt::format("{}.{}/stack{}", loop_.name, t, scan));
      slices[t] = writer.Unsqueeze(slices[t], axis);
    }
    NodeWriter(graph_, nodes_, loop_.name)
        .EmitAs(result, OpKind::kConcat, slices, {{"axis", axis}});
  }

  Graph& graph_;
  const Node& loop_;
  const Graph& body_;
  LoopParts parts_;
  std::vector<Node> nodes_;
  std::vector<ValueId> operands_;             // of the next iteration
  std::vector<std::vector<ValueId>> slices_;  // of each scan output, in the order of iterations
};

}  // namespace

bool MayUnroll(const Graph& graph, const Node& loop) {
  const Graph& body = loop.bodies[0];
  std::optional<int64_t> trips = KnownTripCount(graph, loop);
  bool begins = loop.inputs[1] == kNoValue || KnownBool(graph, loop.inputs[1]) == true;
  return begins && KnownBool(body, BehindIdentities(body, body.outputs[0])) == true && trips &&
         *trips > 0 && *trips <= kMaxNodes && *trips * (CountNodes(body) + 1) <= kMaxNodes &&
         graph.values.size() < kMaxValues;
}

std::vector<Node> UnrollLoop(Graph& graph, const Node& loop, const Graph& body, int64_t trips) {
  return Unroller(graph, loop, body).Unroll(trips);
}

}  // namespace tcc
