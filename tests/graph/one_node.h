#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "support/status.h"

// Graphs of one node or a few, and tensors written by hand, for the tests of lowerings and passes.
namespace tcc {

Tensor Of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
Tensor F32(std::vector<int64_t> shape, const std::vector<double>& values);
Tensor I64(std::vector<int64_t> shape, const std::vector<int64_t>& values);
// Multiples of 1/8 in -2..2: sums of their products are exact in f32.
Tensor RandomF32(std::vector<int64_t> shape, uint64_t seed);
std::vector<double> ValuesOf(const Tensor& tensor);

using Attributes = std::map<std::string, Attribute>;
using Ints = std::vector<int64_t>;

// Builds a graph node by node.
class TestGraph {
 public:
  ValueId Input(const std::string& name, DType dtype, const std::vector<int64_t>& shape);
  ValueId Constant(const std::string& name, const Tensor& tensor);
  ValueId Add(const std::string& name, OpKind op, std::vector<ValueId> inputs,
              Attributes attributes = {});
  // Adds a node of several results.
  std::vector<ValueId> AddAll(const std::string& name, OpKind op, std::vector<ValueId> inputs,
                              int results, Attributes attributes = {});
  void Output(ValueId id) { graph_.outputs.push_back(id); }
  Graph Build() const { return graph_; }

 private:
  Graph graph_;
};

// A node 'node' over inputs in0, in1, ...; those listed in `constants` are initializers. A Tensor{}
// leaves the input out.
struct OneNode {
  OpKind op;
  std::vector<Tensor> inputs;
  Attributes attributes = {};
  std::vector<int> constants = {};
  int outputs = 1;
};

// Returns the graph that has this node and nothing else, before inference.
Graph GraphOf(const OneNode& node);

// Infers shapes and interprets; the second runs all graph passes instead.
StatusOr<std::vector<Tensor>> Run(const OneNode& node);
StatusOr<std::vector<Tensor>> RunOptimized(const OneNode& node);
// Result 0 of Run; fails the test where there is none.
Tensor ResultOf(const OneNode& node);
// What InferShapes says, "" if it agrees.
std::string ErrorOf(const OneNode& node);

}  // namespace tcc
