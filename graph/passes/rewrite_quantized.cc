#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "graph/passes/edit.h"
#include "graph/passes/passes.h"
#include "ir/graph/constants.h"
#include "support/storage_types.h"

namespace tcc {
namespace {

// Fewer channels per group are multiplied in floats: there are no pairs of bytes. f32 holds sums of
// so many terms.
constexpr int64_t kMinGroupChannels = 8;
constexpr int64_t kMaxFloatTerms = (int64_t{1} << 24) / (255 * 255);

// Division by a smaller step might make an infinite constant.
constexpr double kMinStep = 0x1p-64;

// An operand in integers of at most 8 bits, and what its integers mean: (value - zero) * scale.
struct Bytes {
  ValueId value = kNoValue;
  ValueId scale = kNoValue;
  ValueId zero = kNoValue;  // kNoValue: 0
  int64_t axis = 1;         // of a scale that is a list
};

bool IsByte(const Graph& graph, ValueId id) {
  DType type = graph.value(id).dtype;
  return type.is_integer() && type.bits() == 8;
}

// The bytes that hold what a type of 2 or 4 bits does.
DType UnpackedType(DType packed) {
  return DType(IsSigned(packed) ? DTypeCode::kInt8 : DTypeCode::kUInt8);
}

int64_t CountOf(const Tensor& tensor) {
  return ElementCount(tensor.shape).value();
}

// Returns the constant in bytes of the packed type's sign; kNoValue if there is none.
ValueId UnpackedConstant(Graph& graph, ValueId id) {
  if (id == kNoValue) return kNoValue;
  const Tensor packed = *graph.ConstantOf(id);
  Tensor bytes = MakeZeroTensor(UnpackedType(packed.dtype), packed.shape);
  for (int64_t i = 0; i < CountOf(packed); ++i) SetElementInt(bytes, i, ElementAsInt(packed, i));
  return AddConstant(graph, graph.value(id).name + ".bytes", bytes);
}

// Returns the zero point of a QuantizeLinear or DequantizeLinear; kNoValue if there is none.
ValueId ZeroOf(const Node& node) {
  return node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
}

// Quantizes to bytes within the bounds of 2 or 4 bits what only DequantizeLinear reads: a byte each
// is stored and loaded by vectors, several in one are not.
class Widener {
 public:
  explicit Widener(Graph& graph) : graph_(graph), uses_(UsesOf(graph)) {}

