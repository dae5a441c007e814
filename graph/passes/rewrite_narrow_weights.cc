#include <cstring>
#include <optional>

#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "ir/expr/evaluate.h"
#include "ir/graph/constants.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

constexpr int64_t kWordBits = 32;

// With more rows, unpacking a number for each use costs more than reading f32.
constexpr int64_t kMaxRows = 4;

// Smaller weights stay in a cache as f32.
constexpr int64_t kMinWeights = int64_t{1} << 18;

// A constant matrix (q - zero) * scale. Scales and zeros have an entry per block of the depth and
// per column.
struct NarrowWeight {
  Tensor numbers;  // [columns, depth] if transposed, else [depth, columns]
  Tensor scales;   // likewise with blocks for the depth; or one number
  std::optional<Tensor> zeros;
  bool is_transposed = false;
  int64_t depth = 0, columns = 0, blocks = 1;
};

// Returns the constant that the value is or views; nullptr if it is computed.
const Tensor* ConstantBehind(const Graph& graph, const std::vector<int>& producers, ValueId id) {
  while (id != kNoValue && !graph.ConstantOf(id) && producers[id] >= 0) {
    const Node& node = graph.nodes[producers[id]];
    if (node.op != OpKind::kReshape && node.op != OpKind::kIdentity) return nullptr;
    id = node.inputs[0];
  }
  return id == kNoValue ? nullptr : graph.ConstantOf(id);
}

