#include "bench/operator/operator.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "models/zoo/transformer_builder.h"
#include "models/zoo/zoo.h"

namespace tcc {
namespace {

using Extents = std::vector<int64_t>;

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

constexpr uint64_t kSeed = 1;

double Product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

Extents ImageOf(const WindowShape& window) {
  return {window.batch, window.channels, window.height, window.width};
}

Extents ImageOut(const WindowShape& window, int64_t channels) {
  return {window.batch, channels, window.OutHeight(), window.OutWidth()};
}

std::map<std::string, Attribute> WindowAttributes(const WindowShape& window) {
  return {{"auto_pad", std::string("NOTSET")},
          {"dilations", Extents{1, 1}},
          {"kernel_shape", Extents{window.kernel, window.kernel}},
          {"pads", Extents{window.top, window.left, window.bottom, window.right}},
          {"strides", Extents{window.stride, window.stride}}};
}

Extents ReducedShape(const ReduceSumOp& op) {
  Extents shape;
  for (int64_t axis = 0; axis < std::ssize(op.shape); ++axis) {
    bool reduced = std::ranges::count(op.axes, axis) > 0;
    if (!reduced) shape.push_back(op.shape[static_cast<size_t>(axis)]);
    if (reduced && op.keep_dims) shape.push_back(1);
  }
  return shape;
}

Extents ChannelsLast(const Extents& image) {
  return {image[0], image[2], image[3], image[1]};
}

void Build(GraphBuilder& net, const ConvolutionOp& op) {
  Extents in = ImageOf(op.window), out = ImageOut(op.window, op.filters);
  ValueId x = net.Input("x", op.channels_last ? ChannelsLast(in) : in);
  if (op.channels_last) x = Transpose(net, "to_channels_first", x, {0, 3, 1, 2});
  Extents shape = {op.filters, op.window.channels / op.groups, op.window.kernel, op.window.kernel};
  std::vector<ValueId> operands = {x, net.Weight("weight", shape, 0, 1)};
  if (op.bias_relu) operands.push_back(net.Weight("bias", {op.filters}, 0, 1));
  auto attributes = WindowAttributes(op.window);
  attributes.emplace("group", op.groups);
  ValueId y = net.Emit("conv", OpKind::kConv, std::move(operands), std::move(attributes));
  if (op.bias_relu) y = net.Relu("relu", y);
  if (op.channels_last) y = Transpose(net, "to_channels_last", y, {0, 2, 3, 1});
  net.Output(y, op.channels_last ? ChannelsLast(out) : out);
}

void Build(GraphBuilder& net, const AveragePoolOp& op) {
  ValueId x = net.Input("x", ImageOf(op.window));
  auto attributes = WindowAttributes(op.window);
  attributes.emplace("ceil_mode", int64_t{0});
  attributes.emplace("count_include_pad", int64_t{0});
  net.Output(net.Emit("pool", OpKind::kAveragePool, {x}, std::move(attributes)),
             ImageOut(op.window, op.window.channels));
}

void Build(GraphBuilder& net, const MatmulOp& op) {
  if (op.batch == 1) {
    ValueId a = net.Input("a", {op.rows, op.depth});
    ValueId b = net.Weight("b", {op.depth, op.columns}, 0, 1);
    net.Output(net.Emit("matmul", OpKind::kMatMul, {a, b}), {op.rows, op.columns});
    return;
  }
  ValueId a = net.Input("a", {op.batch, op.rows, op.depth});
  ValueId b = net.Input("b", {op.batch, op.depth, op.columns});
  net.Output(net.Emit("matmul", OpKind::kMatMul, {a, b}), {op.batch, op.rows, op.columns});
}

void Build(GraphBuilder& net, const ReluOp& op) {
  net.Output(net.Relu("relu", net.Input("x", op.shape)), op.shape);
}

void Build(GraphBuilder& net, const ReduceSumOp& op) {
  ValueId x = net.Input("x", op.shape);
  net.Output(net.Emit("sum", OpKind::kReduceSum, {x, net.Ints("axes", op.axes)},
                      {{"keepdims", int64_t{op.keep_dims}}, {"noop_with_empty_axes", int64_t{0}}}),
             ReducedShape(op));
}

void Build(GraphBuilder& net, const SoftmaxOp& op) {
  ValueId x = net.Input("x", {op.rows, op.columns});
  net.Output(net.Emit("softmax", OpKind::kSoftmax, {x}, {{"axis", int64_t{-1}}}),
             {op.rows, op.columns});
}

void Build(GraphBuilder& net, const LayerNormOp& op) {
  ValueId x = net.Input("x", {op.rows, op.columns});
  net.Output(LayerNormalization(net, "norm", x, op.columns, kLayerNormEpsilon),
             {op.rows, op.columns});
}

void Build(GraphBuilder& net, const AttentionOp& op) {
  Extents shape = {op.batch, op.heads, op.tokens, op.depth};
  Heads heads{net.Input("q", shape), net.Input("k", shape), net.Input("v", shape)};
  net.Output(AttentionOf(net, "attention", heads, op.depth), shape);
}

OperatorWork Work(const ConvolutionOp& op) {
  double in = Product(ImageOf(op.window)), out = Product(ImageOut(op.window, op.filters));
  int64_t channels = op.window.channels / op.groups;
  auto terms = static_cast<double>(channels * op.window.kernel * op.window.kernel);
  double bias = op.bias_relu ? static_cast<double>(op.filters) : 0;
  return {2 * out * terms, 4 * (in + out + terms * static_cast<double>(op.filters) + bias)};
}

OperatorWork Work(const AveragePoolOp& op) {
  double out = Product(ImageOut(op.window, op.window.channels));
  return {out * static_cast<double>(op.window.kernel * op.window.kernel),
          4 * (Product(ImageOf(op.window)) + out)};
}

OperatorWork Work(const MatmulOp& op) {
  double a = Product({op.batch, op.rows, op.depth}), b = Product({op.batch, op.depth, op.columns});
  double y = Product({op.batch, op.rows, op.columns});
  return {2 * y * static_cast<double>(op.depth), 4 * (a + b + y)};
}

OperatorWork Work(const ReluOp& op) {
  return {Product(op.shape), 8 * Product(op.shape)};
}

OperatorWork Work(const ReduceSumOp& op) {
  return {Product(op.shape), 4 * (Product(op.shape) + Product(ReducedShape(op)))};
}

// Passes over the data are what counts; operations are those of the definition.
OperatorWork Work(const SoftmaxOp& op) {
  double elements = Product({op.rows, op.columns});
  return {5 * elements, 8 * elements};
}

OperatorWork Work(const LayerNormOp& op) {
  double elements = Product({op.rows, op.columns});
  return {8 * elements, 8 * elements + 8 * static_cast<double>(op.columns)};
}

OperatorWork Work(const AttentionOp& op) {
  double one = Product({op.batch, op.heads, op.tokens, op.depth});
  return {4 * one * static_cast<double>(op.tokens), 16 * one};
}

OperatorWork Work(const NetworkOp&) {
  return {};
}

// Transposes each image, a matrix of `rows` rows and `columns` columns.
Tensor Transposed(const Tensor& from, std::vector<int64_t> shape, int64_t rows, int64_t columns) {
  Tensor to = MakeZeroTensor(from.dtype, std::move(shape));
  auto* values = reinterpret_cast<float*>(MutableBytes(to).data());
  std::span<const float> given = from.values<float>();
  for (int64_t begin = 0; begin < std::ssize(given); begin += rows * columns) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        values[begin + column * rows + row] =
            given[static_cast<size_t>(begin + row * columns + column)];
      }
    }
  }
  return to;
}

}  // namespace