  void Run() {
    std::vector<Node> nodes;
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const bool widens = Widens(graph_.nodes[n]);
      const ValueId packed = widens ? graph_.nodes[n].outputs[0] : kNoValue;
      if (widens) WidenReaders(packed);
      nodes.push_back(graph_.nodes[n]);
      if (widens) nodes.push_back(WidenQuantizer(nodes.back(), packed));
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  bool HasKnownZero(const Node& node) const {
    return ZeroOf(node) == kNoValue || graph_.ConstantOf(ZeroOf(node));
  }

  bool Widens(const Node& node) const {
    if (node.op != OpKind::kQuantizeLinear) return false;
    const ValueId packed = node.outputs[0];
    const std::vector<int>& readers = uses_.readers[packed];
    return IsPacked(graph_.value(packed).dtype) && HasKnownZero(node) && !uses_.is_output[packed] &&
           std::ranges::all_of(readers, [&](int n) {
             const Node& reader = graph_.nodes[n];
             return reader.op == OpKind::kDequantizeLinear && reader.inputs[0] == packed &&
                    HasKnownZero(reader);
           });
  }

  void WidenReaders(ValueId packed) {
    for (int n : uses_.readers[packed]) {
      const ValueId wide = UnpackedConstant(graph_, ZeroOf(graph_.nodes[n]));
      if (wide != kNoValue) graph_.nodes[n].inputs[2] = wide;
    }
  }

  // Returns the Clip behind the quantizer, whose result replaces the packed one.
  Node WidenQuantizer(Node& quantizer, ValueId packed) {
    const DType few = graph_.value(packed).dtype, wide = UnpackedType(few);
    const std::string name = graph_.value(packed).name;
    const std::vector<Expr> shape = graph_.value(packed).shape;
    auto bound = [&](const char* role, int64_t value) {
      Tensor number = MakeZeroTensor(wide, {});
      SetElementInt(number, 0, value);
      return AddConstant(graph_, name + role, number);
    };
    const ValueId low = bound(".low", MinValue(few)), high = bound(".high", MaxValue(few));
    const ValueId zero = UnpackedConstant(graph_, ZeroOf(quantizer));
    if (zero != kNoValue) quantizer.inputs[2] = zero;
    quantizer.attributes["to"] = ToString(wide);
    quantizer.outputs[0] = AddComputed(graph_, name + ".bytes", wide, shape);
    graph_.values[packed].dtype = wide;
    return {.name = name + ".few",
            .op = OpKind::kClip,
            .inputs = {quantizer.outputs[0], low, high},
            .outputs = {packed}};
  }

  Graph& graph_;
  ValueUses uses_;
};

// Returns the bytes that node `producer` makes an f32 of by constant scales and zero points.
std::optional<Bytes> BytesOf(const Graph& graph, int producer) {
  if (producer < 0) return std::nullopt;
  const Node& node = graph.nodes[producer];
  bool fits = node.op == OpKind::kDequantizeLinear && node.Int("block_size", 0) == 0 &&
              (IsByte(graph, node.inputs[0]) || IsPacked(graph.value(node.inputs[0]).dtype)) &&
              graph.ConstantOf(node.inputs[1]) && graph.value(node.inputs[1]).dtype == kFloat32 &&
              graph.value(node.outputs[0]).dtype == kFloat32;
  if (!fits) return std::nullopt;
  Bytes bytes{node.inputs[0], node.inputs[1], kNoValue, node.Int("axis", 1)};
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    const Tensor* zero = graph.ConstantOf(node.inputs[2]);
    if (!zero || zero->dtype.is_float()) return std::nullopt;
    if (!HoldsOnly(*zero, 0)) bytes.zero = node.inputs[2];
  }
  return bytes;
}

// Returns whether a QuantizeLinear gives bytes of the type, step and zero point that the operand
// has: one number each, the step positive.
bool Makes(const Graph& graph, const Node& quantizer, const Bytes& bytes) {
  if (graph.value(quantizer.outputs[0]).dtype != graph.value(bytes.value).dtype) return false;
  const bool has_zero = ZeroOf(quantizer) != kNoValue;
  const Tensor* scale = graph.ConstantOf(quantizer.inputs[1]);
  const Tensor* zero = has_zero ? graph.ConstantOf(ZeroOf(quantizer)) : nullptr;
  const Tensor* own_scale = graph.ConstantOf(bytes.scale);
  const Tensor* own_zero = bytes.zero == kNoValue ? nullptr : graph.ConstantOf(bytes.zero);
  if (!scale || (has_zero && !zero)) return false;
  for (const Tensor* tensor : {scale, zero, own_scale, own_zero}) {
    if (tensor && CountOf(*tensor) != 1) return false;
  }
  auto number = [](const Tensor* tensor) { return tensor ? ElementAsDouble(*tensor, 0) : 0; };
  return number(own_scale) > 0 && number(scale) == number(own_scale) &&
         number(zero) == number(own_zero);
}

// Returns the QuantizeLinear that alone reads the value and gives the bytes that it was made of;
// -1 if there is none.
int RequantizerOf(const Graph& graph, const ValueUses& uses, ValueId value, const Bytes& bytes) {
  if (!uses.HasOneReader(value)) return -1;
  const int n = uses.readers[value][0];
  const Node& reader = graph.nodes[n];
  const bool fits = reader.op == OpKind::kQuantizeLinear && reader.inputs[0] == value &&
                    Makes(graph, reader, bytes);
  return fits ? n : -1;
}

// Rectifies numbers before they become bytes rather than after: rounding and saturation keep their
// order, and make 0 the zero point.
class Rectifier {
 public:
  explicit Rectifier(Graph& graph)
      : graph_(graph), producers_(ProducersOf(graph)), uses_(UsesOf(graph)) {}

