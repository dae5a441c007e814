#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

// A model's declared inputs and outputs against the tensors that came.
namespace tcc {

// The values of the shape variables. Fails, naming the input, what was expected and what came, if
// the inputs' number, types or shapes do not fit.
StatusOr<std::vector<int64_t>> BindInputs(const Metadata& metadata, std::span<const Tensor> inputs);

// An input's or output's shape when the shape variables have these values.
StatusOr<std::vector<int64_t>> ShapeOf(const TensorInfo& info, std::span<const int64_t> variables);

// Checks that an output's memory has the type and shape that it will get.
Status CheckOutput(const TensorInfo& info, const std::vector<int64_t>& shape, const Tensor& output);

// Tensors by name, into the order of the model's inputs. Fails on a name that is unknown or comes
// twice and on an input that is missing.
StatusOr<std::vector<Tensor>> ArrangeInputs(const Metadata& metadata,
                                            std::vector<std::pair<std::string, Tensor>> named);

}  // namespace tcc
