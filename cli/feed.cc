#include "cli/feed.h"

#include <algorithm>
#include <filesystem>

#include "cli/npz.h"
#include "compiler/check/random_inputs.h"
#include "runtime/executor/binding.h"
#include "support/npy.h"
#include "support/option_values.h"

namespace tcc {
namespace {

StatusOr<std::vector<Tensor>> ReadNumbered(const std::string& folder, const std::string& kind,
                                           size_t count) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(fmt::format("{}/{}_{}.npy", folder, kind, i)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Returns the name of the input that an array is for. numpy.savez names an array without a name
// "arr_0", which stands for the first input, and so on.
std::string PositionOrName(const std::string& name, const Metadata& metadata) {
  for (const TensorInfo& input : metadata.inputs) {
    if (input.name == name) return name;
  }
  for (size_t i = 0; i < metadata.inputs.size(); ++i) {
    if (name == fmt::format("arr_{}", i)) return metadata.inputs[i].name;
  }
  return name;
}

// Reads the tensors of one --input.
Status ReadInput(const std::string& text, const Metadata& metadata, NamedTensors& named) {
  if (IsNpzAlone(text)) {
    TCC_ASSIGN_OR_RETURN(NamedTensors arrays, ReadNpz(text));
    for (auto& [name, tensor] : arrays) {
      named.emplace_back(PositionOrName(name, metadata), std::move(tensor));
    }
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--input", text));
  if (IsNpz(pair.second)) {
    return UsageError("--input {}: an archive has the names in it; expected --input {}", text,
                      pair.second);
  }
  TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(pair.second));
  named.emplace_back(pair.first, std::move(tensor));
  return OkStatus();
}

}  // namespace

bool IsFed(const FeedOptions& options) {
  return !options.inputs.empty() || !options.golden.empty();
}

void AddInputOptions(CommandLine& line, FeedOptions& options) {
  CommandOption input =
      line.AddOption("--input", options.inputs, "A tensor to feed, or an archive of them by name")
          .TypeName("name=x.npy|all.npz");
  line.AddOption("--random", options.random_seed, "Feed random tensors")
      .ShowDefault()
      .TypeName("SEED")
      .Excludes(input);
}

void AddFeedOptions(CommandLine& line, FeedOptions& options) {
  AddInputOptions(line, options);
  line.AddOption("--golden", options.golden, "Feed input_<i>.npy, expect output_<i>.npy")
      .TypeName("DIR")
      .Excludes(line.Find("--input"))
      .Excludes(line.Find("--random"));
  line.AddOption("--rtol", options.tolerance.rtol, "Relative error that is allowed")
      .TypeName("R")
      .NotNegative()
      .ShowDefault();
  line.AddOption("--atol", options.tolerance.atol, "Absolute error that is allowed")
      .TypeName("A")
      .NotNegative()
      .ShowDefault();
}

Status TakeSizes(ModelOptions& model, const Metadata& metadata, FeedOptions& feed) {
  if (!metadata.shape_variables.empty() && !IsFed(feed)) feed.dims.swap(model.dims);
  return ExpectNone(model);
}

StatusOr<std::vector<Tensor>> FeedOf(const FeedOptions& options, const Metadata& metadata) {
  if (!options.golden.empty()) {
    return ReadNumbered(options.golden, "input", metadata.inputs.size());
  }
  if (options.inputs.empty()) {
    TCC_ASSIGN_OR_RETURN(DimSizes dims, ParseDims(options.dims));
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> size, SizeWith(metadata, dims));
    return RandomInputs(metadata, options.random_seed, size);
  }
  NamedTensors named;
  for (const std::string& text : options.inputs) {
    TCC_RETURN_IF_ERROR(ReadInput(text, metadata, named));
  }
  return ArrangeInputs(metadata, std::move(named));
}

std::vector<std::string> FilesOf(const FeedOptions& options) {
  std::vector<std::string> files;
  for (const std::string& text : options.inputs) {
    files.push_back(IsNpzAlone(text) ? text : text.substr(text.rfind('=') + 1));
  }
  std::error_code ignored;
  if (options.golden.empty()) return files;
  for (const auto& entry : std::filesystem::directory_iterator(options.golden, ignored)) {
    files.push_back(entry.path().string());
  }
  return files;
}

StatusOr<std::vector<Tensor>> GoldenOutputs(const std::string& folder, size_t count) {
  return ReadNumbered(folder, "output", count);
}

std::vector<std::string> OutputNames(const Metadata& metadata) {
  std::vector<std::string> names;
  for (const TensorInfo& info : metadata.outputs) names.push_back(info.name);
  return names;
}

Status CompareAndPrint(const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected,
                       const Metadata& metadata, const Tolerance& tolerance,
                       std::span<const Allowance> allowances) {
  Comparison comparison;
  Status status =
      CompareOutputs(outputs, expected, OutputNames(metadata), tolerance, &comparison, allowances);
  if (comparison.elements == 0) {
    if (status.ok()) fmt::print("0 elements, 0 differ: every output is empty, as expected\n");
    return status;
  }
  double most = 0;
  for (const Allowance& allowance : allowances) {
    for (double allowed : allowance) most = std::max(most, allowed);
  }
  if (!allowances.empty()) fmt::print("allowed for rounding: up to {:.3g}\n", most);
  fmt::print(
      "{} elements, {} differ, max rel error {:.3g}, {:.3g} of the deviation, max abs error "
      "{:.3g}\n",
      comparison.elements, comparison.different, comparison.max_rel_error,
      comparison.max_error_in_deviations, comparison.max_abs_error);
  return status;
}

}  // namespace tcc
