#pragma once

#include <string>
#include <vector>

#include "tests/graph/one_node.h"

// A node whose inputs have free dimensions, for the tests of lowerings.
namespace tcc {

// A dimension of an input that is the Shape variable `name`; equal names are one variable.
struct FreeDim {
  size_t input = 0;
  size_t dim = 0;
  std::string name;
};

// An input's elements, which shape inference would know as formulas over the variables.
struct KnownElements {
  size_t input = 0;
  std::vector<Expr> (*formulas)(const std::vector<Var>& vars) = nullptr;
};

// A node, and what is free in it. The node's tensors say at which sizes it is run.
struct FreeNode {
  OneNode node;
  std::vector<FreeDim> dims;
  std::vector<KnownElements> elements = {};
  int64_t low = 1;
  int64_t high = 64;
  double tolerance = 0;  // of each element, where numbers are computed with in another order
};

// The results of a node with free dimensions at the sizes of its tensors.
struct FreeResults {
  std::vector<Tensor> tensors;
  bool agrees = true;     // whether everything that the lowering took for granted holds
  std::string condition;  // the first stage's predicate
  std::string program;    // the loop nest
};

// Lowers the node once, with its dimensions free, and interprets that program.
StatusOr<FreeResults> RunFree(const FreeNode& free);
// Checks that the results equal the ones with known dimensions. Returns false where ONNX forbids
// the node at these sizes.
bool CheckSameAsBound(const FreeNode& free);
// Returns the shape of result 0 with formulas, "Nx8x((H + 1) div 2)", or the lowering's error.
std::string FreeShapeOf(const FreeNode& free);

}  // namespace tcc