StatusOr<Graph> GraphOf(const BenchOperator& op) {
  if (const auto* network = std::get_if<NetworkOp>(&op.kind)) {
    return BuildZoo(network->network, {.small = network->small});
  }
  GraphBuilder net(op.name, kSeed);
  std::visit(Overloaded{[](const NetworkOp&) {}, [&](const auto& kind) { Build(net, kind); }},
             op.kind);
  return net.Take();
}

bool IsChannelsLast(const BenchOperator& op) {
  const auto* convolution = std::get_if<ConvolutionOp>(&op.kind);
  return convolution != nullptr && convolution->channels_last;
}

std::vector<Tensor> ConstantsOf(const BenchOperator& op, const Graph& graph) {
  std::vector<Tensor> constants;
  if (std::holds_alternative<NetworkOp>(op.kind)) return constants;
  for (const Value& value : graph.values) {
    if (value.constant && value.dtype == kFloat32 && !value.constant->shape.empty()) {
      constants.push_back(*value.constant);
    }
  }
  return constants;
}

OperatorWork WorkOf(const BenchOperator& op) {
  return std::visit([](const auto& kind) { return Work(kind); }, op.kind);
}

Tensor ToChannelsLast(const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape;
  if (shape.size() != 4) return tensor;
  return Transposed(tensor, {shape[0], shape[2], shape[3], shape[1]}, shape[1],
                    shape[2] * shape[3]);
}

Tensor FromChannelsLast(const Tensor& tensor) {
  const std::vector<int64_t>& shape = tensor.shape;
  if (shape.size() != 4) return tensor;
  return Transposed(tensor, {shape[0], shape[3], shape[1], shape[2]}, shape[1] * shape[2],
                    shape[3]);
}

std::vector<Tensor> ToChannelsLast(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> transposed;
  for (const Tensor& tensor : tensors) transposed.push_back(ToChannelsLast(tensor));
  return transposed;
}

std::vector<Tensor> FromChannelsLast(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> transposed;
  for (const Tensor& tensor : tensors) transposed.push_back(FromChannelsLast(tensor));
  return transposed;
}

}  // namespace tcc
