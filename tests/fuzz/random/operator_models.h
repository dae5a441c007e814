#pragma once

#include <span>

#include "tests/fuzz/random/random_model.h"

namespace tcc {

// A kind of operator that schedules are tried on: a model of one node, whose extents are from
// {1, 2, 3, 7, 13, 31, 64, 197, 224}, so small in all that an interpreter can run it many times.
struct OperatorRow {
  const char* name;
  void (*add)(ModelBuilder& model);
};

std::span<const OperatorRow> OperatorRows();

// Its floats are `real`.
RandomModel MakeOperatorModel(const OperatorRow& row, Random& random,
                              DTypeCode real = DTypeCode::kFloat32);
// Makes a model whose inputs have one or two free dimensions, of any extent of the list.
RandomModel MakeFreeOperatorModel(const OperatorRow& row, Random& random);

}  // namespace tcc
