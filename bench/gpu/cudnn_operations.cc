#include "bench/gpu/cudnn_operations.h"

#include <algorithm>
#include <array>

namespace tcc::cudnn {
namespace {

constexpr int64_t kAlignment = 16;

using Image = std::array<int64_t, 4>;

Image StridesOf(const Image& dims, bool channels_last) {
  auto [n, c, h, w] = dims;
  if (channels_last) return {h * w * c, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

// Virtual ones are not stored.
bool IsVirtual(int64_t id) {
  return id == kConvolved || id == kBiased;
}

bool IsOperand(int64_t id) {
  return id == kX || id == kW || id == kBias;
}

class GraphBuilding {
 public:
  GraphBuilding(const Session& session, const Storage& storage)
      : session_(session), storage_(storage) {}

  StatusOr<void*> Tensor(int64_t id, const Image& dims) {
    Image strides = StridesOf(dims, storage_.channels_last);
    if (id == kEpsilon) epsilon_ = static_cast<float>(kLayerNormEpsilon);
    Descriptor tensor(session_, kTensor, "a tensor");
    tensor.Set(kTensorDataType, kTypeDataType, IsOperand(id) ? storage_.operands : kFloat)
        .Set(kTensorDimensions, std::span<const int64_t>(dims))
        .Set(kTensorStrides, std::span<const int64_t>(strides))
        .Set(kTensorId, kTypeInt64, id)
        .Set(kTensorAlignment, kTypeInt64, kAlignment)
        .Set(kTensorIsVirtual, kTypeBoolean, IsVirtual(id))
        .Set(kTensorIsByValue, kTypeBoolean, id == kEpsilon);
    return Keep(std::move(tensor));
  }

  Status Convolve(const WindowShape& window, void* x, void* w, void* y) {
    const int64_t two = 2;
    const int64_t ones[] = {1, 1}, strides[] = {window.stride, window.stride};
    const int64_t before[] = {window.top, window.left}, after[] = {window.bottom, window.right};
    Descriptor convolution(session_, kConvolution, "a convolution");
    convolution.Set(kConvolutionPrecision, kTypeDataType, kFloat)
        .Set(kConvolutionMode, kTypeConvolutionMode, kCrossCorrelation)
        .Set(kConvolutionDilations, std::span<const int64_t>(ones))
        .Set(kConvolutionStrides, std::span<const int64_t>(strides))
        .Set(kConvolutionPrePaddings, std::span<const int64_t>(before))
        .Set(kConvolutionPostPaddings, std::span<const int64_t>(after))
        .Set(kConvolutionSpatialDims, kTypeInt64, two);
    TCC_ASSIGN_OR_RETURN(void* desc, Keep(std::move(convolution)));
    Descriptor forward(session_, kOperationConvolutionForward, "an operation");
    forward.Set(kForwardConvolution, kTypeDescriptor, desc)
        .Set(kForwardX, kTypeDescriptor, x)
        .Set(kForwardW, kTypeDescriptor, w)
        .Set(kForwardY, kTypeDescriptor, y)
        .Set(kForwardAlpha, kTypeFloat, 1.0F)
        .Set(kForwardBeta, kTypeFloat, 0.0F);
    return Add(std::move(forward));
  }

  // y = mode(x), or mode(x, b) where `b` is not null.
  Status Pointwise(int mode, void* x, void* b, void* y) {
    Descriptor pointwise(session_, kPointwise, "a pointwise function");
    pointwise.Set(kPointwiseMode, kTypePointwiseMode, mode)
        .Set(kPointwisePrecision, kTypeDataType, kFloat);
    TCC_ASSIGN_OR_RETURN(void* desc, Keep(std::move(pointwise)));
    Descriptor operation(session_, kOperationPointwise, "an operation");
    operation.Set(kPointwiseDescriptor, kTypeDescriptor, desc).Set(kPointwiseX, kTypeDescriptor, x);
    if (b != nullptr) operation.Set(kPointwiseB, kTypeDescriptor, b);
    operation.Set(kPointwiseY, kTypeDescriptor, y);
    return Add(std::move(operation));
  }

  // Statistics are taken of each row; what training would keep of them is not stored.
  Status NormalizeRows(void* x, void* scale, void* bias, void* epsilon, void* y) {
    Descriptor norm(session_, kOperationNormForward, "an operation");
    norm.Set(kNormMode, kTypeNormMode, kLayerNorm)
        .Set(kNormPhase, kTypeNormPhase, kNormInference)
        .Set(kNormX, kTypeDescriptor, x)
        .Set(kNormScale, kTypeDescriptor, scale)
        .Set(kNormBias, kTypeDescriptor, bias)
        .Set(kNormEpsilon, kTypeDescriptor, epsilon)
        .Set(kNormY, kTypeDescriptor, y);
    return Add(std::move(norm));
  }

  StatusOr<SharedGraph> Finish() {
    Descriptor graph(session_, kOperationGraph, "an operation graph");
    graph.Set(kGraphHandle, kTypeHandle, session_.handle())
        .Set(kGraphOperations, kTypeDescriptor, std::span<void* const>(operations_));
    TCC_RETURN_IF_ERROR(graph.Finalize());
    return std::make_shared<const OperationGraph>(
        OperationGraph{std::move(parts_), std::move(graph), epsilon_});
  }

 private:
  StatusOr<void*> Keep(Descriptor descriptor) {
    TCC_RETURN_IF_ERROR(descriptor.Finalize());
    parts_.push_back(std::move(descriptor));
    return parts_.back().get();
  }
  Status Add(Descriptor operation) {
    TCC_ASSIGN_OR_RETURN(void* kept, Keep(std::move(operation)));
    operations_.push_back(kept);
    return OkStatus();
  }

  const Session& session_;
  Storage storage_;
  std::vector<Descriptor> parts_;
  std::vector<void*> operations_;
  std::optional<float> epsilon_;
};

}  // namespace

StatusOr<SharedGraph> GraphOf(const Session& session, const ConvolutionOp& op,
                              const Storage& storage) {
  const WindowShape& window = op.window;
  GraphBuilding building(session, storage);
  Image out = {window.batch, op.filters, window.OutHeight(), window.OutWidth()};
  TCC_ASSIGN_OR_RETURN(
      void* x, building.Tensor(kX, {window.batch, window.channels, window.height, window.width}));
  TCC_ASSIGN_OR_RETURN(void* w, building.Tensor(kW, {op.filters, window.channels / op.groups,
                                                     window.kernel, window.kernel}));
  TCC_ASSIGN_OR_RETURN(void* y, building.Tensor(kY, out));
  if (!op.bias_relu) {
    TCC_RETURN_IF_ERROR(building.Convolve(window, x, w, y));
    return building.Finish();
  }
  TCC_ASSIGN_OR_RETURN(void* bias, building.Tensor(kBias, {1, op.filters, 1, 1}));
  TCC_ASSIGN_OR_RETURN(void* convolved, building.Tensor(kConvolved, out));
  TCC_ASSIGN_OR_RETURN(void* biased, building.Tensor(kBiased, out));
  TCC_RETURN_IF_ERROR(building.Convolve(window, x, w, convolved));
  TCC_RETURN_IF_ERROR(building.Pointwise(kAdd, convolved, bias, biased));
  TCC_RETURN_IF_ERROR(building.Pointwise(kReluForward, biased, nullptr, y));
  return building.Finish();
}

StatusOr<SharedGraph> GraphOf(const Session& session, const ReluOp& op) {
  Image dims = {1, 1, 1, 1};
  for (size_t i = 0; i < op.shape.size(); ++i) dims[std::min<size_t>(i, 3)] *= op.shape[i];
  GraphBuilding building(session, {});
  TCC_ASSIGN_OR_RETURN(void* x, building.Tensor(kX, dims));
  TCC_ASSIGN_OR_RETURN(void* y, building.Tensor(kY, dims));
  TCC_RETURN_IF_ERROR(building.Pointwise(kReluForward, x, nullptr, y));
  return building.Finish();
}

StatusOr<SharedGraph> GraphOf(const Session& session, const LayerNormOp& op) {
  GraphBuilding building(session, {.channels_last = true});
  const Image dims = {op.rows, op.columns, 1, 1}, of_column = {1, op.columns, 1, 1};
  TCC_ASSIGN_OR_RETURN(void* x, building.Tensor(kX, dims));
  TCC_ASSIGN_OR_RETURN(void* scale, building.Tensor(kW, of_column));
  TCC_ASSIGN_OR_RETURN(void* bias, building.Tensor(kBias, of_column));
  TCC_ASSIGN_OR_RETURN(void* epsilon, building.Tensor(kEpsilon, {1, 1, 1, 1}));
  TCC_ASSIGN_OR_RETURN(void* y, building.Tensor(kY, dims));
  TCC_RETURN_IF_ERROR(building.NormalizeRows(x, scale, bias, epsilon, y));
  return building.Finish();
}

}  // namespace tcc::cudnn