int64_t CountOf(const Tensor& tensor) {
  return ElementCount(tensor.shape).value();
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph), producers_(ProducersOf(graph)) {}

  void Run() {
    for (Node& node : graph_.nodes) {
      if (node.op != OpKind::kMatMul || !HasFewRows(graph_.value(node.inputs[0]))) continue;
      std::optional<NarrowWeight> weight = WeightOf(node.inputs[1]);
      if (weight && weight->depth * weight->columns >= kMinWeights) Multiply(node, *weight);
    }
  }

 private:
  static bool HasFewRows(const Value& x) {
    bool is_single = x.dtype.is_float() && x.dtype != kFloat64 && !x.dtype.is_storage_only();
    if (!is_single || x.shape.size() < 2) return false;
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < x.shape.size(); ++d) {
      int64_t extent = AtUsual(x.shape[d]).value_or(kMaxRows + 1);
      rows = extent > kMaxRows ? kMaxRows + 1 : rows * extent;
    }
    return rows >= 1 && rows <= kMaxRows;
  }

  std::optional<NarrowWeight> WeightOf(ValueId id) const {
    if (producers_[id] < 0) return std::nullopt;
    const Node* node = &graph_.nodes[producers_[id]];
    NarrowWeight weight;
    const std::vector<int64_t> swapped = {1, 0};
    if (node->op == OpKind::kTranspose && node->Ints("perm", swapped) == swapped) {
      weight.is_transposed = true;
      id = node->inputs[0];
      if (producers_[id] < 0) return std::nullopt;
      node = &graph_.nodes[producers_[id]];
    }
    return node->op == OpKind::kDequantizeLinear && ReadNumbers(*node, weight) &&
                   ReadScales(*node, weight)
               ? std::optional(std::move(weight))
               : std::nullopt;
  }

  bool ReadNumbers(const Node& node, NarrowWeight& weight) const {
    const Tensor* numbers = graph_.ConstantOf(node.inputs[0]);
    if (!numbers || numbers->shape.size() != 2) return false;
    bool is_narrow =
        IsPacked(numbers->dtype) || (numbers->dtype.is_integer() && numbers->dtype.bits() == 8);
    weight.numbers = *numbers;
    weight.depth = numbers->shape[weight.is_transposed ? 1 : 0];
    weight.columns = numbers->shape[weight.is_transposed ? 0 : 1];
    return is_narrow && weight.depth > 0;
  }

  // Reads scales and zeros that are one for all, per column, or per block of whole words.
  bool ReadScales(const Node& node, NarrowWeight& weight) const {
    const Tensor* scales = ConstantBehind(graph_, producers_, node.inputs[1]);
    bool has_zeros = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    const Tensor* zeros = has_zeros ? ConstantBehind(graph_, producers_, node.inputs[2]) : nullptr;
    if (!scales || (has_zeros && !zeros)) return false;
    int64_t rank = 2, axis = node.Int("axis", 1);
    if (axis < 0) axis += rank;
    int64_t depth_axis = weight.is_transposed ? 1 : 0;
    int64_t block = node.Int("block_size", 0);
    if (block > 0) {
      if (axis != depth_axis || weight.depth % block != 0) return false;
      weight.blocks = weight.depth / block;
    } else if (CountOf(*scales) > 1 && axis == depth_axis) {
      return false;
    }
    auto fits = [&](const Tensor& tensor) {
      int64_t count = CountOf(tensor);
      return count == 1 || count == weight.blocks * weight.columns;
    };
    int64_t numbers = kWordBits / weight.numbers.dtype.bits();
    if (!fits(*scales) || (zeros && !fits(*zeros))) return false;
    weight.scales = *scales;
    if (zeros) weight.zeros = *zeros;
    return weight.depth % weight.blocks == 0 && weight.depth / weight.blocks % numbers == 0;
  }

  void Multiply(Node& node, const NarrowWeight& weight) {
    const std::string name = graph_.value(node.inputs[1]).name;
    int64_t bits = weight.numbers.dtype.bits();
    node.op = OpKind::kMatMulWords;
    node.attributes = {{"bits", bits}};
    node.inputs = {node.inputs[0], AddConstant(graph_, name + ".words", WordsOf(weight)),
                   AddConstant(graph_, name + ".scales", Spread(weight, weight.scales, 0))};
    Tensor zeros = Spread(weight, weight.zeros.value_or(MakeZeroTensor(weight.numbers.dtype, {1})),
                          Middle(weight));
    if (!HoldsOnly(zeros, 0)) node.inputs.push_back(AddConstant(graph_, name + ".zeros", zeros));
  }

  // Returns the number that is subtracted from each to make it signed.
  static int64_t Middle(const NarrowWeight& weight) {
    DType type = weight.numbers.dtype;
    return IsSigned(type) ? 0 : int64_t{1} << (type.bits() - 1);
  }

  static Tensor WordsOf(const NarrowWeight& weight) {
    int64_t numbers = kWordBits / weight.numbers.dtype.bits();
    Tensor words = MakeZeroTensor(kInt32, {weight.depth / numbers, weight.columns});
    for (int64_t p = 0; p < weight.depth / numbers; ++p) {
      for (int64_t j = 0; j < weight.columns; ++j) {
        uint32_t word =
            weight.is_transposed ? StoredWord(weight, p, j) : GatheredWord(weight, p, j);
        SetElementInt(words, p * weight.columns + j, static_cast<int32_t>(word));
      }
    }
    return words;
  }

  // Neighbours along the depth are neighbours in memory.
  static uint32_t StoredWord(const NarrowWeight& weight, int64_t p, int64_t j) {
    int64_t at = j * weight.depth * weight.numbers.dtype.bits() / kWordBits + p;
    uint32_t word = 0;
    std::memcpy(&word, weight.numbers.bytes.data() + at * sizeof(word), sizeof(word));
    const int bits = weight.numbers.dtype.bits();
    for (int at = 0; at < kWordBits; at += bits)
      word ^= static_cast<uint32_t>(Middle(weight)) << at;
    return word;
  }

  static uint32_t GatheredWord(const NarrowWeight& weight, int64_t p, int64_t j) {
    int64_t bits = weight.numbers.dtype.bits(), numbers = kWordBits / bits;
    uint32_t word = 0;
    for (int64_t t = 0; t < numbers; ++t) {
      int64_t at = (p * numbers + t) * weight.columns + j;
      auto number = static_cast<uint32_t>(ElementAsInt(weight.numbers, at) - Middle(weight));
      word |= (number & ((1U << bits) - 1)) << (bits * t);
    }
    return word;
  }

  // Returns the tensor less a number as f32 [blocks, columns].
  static Tensor Spread(const NarrowWeight& weight, const Tensor& tensor, int64_t less) {
    Tensor spread = MakeZeroTensor(kFloat32, {weight.blocks, weight.columns});
    bool is_one = CountOf(tensor) == 1;
    for (int64_t b = 0; b < weight.blocks; ++b) {
      for (int64_t j = 0; j < weight.columns; ++j) {
        int64_t at = weight.is_transposed ? j * weight.blocks + b : b * weight.columns + j;
        double value = ElementAsDouble(tensor, is_one ? 0 : at);
        SetElement(spread, b * weight.columns + j, value - static_cast<double>(less));
      }
    }
    return spread;
  }

  Graph& graph_;
  std::vector<int> producers_;
};

}  // namespace

Status RewriteNarrowWeights(Graph& graph) {
  Rewriter(graph).Run();
  return OkStatus();
}

}  // namespace tcc