  void Run() {
    std::set<int> dropped;
    for (int n = 0; n < static_cast<int>(graph_.nodes.size()); ++n) {
      if (const int requantizer = Swap(n); requantizer >= 0) dropped.insert(requantizer);
    }
    std::vector<Node> kept;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!dropped.contains(static_cast<int>(n))) kept.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(kept);
  }

 private:
  // Swaps the Relu with the quantizer before it. Returns the quantizer behind it, whose result is
  // that of the one before now, or -1 if nothing has changed.
  int Swap(int n) {
    Node& relu = graph_.nodes[n];
    if (relu.op != OpKind::kRelu || !uses_.HasOneReader(relu.inputs[0])) return -1;
    const std::optional<Bytes> bytes = BytesOf(graph_, producers_[relu.inputs[0]]);
    if (!bytes || !IsByte(graph_, bytes->value) || !uses_.HasOneReader(bytes->value)) return -1;
    const int first = producers_[bytes->value];
    if (first < 0 || graph_.nodes[first].op != OpKind::kQuantizeLinear) return -1;
    Node& quantizer = graph_.nodes[first];
    const bool fits =
        Makes(graph_, quantizer, *bytes) && graph_.value(quantizer.inputs[0]).dtype == kFloat32;
    const int last = fits ? RequantizerOf(graph_, uses_, relu.outputs[0], *bytes) : -1;
    if (last < 0) return -1;
    relu.inputs[0] = quantizer.inputs[0];
    quantizer.inputs[0] = relu.outputs[0];
    quantizer.outputs = graph_.nodes[last].outputs;
    std::swap(relu, quantizer);
    return last;
  }

