#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

// Normalization: from an operator of some opset to the one form of ir/graph/graph.h.
namespace tcc {

// A node that is being added to the graph: its attributes are checked and defaults filled in; its
// operands and output values exist and their types are checked.
class OnnxNodeContext {
 public:
  // `op` is the operator's name in the model. `fresh_name` returns a unique value or node name,
  // made from its argument.
  OnnxNodeContext(Graph& graph, Node& node, std::string_view op, int opset,
                  std::function<std::string(const std::string&)> fresh_name)
      : graph(graph), node(node), opset(opset), op_(op), fresh_name_(std::move(fresh_name)) {}

  Graph& graph;
  Node& node;  // appended to the graph after normalization
  const int opset;

  // Returns nullptr if the input is absent or not constant.
  const Tensor* ConstantInput(size_t index) const;
  DType InputType(size_t index) const;
  bool HasInput(size_t index) const;
  ValueId Input(size_t index) const;  // kNoValue if it is absent
  // Sets an input beyond the end too.
  void SetInput(size_t index, ValueId id);

  // Adds a value for EmitAs; `role` becomes part of its name, as below.
  ValueId AddValue(const std::string& role, DType dtype);
  ValueId AddConstant(const std::string& role, const Tensor& tensor);
  ValueId AddInts(const std::string& role, const std::vector<int64_t>& values);
  // Adds the operand of a non-saturating Cast or QuantizeLinear to f8: a tensor of 2 elements, the
  // results of positive and negative overflow.
  ValueId AddOverflow(DType dtype);
  // Adds a scalar of the first input's type, or of another one.
  ValueId AddScalar(const std::string& role, double value);
  ValueId AddScalar(const std::string& role, double value, DType dtype);
  // Removes the attribute from the node and returns it; nullopt if it is absent.
  std::optional<std::vector<int64_t>> TakeInts(const std::string& key);
  std::optional<double> TakeFloat(const std::string& key);
  // Appends a node before this one; the result is a new value.
  ValueId Emit(OpKind op, std::vector<ValueId> inputs, std::map<std::string, Attribute> attributes,
               DType dtype);
  // Appends a node before this one, with `output` as its result.
  void EmitAs(ValueId output, OpKind op, std::vector<ValueId> inputs,
              std::map<std::string, Attribute> attributes);

  // Errors name the node and the operator that the model has, whatever the node has become.
  Status Invalid(const std::string& what) const;
  Status NotSupported(const std::string& what) const;
  // Refuses a node that `what` ("dropout in training mode") makes one of training.
  Status IsForTraining(const std::string& what) const;

 private:
  std::string_view op_;
  std::function<std::string(const std::string&)> fresh_name_;
};

// Squeeze, Unsqueeze and Reduce*.
Status NormalizeAxes(OnnxNodeContext& context);
Status NormalizeAttentionOfMicrosoft(OnnxNodeContext& context);
Status NormalizeBatchNormalization(OnnxNodeContext& context);
Status NormalizeBiasGelu(OnnxNodeContext& context);
// Add, Pow and their like, whose operands broadcast by attributes before opset 7.
Status NormalizeBinary(OnnxNodeContext& context);
Status NormalizeBlackmanWindow(OnnxNodeContext& context);
Status NormalizeCast(OnnxNodeContext& context);
Status NormalizeCastLike(OnnxNodeContext& context);
Status NormalizeClip(OnnxNodeContext& context);
Status NormalizeConstantOfShape(OnnxNodeContext& context);
Status NormalizeConv(OnnxNodeContext& context);
// Normalizes a convolution whose weight is input `weight`.
Status NormalizeConvOf(OnnxNodeContext& context, size_t weight);
Status NormalizeConvTranspose(OnnxNodeContext& context);
Status NormalizeDequantizeLinear(OnnxNodeContext& context);
Status NormalizeDropout(OnnxNodeContext& context);
Status NormalizeDynamicQuantizeLSTM(OnnxNodeContext& context);
Status NormalizeDynamicQuantizeLinear(OnnxNodeContext& context);
Status NormalizeDynamicQuantizeMatMul(OnnxNodeContext& context);
Status NormalizeEmbedLayerNormalization(OnnxNodeContext& context);
Status NormalizeEyeLike(OnnxNodeContext& context);
Status NormalizeFastGelu(OnnxNodeContext& context);
Status NormalizeFusedConv(OnnxNodeContext& context);
Status NormalizeFusedGemm(OnnxNodeContext& context);
Status NormalizeFusedMatMul(OnnxNodeContext& context);
Status NormalizeGelu(OnnxNodeContext& context);
Status NormalizeHammingWindow(OnnxNodeContext& context);
Status NormalizeHannWindow(OnnxNodeContext& context);
Status NormalizeLayerNormalization(OnnxNodeContext& context);
Status NormalizeMatMulIntegerToFloat(OnnxNodeContext& context);
Status NormalizeMatMulNBits(OnnxNodeContext& context);
Status NormalizeMean(OnnxNodeContext& context);
Status NormalizeMelWeightMatrix(OnnxNodeContext& context);
Status NormalizeMultiHeadAttention(OnnxNodeContext& context);
Status NormalizePRelu(OnnxNodeContext& context);
Status NormalizePad(OnnxNodeContext& context);
Status NormalizePool(OnnxNodeContext& context);
Status NormalizeQGemm(OnnxNodeContext& context);
Status NormalizeQLinearAveragePool(OnnxNodeContext& context);
// Normalizes to the row's operator on two dequantized operands; NormalizeQLinearUnary on one.
Status NormalizeQLinearBinary(OnnxNodeContext& context);
Status NormalizeQLinearConcat(OnnxNodeContext& context);
Status NormalizeQLinearConv(OnnxNodeContext& context);
Status NormalizeQLinearMatMul(OnnxNodeContext& context);
Status NormalizeQLinearSoftmax(OnnxNodeContext& context);
Status NormalizeQLinearUnary(OnnxNodeContext& context);
Status NormalizeQLinearWhere(OnnxNodeContext& context);
Status NormalizeQuantizeLinear(OnnxNodeContext& context);
Status NormalizeRMSNormalization(OnnxNodeContext& context);
// Resize and Upsample.
Status NormalizeResize(OnnxNodeContext& context);
Status NormalizeRoiAlign(OnnxNodeContext& context);
Status NormalizeRotaryEmbeddingOfMicrosoft(OnnxNodeContext& context);
Status NormalizeSTFT(OnnxNodeContext& context);
// SkipLayerNormalization and SkipSimplifiedLayerNormalization.
Status NormalizeSkipLayerNormalization(OnnxNodeContext& context);
Status NormalizeSlice(OnnxNodeContext& context);
// Softmax, LogSoftmax and Hardmax.
Status NormalizeSoftmax(OnnxNodeContext& context);
// Normalizes a softmax over what `opset` means by its axis.
Status NormalizeSoftmaxOf(OnnxNodeContext& context, int64_t opset);
Status NormalizeSoftmaxCrossEntropyLoss(OnnxNodeContext& context);
Status NormalizeSplit(OnnxNodeContext& context);
Status NormalizeSum(OnnxNodeContext& context);
Status NormalizeTopK(OnnxNodeContext& context);
Status NormalizeUpsample(OnnxNodeContext& context);

}  // namespace tcc
