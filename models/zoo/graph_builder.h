#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "support/random.h"

namespace tcc {

// What a convolution of the zoo is: square windows, one padding for all sides.
struct ConvSpec {
  int64_t in = 1;  // channels
  int64_t out = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t group = 1;
  bool bias = true;
  // The result's deviation over the operand's when the operand is rectified and normal. 1 keeps
  // activations level through Conv and Relu (He et al. 2015); the last convolution of a residual
  // branch has less, or the sums would grow with depth.
  double gain = 1;
};

// A window of any number of dimensions; padding is the same at begin and end.
struct ConvNdSpec {
  int64_t in = 1;
  int64_t out = 1;
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> padding;
  int64_t group = 1;
  bool bias = true;
  double gain = 1;  // as in ConvSpec
};

// Builds a network node by node in the normal form of ir/graph/graph.h, with seeded weights. Node
// names are values' names. Shapes of intermediate values stay empty, as after importing.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, uint64_t seed) : random_(seed) { graph_.name = std::move(name); }

  ValueId Input(const std::string& name, const std::vector<int64_t>& shape);
  // Of i64: tokens, masks.
  ValueId IntegerInput(const std::string& name, const std::vector<int64_t>& shape);
  void Output(ValueId id, const std::vector<int64_t>& shape);

  ValueId Conv(const std::string& name, ValueId x, const ConvSpec& spec);
  ValueId ConvNd(const std::string& name, ValueId x, const ConvNdSpec& spec);
  // Square windows, no dilation; the weight is [in, out, kernel, kernel].
  ValueId ConvTranspose(const std::string& name, ValueId x, const ConvSpec& spec);
  // Over `channels`; the statistics are near 0 and 1, the scale is near `gain`.
  ValueId BatchNormalization(const std::string& name, ValueId x, int64_t channels, double gain);
  ValueId Relu(const std::string& name, ValueId x);
  ValueId Relu6(const std::string& name, ValueId x);
  ValueId Add(const std::string& name, ValueId a, ValueId b);
  ValueId MaxPool(const std::string& name, ValueId x, int64_t kernel, int64_t stride,
                  int64_t padding);
  ValueId GlobalAveragePool(const std::string& name, ValueId x);
  ValueId Flatten(const std::string& name, ValueId x);
  // x * w^T + b; `gain` as in ConvSpec.
  ValueId Linear(const std::string& name, ValueId x, int64_t in, int64_t out, double gain);

  // Any other node; its first output.
  ValueId Emit(const std::string& name, OpKind op, std::vector<ValueId> inputs,
               std::map<std::string, Attribute> attributes = {}, DType dtype = kFloat32);
  // Uniform in [center - spread, center + spread].
  ValueId Weight(const std::string& name, const std::vector<int64_t>& shape, double center,
                 double spread);
  ValueId Constant(const std::string& name, const Tensor& tensor);
  ValueId Scalar(const std::string& name, double value);
  // A list of i64: shapes, axes.
  ValueId Ints(const std::string& name, const std::vector<int64_t>& values);

  Graph Take() { return std::move(graph_); }

 private:
  Graph graph_;
  Random random_;
};

}  // namespace tcc