  Graph& graph_;
  const std::vector<int> producers_;
  const ValueUses uses_;
};

// Returns whether an i32 holds the sum of `terms` products of the data with a weight: each factor
// is a byte less its zero point.
bool FitsWord(const Graph& graph, const Bytes& weight, int64_t terms) {
  bool is_signed = IsSigned(graph.value(weight.value).dtype);
  int64_t largest = is_signed && weight.zero == kNoValue ? 128 : 255;
  return terms <= INT32_MAX / (255 * largest);
}

// The parts of a node that differ between Conv, Gemm and MatMul.
struct Product {
  OpKind integer_op;
  int64_t channel_axis = 0;  // the axis of the weight with one scale per entry
  int64_t terms = 0;         // of a result
  size_t trailing = 0;       // the result's dimensions behind the channels
  bool transposes_weight = false;
  bool widens_weight = false;  // to f32
  ValueId bias = kNoValue;
};

std::optional<Product> ProductOf(const Graph& graph, const Node& node, const Tensor& weight) {
  const std::vector<int64_t>& shape = weight.shape;
  Product product{.integer_op = OpKind::kMatMulInteger};
  if (node.op == OpKind::kConv) {
    bool is_grouped = node.Int("group", 1) != 1;
    if (shape.size() < 3) return std::nullopt;
    product = {.integer_op = OpKind::kConvInteger,
               .terms = CountOf(weight) / std::max<int64_t>(shape[0], 1),
               .trailing = shape.size() - 2,
               .bias = node.inputs.size() > 2 ? node.inputs[2] : kNoValue};
    product.widens_weight = is_grouped && shape[1] < kMinGroupChannels;
    bool fits = !product.widens_weight || product.terms <= kMaxFloatTerms;
    return fits ? std::optional(product) : std::nullopt;
  }
  if (shape.size() != 2) return std::nullopt;
  product.channel_axis = 1;
  if (node.op == OpKind::kGemm) {
    bool is_plain =
        node.Float("alpha", 1) == 1 && node.Float("beta", 1) == 1 && node.Int("transA", 0) == 0;
    if (!is_plain) return std::nullopt;
    product.transposes_weight = node.Int("transB", 0) != 0;
    if (product.transposes_weight) product.channel_axis = 0;
    product.bias = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
  } else if (node.op != OpKind::kMatMul || graph.value(node.inputs[0]).shape.size() < 2) {
    return std::nullopt;
  }
  product.terms = shape[1 - product.channel_axis];
  return product;
}

// Returns whether the tensor holds one number, or one per entry of the weight's channel axis.
bool IsPerChannel(const Graph& graph, ValueId id, const Bytes& weight, const Product& product) {
  if (id == kNoValue) return true;
  const Tensor& tensor = *graph.ConstantOf(id);
  const Tensor& whole = *graph.ConstantOf(weight.value);
  auto rank = static_cast<int64_t>(whole.shape.size());
  int64_t axis = weight.axis < 0 ? weight.axis + rank : weight.axis;
  if (CountOf(tensor) == 1) return true;
  return tensor.shape.size() == 1 && axis == product.channel_axis &&
         tensor.shape[0] == whole.shape[axis];
}

// Removes the zero point of a constant weight where the weight is signed without one: it is 0, or
// 128 of unsigned bytes, which become as many signed ones.
void DropWeightZero(Graph& graph, Node& node) {
  constexpr size_t kWeight = 1, kZero = 3;
  bool has_zero = node.inputs.size() > kZero && node.inputs[kZero] != kNoValue;
  const Tensor* weight = has_zero ? graph.ConstantOf(node.inputs[kWeight]) : nullptr;
  const Tensor* zero = has_zero ? graph.ConstantOf(node.inputs[kZero]) : nullptr;
  if (!weight || !zero) return;
  constexpr int64_t kHalf = 128;
  if (!weight->dtype.is_signed_integer() && HoldsOnly(*zero, kHalf)) {
    Tensor signed_weight = MakeZeroTensor(DType(DTypeCode::kInt8), weight->shape);
    for (int64_t i = 0; i < CountOf(*weight); ++i) {
      SetElementInt(signed_weight, i, static_cast<int64_t>(ElementAsDouble(*weight, i)) - kHalf);
    }
    const std::string name = graph.value(node.inputs[kWeight]).name + ".signed";
    node.inputs[kWeight] = AddConstant(graph, name, signed_weight);
  } else if (!HoldsOnly(*zero, 0)) {
    return;
  }
  node.inputs[kZero] = kNoValue;
}

bool MultipliesIntegers(const Node& node) {
  return node.op == OpKind::kConvInteger || node.op == OpKind::kMatMulInteger;
}

// Returns whether the elements of the node's result are elements of its first operand, and depend
// on their order alone.
bool PicksElements(const Node& node) {
  constexpr OpKind kPicking[] = {OpKind::kMaxPool,   OpKind::kReshape, OpKind::kFlatten,
                                 OpKind::kTranspose, OpKind::kSlice,   OpKind::kSqueeze,
                                 OpKind::kUnsqueeze};
  return node.outputs.size() == 1 && std::ranges::find(kPicking, node.op) != std::end(kPicking);
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph)
      : graph_(graph), producers_(ProducersOf(graph)), uses_(UsesOf(graph)) {}

