#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "compiler/sized_model.h"
#include "ir/graph/graph.h"
#include "models/onnx/import_onnx.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc {

// The model that a command reads, and the values or ranges of its free dimensions.
struct ModelOptions {
  std::string path;
  std::vector<std::string> dims;    // N=1, N=1..32:8
  std::vector<std::string> shapes;  // x=1x3x224x224, x=?x3x?x?
  std::vector<std::string> binds;   // x=file.npy
  std::string external_data_folder;
  bool allow_symlinks = false;
};

// Adds --at, the sizes that a model is compiled for.
void AddSizesOption(CommandLine& line, std::vector<std::string>& sizes);
// Parses --dim: N=1, each name once.
StatusOr<DimSizes> ParseDims(const std::vector<std::string>& texts);

void AddModelOptions(CommandLine& line, ModelOptions& options);
// Fails with FailedPrecondition, naming the option, where one is given: for a compiled model.
Status ExpectNone(const ModelOptions& options);
// Parses the options and reads the tensors of --bind.
StatusOr<ImportOptions> ToImportOptions(const ModelOptions& options);
// Imports the model. `warn` is as in ImportOptions.
StatusOr<Graph> ImportModel(const ModelOptions& options,
                            std::function<void(const std::string& message)> warn = {});
// Imports the model at each of these sizes.
StatusOr<SizedModel> ImportModelAt(const ModelOptions& options, std::span<const DimSizes> sizes,
                                   std::function<void(const std::string& message)> warn = {});
// Parses --at: B=1,S=16 each.
StatusOr<std::vector<DimSizes>> ParseSizes(const std::vector<std::string>& texts);

// Adds --target, one of AllTargets.
CommandOption AddTargetOption(CommandLine& line, std::string& target);

// Returns the options of the command line that a failure names as at fault or as a help:
// "--bind k=FILE.npy".
std::vector<std::string> OptionTexts(const Status& status);
// Returns the message of a failure, and these options.
std::string MessageWithOptions(const Status& status);

}  // namespace tcc
