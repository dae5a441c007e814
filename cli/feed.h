#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/model_options.h"
#include "compiler/check/compare_tensors.h"
#include "runtime/artefact/metadata.h"

namespace tcc {

// The inputs of a model, and the outputs that are expected of it.
struct FeedOptions {
  std::vector<std::string> inputs;  // name=x.npy, all.npz
  uint64_t random_seed = 0;
  std::string golden;  // folder with input_<i>.npy and output_<i>.npy, "" for none
  Tolerance tolerance;
  std::vector<std::string> dims;  // N=4: the sizes of random inputs
};

// Returns whether there are inputs, so that none are drawn.
bool IsFed(const FeedOptions& options);

// Adds --input and --random.
void AddInputOptions(CommandLine& line, FeedOptions& options);
// Adds these and --golden, --rtol, --atol.
void AddFeedOptions(CommandLine& line, FeedOptions& options);

// Takes --dim for the sizes of random inputs where a compiled model has free dimensions. Refuses
// the other options of a model, as ExpectNone does; --dim beside given inputs too.
Status TakeSizes(ModelOptions& model, const Metadata& metadata, FeedOptions& feed);

// Returns the inputs in the model's order: given, golden or random.
StatusOr<std::vector<Tensor>> FeedOf(const FeedOptions& options, const Metadata& metadata);

// Returns the files that FeedOf and GoldenOutputs read, as far as they exist.
std::vector<std::string> FilesOf(const FeedOptions& options);

// Reads output_<i>.npy of the golden folder for i below `count`.
StatusOr<std::vector<Tensor>> GoldenOutputs(const std::string& folder, size_t count);

std::vector<std::string> OutputNames(const Metadata& metadata);

// Compares like CompareOutputs. Prints the figures as the last line of standard output, and before
// it the largest allowance where there are any.
Status CompareAndPrint(const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected,
                       const Metadata& metadata, const Tolerance& tolerance,
                       std::span<const Allowance> allowances = {});

}  // namespace tcc