  void Run() {
    // The graph keeps its nodes meanwhile, since producers and uses are indices into them.
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      Node node = graph_.nodes[n];
      if (dropped_.contains(static_cast<int>(n)) || Rewrite(node) || PickBytes(node)) continue;
      if (MultipliesIntegers(node)) DropWeightZero(graph_, node);
      if (auto unit = unit_steps_.find(static_cast<int>(n)); unit != unit_steps_.end()) {
        node.inputs[1] = unit->second;
      }
      nodes_.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes_);
  }

 private:
  // Appends the nodes that replace `node`. Returns false if it stays.
  bool Rewrite(const Node& node) {
    bool is_product =
        node.op == OpKind::kConv || node.op == OpKind::kGemm || node.op == OpKind::kMatMul;
    if (!is_product) return false;
    std::optional<Bytes> data = BytesOf(graph_, producers_[node.inputs[0]]);
    std::optional<Bytes> weight = BytesOf(graph_, producers_[node.inputs[1]]);
    const Tensor* constant = weight ? graph_.ConstantOf(weight->value) : nullptr;
    if (!data || !constant || CountOf(*graph_.ConstantOf(data->scale)) != 1) return false;
    if (data->zero != kNoValue && CountOf(*graph_.ConstantOf(data->zero)) != 1) return false;
    std::optional<Product> product = ProductOf(graph_, node, *constant);
    bool fits = product && IsPerChannel(graph_, weight->scale, *weight, *product) &&
                IsPerChannel(graph_, weight->zero, *weight, *product) &&
                FitsWord(graph_, *weight, product->terms);
    if (fits) Emit(node, Unpacked(*data), LessZeroIfPacked(*weight), *product);
    return fits;
  }

  // Appends the node over bytes, with the bytes of the quantizer behind it as its result, if it
  // only picks elements and the quantizer undoes what made numbers of them. Returns false if the
  // node stays.
  bool PickBytes(Node node) {
    if (!PicksElements(node)) return false;
    std::optional<Bytes> bytes = BytesOf(graph_, producers_[node.inputs[0]]);
    if (!bytes || CountOf(*graph_.ConstantOf(bytes->scale)) != 1) return false;
    if (!IsByte(graph_, bytes->value)) return false;
    int quantizer = RequantizerOf(graph_, uses_, node.outputs[0], *bytes);
    if (quantizer < 0) return false;
    node.inputs[0] = bytes->value;
    node.outputs = graph_.nodes[quantizer].outputs;
    nodes_.push_back(std::move(node));
    dropped_.insert(quantizer);
    return true;
  }

  // Returns the QuantizeLinear by one constant step that alone reads the value, perhaps behind a
  // Relu; -1 if there is none.
  int QuantizerOf(ValueId value) const {
    for (bool is_behind_relu : {false, true}) {
      if (!uses_.HasOneReader(value)) return -1;
      int n = uses_.readers[value][0];
      const Node& reader = graph_.nodes[n];
      if (reader.op == OpKind::kQuantizeLinear) {
        const Tensor* step = graph_.ConstantOf(reader.inputs[1]);
        bool fits = reader.inputs[0] == value && step && step->dtype == kFloat32 &&
                    CountOf(*step) == 1 && ElementAsDouble(*step, 0) >= kMinStep;
        return fits ? n : -1;
      }
      if (reader.op != OpKind::kRelu || is_behind_relu) return -1;
      value = reader.outputs[0];
    }
    return -1;
  }

  // Returns the step of the quantizer that reads the node's result, which is divided by it from now
  // on, while the quantizer's own step becomes 1; else 1.
  double TakeStep(const Node& node) {
    int n = QuantizerOf(node.outputs[0]);
    if (n < 0) return 1;
    const Tensor& step = *graph_.ConstantOf(graph_.nodes[n].inputs[1]);
    double value = ElementAsDouble(step, 0);
    Tensor one = MakeZeroTensor(kFloat32, step.shape);
    SetElement(one, 0, 1);
    unit_steps_[n] = AddConstant(graph_, node.name + ".one", one);
    return value;
  }

  // Returns an operand of 2 or 4 bits in bytes of the same integers, and others as they are. Data
  // are cast once for all their readers.
  Bytes Unpacked(Bytes operand) {
    const DType type = graph_.value(operand.value).dtype;
    if (!IsPacked(type)) return operand;
    operand.zero = UnpackedConstant(graph_, operand.zero);
    auto [known, is_new] = unpacked_.emplace(operand.value, kNoValue);
    if (is_new && graph_.ConstantOf(operand.value)) {
      known->second = UnpackedConstant(graph_, operand.value);
    } else if (is_new) {
      const DType wide = UnpackedType(type);
      const std::vector<Expr> shape = graph_.value(operand.value).shape;
      const std::string name = graph_.value(operand.value).name + ".bytes";
      known->second = AddComputed(graph_, name, wide, shape);
      nodes_.push_back({.name = graph_.value(known->second).name,
                        .op = OpKind::kCast,
                        .inputs = {operand.value},
                        .outputs = {known->second},
                        .attributes = {{"to", ToString(wide)}}});
    }
    operand.value = known->second;
    return operand;
  }

  // Returns a constant of 2 or 4 bits in signed bytes, less its zero points; others as they are.
  Bytes LessZeroIfPacked(Bytes weight) {
    const Tensor packed = *graph_.ConstantOf(weight.value);
    if (!IsPacked(packed.dtype)) return weight;
    const Tensor* zero = weight.zero == kNoValue ? nullptr : graph_.ConstantOf(weight.zero);
    const auto rank = static_cast<int64_t>(packed.shape.size());
    const int64_t axis = weight.axis < 0 ? weight.axis + rank : weight.axis;
    const bool is_list = zero && CountOf(*zero) > 1;
    int64_t inner = 1;
    for (int64_t d = axis + 1; is_list && d < rank; ++d) inner *= packed.shape[d];
    Tensor bytes = MakeZeroTensor(DType(DTypeCode::kInt8), packed.shape);
    for (int64_t i = 0; i < CountOf(packed); ++i) {
      const int64_t entry = is_list ? i / inner % packed.shape[axis] : 0;
      const int64_t less = zero ? ElementAsInt(*zero, entry) : 0;
      SetElementInt(bytes, i, ElementAsInt(packed, i) - less);
    }
    weight.value = AddConstant(graph_, graph_.value(weight.value).name + ".bytes", bytes);
    weight.zero = kNoValue;
    return weight;
  }

  void Emit(const Node& node, const Bytes& data, const Bytes& weight, const Product& product) {
    const std::vector<Expr> shape = graph_.value(node.outputs[0]).shape;
    Node sums = node;
    sums.op = product.integer_op;
    if (product.integer_op == OpKind::kMatMulInteger) sums.attributes.clear();
    sums.inputs = {data.value, weight.value, data.zero, weight.zero};
    if (product.transposes_weight) {
      Tensor transposed = TransposedTensor(*graph_.ConstantOf(weight.value), {1, 0});
      sums.inputs[1] =
          AddConstant(graph_, graph_.value(weight.value).name + ".transposed", transposed);
    }
    if (product.widens_weight) {
      const std::string name = graph_.value(weight.value).name + ".wide";
      sums.inputs[1] = AddConstant(graph_, name, WideWeight(weight));
      sums.inputs[3] = kNoValue;
    }
    DropWeightZero(graph_, sums);
    DType type = product.widens_weight ? kFloat32 : kInt32;
    sums.outputs = {AddComputed(graph_, node.name + ".sums", type, shape)};
    nodes_.push_back(sums);
    ValueId numbers = sums.outputs[0];
    if (type == kInt32) {
      numbers =
          Append(node, "numbers", OpKind::kCast, sums.outputs, shape, {{"to", ToString(kFloat32)}});
    }
    double step = TakeStep(node);
    ValueId scale = AddConstant(graph_, node.name + ".scale", ScaleOf(data, weight, product, step));
    if (product.bias == kNoValue) {
      Finish(node, OpKind::kMul, {numbers, scale});
      return;
    }
    ValueId scaled = Append(node, "scaled", OpKind::kMul, {numbers, scale}, shape);
    Finish(node, OpKind::kAdd, {scaled, BiasOf(node, product, step)});
  }

  // The weight of a convolution less its zero points, as f32.
  Tensor WideWeight(const Bytes& weight) const {
    const Tensor& bytes = *graph_.ConstantOf(weight.value);
    const Tensor* zero = weight.zero == kNoValue ? nullptr : graph_.ConstantOf(weight.zero);
    Tensor wide = MakeZeroTensor(kFloat32, bytes.shape);
    int64_t of_filter = CountOf(bytes) / std::max<int64_t>(bytes.shape[0], 1);
    for (int64_t i = 0; i < CountOf(bytes); ++i) {
      double less = zero ? ElementAsDouble(*zero, CountOf(*zero) == 1 ? 0 : i / of_filter) : 0;
      SetElement(wide, i, ElementAsDouble(bytes, i) - less);
    }
    return wide;
  }

  // The product of both scales over the step, with an extent of 1 for each dimension behind the
  // channels.
  Tensor ScaleOf(const Bytes& data, const Bytes& weight, const Product& product,
                 double step) const {
    const Tensor& each = *graph_.ConstantOf(weight.scale);
    int64_t count = CountOf(each);
    std::vector<int64_t> shape;
    if (count > 1) {
      shape.assign(product.trailing + 1, 1);
      shape[0] = count;
    }
    Tensor scale = MakeZeroTensor(kFloat32, shape);
    double of_data = ElementAsDouble(*graph_.ConstantOf(data.scale), 0) / step;
    for (int64_t i = 0; i < count; ++i) SetElement(scale, i, of_data * ElementAsDouble(each, i));
    return scale;
  }

  // The bias over the step, with an extent of 1 for each dimension behind the channels.
  ValueId BiasOf(const Node& node, const Product& product, double step) {
    ValueId bias = product.bias;
    std::vector<Expr> shape = graph_.value(bias).shape;
    if (step != 1) {
      bias = Append(node, "steps", OpKind::kDiv,
                    {bias, AddConstant(graph_, node.name + ".step", ScalarTensor(kFloat32, step))},
                    shape);
    }
    if (product.trailing == 0) return bias;
    std::vector<int64_t> axes(product.trailing);
    std::iota(axes.begin(), axes.end(), 1);
    shape.resize(shape.size() + axes.size(), Expr(1));
    return Append(node, "bias", OpKind::kUnsqueeze,
                  {bias, AddConstant(graph_, node.name + ".axes", IntVector(axes))}, shape);
  }

  // Appends a node of the type f32. Returns its result.
  ValueId Append(const Node& node, const std::string& role, OpKind op, std::vector<ValueId> inputs,
                 const std::vector<Expr>& shape, std::map<std::string, Attribute> attributes = {}) {
    ValueId output = AddComputed(graph_, node.name + "." + role, kFloat32, shape);
    nodes_.push_back({.name = graph_.value(output).name,
                      .op = op,
                      .inputs = std::move(inputs),
                      .outputs = {output},
                      .attributes = std::move(attributes)});
    return output;
  }

  void Finish(const Node& node, OpKind op, std::vector<ValueId> inputs) {
    nodes_.push_back({.name = node.name + "." + std::string(ToString(op)),
                      .op = op,
                      .inputs = std::move(inputs),
                      .outputs = node.outputs});
  }

  Graph& graph_;
  std::vector<int> producers_;
  ValueUses uses_;
  std::map<int, ValueId> unit_steps_;    // the new steps of quantizers, by node
  std::map<ValueId, ValueId> unpacked_;  // operands of 2 and 4 bits in bytes
  std::set<int> dropped_;                // nodes whose results others compute
  std::vector<Node> nodes_;
};

}  // namespace

Status RewriteQuantized(Graph& graph) {
  Widener(graph).Run();
  Rectifier(graph).Run();
  Rewriter(graph).Run();
  return RemoveDead(graph);
}

}  // namespace tcc
