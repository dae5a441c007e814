#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/feed.h"
#include "cli/npz.h"
#include "cli/split_assignment.h"
#include "cli/threads_option.h"
#include "compiler/reference_device.h"
#include "ir/support/file.h"
#include "ir/support/npy.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

struct RunCommand {
  std::string artefact;
  FeedOptions feed;
  bool random_given = false;
  std::string output_folder;
  std::vector<std::string> outputs;  // name=y.npy, all.npz
  int threads = 0;
};

// Where one --output goes.
struct OutputFile {
  std::string path;
  std::optional<size_t> output;  // nullopt: all, by their names
};

// "logits f32[1x1000] from -3.1 to 4.2, mean 0.003"
std::string Summary(const std::string& name, const Tensor& tensor) {
  std::string text = name + " " + ToString(tensor);
  int64_t count = ElementCount(tensor.shape).value_or(0);
  if (count == 0) return text;
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = ElementAsDouble(tensor, i);
    nans += std::isnan(value);
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  text += fmt::format(" from {:.6g} to {:.6g}, mean {:.6g}", low, high,
                      sum / static_cast<double>(count));
  if (nans > 0) text += fmt::format(", {} NaN", nans);
  return text;
}

Status WriteOutputs(const std::string& folder, const std::vector<Tensor>& outputs) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return InvalidInput("{}: {}", folder, std::strerror(errno));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TCC_RETURN_IF_ERROR(WriteNpy(outputs[i], fmt::format("{}/output_{}.npy", folder, i)));
  }
  return OkStatus();
}

// Known, and found fit to be written, before anything runs.
StatusOr<std::vector<OutputFile>> OutputFiles(const RunCommand& command, const Metadata& metadata) {
  std::vector<OutputFile> files;
  for (const std::string& text : command.outputs) {
    if (IsNpz(text) && text.find('=') == text.npos) {
      files.push_back({text, std::nullopt});
      continue;
    }
    TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--output", text));
    std::vector<std::string> names = OutputNames(metadata);
    auto found = std::find(names.begin(), names.end(), pair.first);
    if (found == names.end()) {
      return UsageError("--output: no output is named '{}'; there are {}", pair.first,
                        fmt::join(names, ", "));
    }
    files.push_back({pair.second, static_cast<size_t>(found - names.begin())});
  }
  for (const OutputFile& file : files) {
    if (IsSameFile(file.path, command.artefact)) {
      return UsageError("--output {}: that is the model; expected another file", file.path);
    }
    TCC_RETURN_IF_ERROR(CheckWritable(file.path));
  }
  return files;
}

Status WriteOutput(const OutputFile& file, const std::vector<Tensor>& outputs,
                   const Metadata& metadata) {
  if (file.output) return WriteNpy(outputs[*file.output], file.path);
  NamedTensors named;
  for (size_t i = 0; i < outputs.size(); ++i) {
    named.emplace_back(metadata.outputs[i].name, outputs[i]);
  }
  return WriteNpz(named, file.path);
}

// Numbers that nobody asked for are not to be taken for a model's answer.
void TellUnasked(const RunCommand& command, const Metadata& metadata) {
  const FeedOptions& feed = command.feed;
  bool asked = command.random_given || !feed.inputs.empty() || !feed.golden.empty();
  if (asked || metadata.inputs.empty()) return;
  fmt::print(stderr, "tcc: no --input is given; random inputs of seed {} are used\n",
             feed.random_seed);
}

Status RunRun(const RunCommand& command) {
  LoadOptions load;
  load.threads = ThreadCount(command.threads);
  load.devices = AllDevices();
  TCC_ASSIGN_OR_RETURN(Module module, Module::Load(command.artefact, load));
  const Metadata& metadata = module.metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<OutputFile> files, OutputFiles(command, metadata));
  TellUnasked(command, metadata);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(command.feed, metadata));
  Executor executor(module);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, executor.Run(inputs));
  if (!command.output_folder.empty()) {
    TCC_RETURN_IF_ERROR(WriteOutputs(command.output_folder, outputs));
  }
  for (const OutputFile& file : files) {
    TCC_RETURN_IF_ERROR(WriteOutput(file, outputs, metadata));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    fmt::print("{}\n", Summary(metadata.outputs[i].name, outputs[i]));
  }
  if (command.feed.golden.empty()) return OkStatus();
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> expected,
                       GoldenOutputs(command.feed.golden, outputs.size()));
  return CompareAndPrint(outputs, expected, metadata, command.feed.tolerance);
}

}  // namespace

Action DeclareRun(CLI::App& app) {
  auto command = std::make_shared<RunCommand>();
  app.add_option("artefact", command->artefact, "Compiled model")->required()->type_name("OUT.tcc");
  AddFeedOptions(app, command->feed);
  CLI::Option* random = app.get_option("--random");
  app.add_option("--output-dir", command->output_folder, "Folder that gets output_<i>.npy")
      ->type_name("DIR");
  app.add_option("--output", command->outputs, "Write an output, or an archive of all by name")
      ->type_name("name=y.npy|all.npz")
      ->allow_extra_args(false);
  AddThreadsOption(app, command->threads);
  return [command, random] {
    command->random_given = random->count() > 0;
    return RunRun(*command);
  };
}

}  // namespace tcc
