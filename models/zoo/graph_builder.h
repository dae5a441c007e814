#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "support/random.h"

namespace tcc {

// A convolution with square windows and the same padding on all sides.
struct ConvSpec {
  int64_t in = 1;  // channels
  int64_t out = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t group = 1;
  bool bias = true;
  // The ratio of the result's standard deviation to the operand's, for a rectified normal operand.
  // 1 keeps activations level through Conv and Relu (He et al. 2015); the last convolution of a
  // residual branch has less, or the sums would grow with depth.
  double gain = 1;
};

// A convolution with any number of spatial dimensions; padding is the same at begin and end.
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

// Builds a network node by node in the normal form of ir/graph/graph.h, with seeded weights. A node
// has the name of its value. Shapes of intermediate values stay empty, as after an import.
class GraphBuilder {
 public:
  GraphBuilder(std::string name, uint64_t seed) : random_(seed) { graph_.name = std::move(name); }

  ValueId Input(const std::string& name, const std::vector<int64_t>& shape);
  // Adds an input of i64: tokens, masks.
  ValueId IntegerInput(const std::string& name, const std::vector<int64_t>& shape);
  void Output(ValueId id, const std::vector<int64_t>& shape);

  ValueId Conv(const std::string& name, ValueId x, const ConvSpec& spec);
  ValueId ConvNd(const std::string& name, ValueId x, const ConvNdSpec& spec);
  // Adds a transposed convolution with square windows and no dilation; the weight is [in, out,
  // kernel, kernel].
  ValueId ConvTranspose(const std::string& name, ValueId x, const ConvSpec& spec);
  // Adds a batch normalization over `channels`; the mean and variance are near 0 and 1, the scale
  // is near `gain`.
  ValueId BatchNormalization(const std::string& name, ValueId x, int64_t channels, double gain);
  ValueId Relu(const std::string& name, ValueId x);
  ValueId Relu6(const std::string& name, ValueId x);
  ValueId Add(const std::string& name, ValueId a, ValueId b);
  ValueId MaxPool(const std::string& name, ValueId x, int64_t kernel, int64_t stride,
                  int64_t padding);
  ValueId GlobalAveragePool(const std::string& name, ValueId x);
  ValueId Flatten(const std::string& name, ValueId x);
  // Adds x * w^T + b; `gain` is as in ConvSpec.
  ValueId Linear(const std::string& name, ValueId x, int64_t in, int64_t out, double gain);

  // Adds any other node. Returns its first output.
  ValueId Emit(const std::string& name, OpKind op, std::vector<ValueId> inputs,
               std::map<std::string, Attribute> attributes = {}, DType dtype = kFloat32);
  // Adds a weight, uniform in [center - spread, center + spread].
  ValueId Weight(const std::string& name, const std::vector<int64_t>& shape, double center,
                 double spread);
  ValueId Constant(const std::string& name, const Tensor& tensor);
  ValueId Scalar(const std::string& name, double value);
  // Adds a constant list of i64: shapes, axes.
  ValueId Ints(const std::string& name, const std::vector<int64_t>& values);

  Graph Take() { return std::move(graph_); }

 private:
  Graph graph_;
  Random random_;
};

}  // namespace tcc
