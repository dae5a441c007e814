#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

// Checks the tensors that a caller passes against a model's declared inputs and outputs.
namespace tcc {

// Returns the values of the shape variables. Fails if the inputs' number, types or shapes do not
// fit; the message names the input, what was expected and what came.
StatusOr<std::vector<int64_t>> BindInputs(const Metadata& metadata, std::span<const Tensor> inputs);

// Returns the shape of an input or output for these values of the shape variables. Fails, with the
// formula, where that is negative.
StatusOr<std::vector<int64_t>> ShapeOf(const TensorInfo& info, const Metadata& metadata,
                                       std::span<const int64_t> variables);

// Checks that the caller's output tensor has the type and shape of the result.
Status CheckOutput(const TensorInfo& info, const std::vector<int64_t>& shape, const Tensor& output);

// Puts named tensors into the order of the model's inputs. Fails on an unknown name, on a name that
// comes twice and on a missing input.
StatusOr<std::vector<Tensor>> ArrangeInputs(const Metadata& metadata,
                                            std::vector<std::pair<std::string, Tensor>> named);

}  // namespace tcc
