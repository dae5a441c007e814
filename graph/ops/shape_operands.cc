#include "graph/ops/shape_operands.h"

#include <cstdint>

namespace tcc {
namespace {

struct Row {
  OpKind op;
  size_t first;  // of the operands that shapes depend on
  size_t last;
};

constexpr Row kRows[] = {
    {OpKind::kAffineGrid, 1, 1},       // size
    {OpKind::kCenterCropPad, 1, 1},    // shape
    {OpKind::kCol2Im, 1, 2},           // image_shape, block_shape
    {OpKind::kCompress, 0, 1},         // input, condition
    {OpKind::kConstantOfShape, 0, 0},  // shape
    {OpKind::kCumProd, 1, 1},          // axis
    {OpKind::kCumSum, 1, 1},           // axis
    {OpKind::kDFT, 1, 2},              // dft_length, axis
    {OpKind::kExpand, 1, 1},           // shape
    {OpKind::kLoop, 0, 1},             // trip count, condition: how long scan outputs are
    {OpKind::kMaxUnpool, 2, 2},        // output_shape
    {OpKind::kNonZero, 0, 0},          // input
    {OpKind::kOneHot, 1, 1},           // depth
    {OpKind::kPad, 1, 1},              // pads
    {OpKind::kPad, 3, 3},              // axes
    {OpKind::kRange, 0, 2},            // start, limit, delta
    {OpKind::kReduceL1, 1, 1},         // axes, as in all that follow
    {OpKind::kReduceL2, 1, 1},
    {OpKind::kReduceLogSum, 1, 1},
    {OpKind::kReduceLogSumExp, 1, 1},
    {OpKind::kReduceMax, 1, 1},
    {OpKind::kReduceMean, 1, 1},
    {OpKind::kReduceMin, 1, 1},
    {OpKind::kReduceProd, 1, 1},
    {OpKind::kReduceSum, 1, 1},
    {OpKind::kReduceSumSquare, 1, 1},
    {OpKind::kReshape, 1, 1},    // shape
    {OpKind::kResize, 1, 3},     // roi, scales, sizes
    {OpKind::kSlice, 1, 4},      // starts, ends, axes, steps
    {OpKind::kSplit, 1, 1},      // split
    {OpKind::kSqueeze, 1, 1},    // axes
    {OpKind::kTile, 1, 1},       // repeats
    {OpKind::kTopK, 1, 1},       // k
    {OpKind::kTrilu, 1, 1},      // k
    {OpKind::kUnique, 0, 0},     // input
    {OpKind::kUnsqueeze, 1, 1},  // axes
};

// Where the operands that a body reads begin among its node's, and the body's inputs that they are.
struct BodyOperands {
  size_t operand;
  size_t input;
};

BodyOperands BodyOperandsOf(OpKind op) {
  // A Loop's body reads the iteration and the condition in place of the trip count and the first
  // condition; an If's bodies read all but the condition.
  return op == OpKind::kLoop ? BodyOperands{2, 2} : BodyOperands{1, 0};
}

bool IsShapeOperand(OpKind op, size_t operand) {
  for (const Row& row : kRows) {
    if (row.op == op && row.first <= operand && operand <= row.last) return true;
  }
  return false;
}

// Marks backwards what the values to begin with are computed from.
class Marker {
 public:
  explicit Marker(const Graph& graph) : graph_(graph), marked_(graph.values.size(), false) {}

  void Mark(ValueId id) {
    if (id != kNoValue) marked_[static_cast<size_t>(id)] = true;
  }

  // Nodes are in topological order: one sweep from the end sees every reader before its producer.
  std::vector<ValueId> Sweep(bool with_shape_operands) {
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (with_shape_operands) MarkShapeOperands(node);
      if (node.op == OpKind::kShape || node.op == OpKind::kSize || !IsMarked(node)) continue;
      for (ValueId input : node.inputs) Mark(input);
    }
    std::vector<ValueId> inputs;
    for (ValueId id : graph_.inputs) {
      if (marked_[static_cast<size_t>(id)]) inputs.push_back(id);
    }
    return inputs;
  }

 private:
  bool IsMarked(const Node& node) const {
    for (ValueId id : node.outputs) {
      if (id != kNoValue && marked_[static_cast<size_t>(id)]) return true;
    }
    return false;
  }

  void MarkShapeOperands(const Node& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (IsShapeOperand(node.op, i)) Mark(node.inputs[i]);
    }
    BodyOperands first = BodyOperandsOf(node.op);
    for (const Graph& body : node.bodies) {
      for (ValueId id : ShapeInputs(body)) {
        for (size_t i = first.operand; i < node.inputs.size(); ++i) {
          size_t input = i - first.operand + first.input;
          if (input < body.inputs.size() && body.inputs[input] == id) Mark(node.inputs[i]);
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<bool> marked_;
};

}  // namespace

std::vector<ValueId> ShapeInputs(const Graph& graph) {
  return Marker(graph).Sweep(/*with_shape_operands=*/true);
}

std::vector<ValueId> InputsBehind(const Graph& graph, const std::vector<ValueId>& values) {
  Marker marker(graph);
  for (ValueId value : values) marker.Mark(value);
  return marker.Sweep(/*with_shape_operands=*/false);
}

}  // namespace tcc
