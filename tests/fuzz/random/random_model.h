#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/random/model_builder.h"

namespace tcc {

// An operator that a random model may get.
struct ModelOpRow {
  const char* op;
  int since;  // the opset whose form is written
  // Adds a node to the model if values that it can read are there. `op` is the row's.
  bool (*add)(ModelBuilder& model, const std::string& op);
};

// By family; one file each.
std::span<const ModelOpRow> ElementwiseRows();
std::span<const ModelOpRow> MovementRows();
std::span<const ModelOpRow> ReductionRows();
std::span<const ModelOpRow> WindowRows();

struct RandomModel {
  std::string bytes;
  std::vector<Tensor> inputs;
  std::vector<std::string> ops;
  // Results may differ by this: atol is also relative to the largest element.
  double tolerance;
  // The inputs' shapes for the import, which takes a batch of 0 for an unknown one.
  std::map<std::string, std::vector<int64_t>> shapes;
  std::vector<FreeDim> free = {};  // dimensions of `inputs`
  std::vector<ModelInput> input_infos = {};
};

// 5 to 40 nodes of operators that the importer reads.
RandomModel MakeRandomModel(Random& random);
// Makes a model over inputs with one to three free dimensions: most of the operators fit at any
// extents. Where a window or an index does not, the model is not valid at these extents.
RandomModel MakeFreeModel(Random& random);

// Draws other inputs of a model, for these extents of its free dimensions.
std::vector<Tensor> InputsAt(const RandomModel& model, const std::map<std::string, int64_t>& dims,
                             Random& random);

}  // namespace tcc
