#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/kernels.h"
#include "compiler/sized_model.h"
#include "lower/backend.h"
#include "runtime/artefact/artefact.h"

namespace tcc {

// Returns the names of the value's dimensions that have no number.
std::vector<std::string> FreeDimensions(const Value& value);

// Returns the model's own names of its outputs, which graph passes lose where an output turns out
// to be another value. A value that is an output twice gets a second name.
std::vector<std::string> OutputNames(const Graph& graph);

// Describes the model, with the names of the outputs from before the passes, and its kernels, with
// their statistics where `code` has them. `graphs` are as in SizedModel. Error: the inputs' free
// dimensions do not decide a dimension of an input or output, or an output's rank depends on the
// size.
StatusOr<Metadata> DescribeModel(std::span<const FusedGraph> graphs, const ListedSizes& listed,
                                 const std::vector<std::string>& output_names,
                                 const KernelSet& kernels, const CompiledModule& code,
                                 const Target& target, NumericMode numeric);

}  // namespace tcc
