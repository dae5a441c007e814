#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/compile_now.h"
#include "cli/feed.h"
#include "cli/model_options.h"
#include "cli/npz.h"
#include "cli/progress.h"
#include "cli/standard_error.h"
#include "cli/threads_option.h"
#include "compiler/devices/reference_device.h"
#include "compiler/session.h"
#include "support/file.h"
#include "support/npy.h"
#include "support/option_values.h"

namespace tcc {
namespace {

struct RunCommand {
  ModelOptions model;  // or a compiled one
  CompileNowOptions compile;
  FeedOptions feed;
  bool random_given = false;
  std::string output_folder;
  std::vector<std::string> outputs;  // name=y.npy, all.npz
  int threads = 0;
  ProgressOptions progress;
};

// A model that is ready for its inputs.
struct ReadyModel {
  Metadata metadata;
  std::function<StatusOr<std::vector<Tensor>>(std::span<const Tensor> inputs)> run;
};

// The destination of one --output.
struct OutputFile {
  std::string path;
  std::optional<size_t> output;  // nullopt: all, by their names
};

// Returns "logits f32[1x1000] from -3.1 to 4.2, mean 0.003".
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

// Parses one --output.
StatusOr<OutputFile> ParseOutput(const std::string& text, const Metadata& metadata) {
  if (IsNpzAlone(text)) return OutputFile{text, std::nullopt};
  TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment("--output", text));
  if (IsNpz(pair.second)) {
    return UsageError("--output {}: an archive has all outputs; expected --output {}", text,
                      pair.second);
  }
  std::vector<std::string> names = OutputNames(metadata);
  auto found = std::ranges::find(names, pair.first);
  if (found == names.end()) {
    return UsageError("--output: no output is named '{}'; there are {}", pair.first,
                      fmt::join(names, ", "));
  }
  return OutputFile{pair.second, static_cast<size_t>(found - names.begin())};
}

std::string NumberedFile(const std::string& folder, size_t output) {
  return fmt::format("{}/output_{}.npy", folder, output);
}

// Returns the files of --output and of --output-dir.
StatusOr<std::vector<OutputFile>> OutputFiles(const RunCommand& command, const Metadata& metadata) {
  std::vector<OutputFile> files;
  for (const std::string& text : command.outputs) {
    TCC_ASSIGN_OR_RETURN(OutputFile file, ParseOutput(text, metadata));
    for (const OutputFile& other : files) {
      if (other.path == file.path) return UsageError("--output: {} is given twice", file.path);
    }
    files.push_back(std::move(file));
  }
  if (command.output_folder.empty()) return files;
  for (size_t i = 0; i < metadata.outputs.size(); ++i) {
    files.push_back({NumberedFile(command.output_folder, i), i});
  }
  return files;
}

// Checks that the file is none that is read, and that NumPy has a type for its outputs.
Status CheckOutputFile(const OutputFile& file, const RunCommand& command,
                       const Metadata& metadata) {
  std::vector<std::string> read = FilesOf(command.feed);
  read.push_back(command.model.path);
  for (const std::string& other : read) {
    if (IsSameFile(file.path, other)) {
      return UsageError("output {}: that is {}, which is read; expected another file", file.path,
                        other);
    }
  }
  for (size_t i = 0; i < metadata.outputs.size(); ++i) {
    const TensorInfo& output = metadata.outputs[i];
    if ((!file.output || *file.output == i) && !NpyDescr(output.dtype)) {
      return Unsupported("output '{}' cannot be written: NumPy has no type for {}", output.name,
                         ToString(output.dtype));
    }
  }
  return OkStatus();
}

// Checks the output files, and makes their folder, before anything runs.
Status CheckOutputs(const std::vector<OutputFile>& files, const RunCommand& command,
                    const Metadata& metadata) {
  for (const OutputFile& file : files) {
    TCC_RETURN_IF_ERROR(CheckOutputFile(file, command, metadata));
  }
  const std::string& folder = command.output_folder;
  if (!folder.empty() && mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return InvalidInput("cannot make folder '{}': {}", folder, std::strerror(errno));
  }
  for (const OutputFile& file : files) TCC_RETURN_IF_ERROR(CheckWritable(file.path));
  return OkStatus();
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

// Reports random inputs that nobody asked for, so that their results are not taken for a model's
// answer.
void TellUnasked(const RunCommand& command, const Metadata& metadata) {
  bool asked = command.random_given || IsFed(command.feed);
  if (asked || metadata.inputs.empty()) return;
  TellError("tcc: no --input is given; random inputs of seed {} are used\n",
            command.feed.random_seed);
}

LoadOptions LoadOptionsOf(const RunCommand& command) {
  LoadOptions load;
  load.threads = ThreadCount(command.threads);
  load.devices = AllDevices();
  load.map_weights = true;  // one run reads them once
  return load;
}

StatusOr<ReadyModel> LoadArtefact(RunCommand& command) {
  TCC_RETURN_IF_ERROR(ExpectNone(command.compile));
  TCC_ASSIGN_OR_RETURN(Module module, Module::Load(command.model.path, LoadOptionsOf(command)));
  TCC_RETURN_IF_ERROR(TakeSizes(command.model, module.metadata(), command.feed));
  return ReadyModel{module.metadata(), [module](std::span<const Tensor> inputs) {
                      return Executor(module).Run(inputs);
                    }};
}

// Opens an ONNX model, which is compiled once the inputs are known.
StatusOr<ReadyModel> OpenModel(const RunCommand& command, Progress& progress) {
  SessionOptions options;
  options.load = LoadOptionsOf(command);
  options.cache = ArtefactCache::OfUser();
  TCC_ASSIGN_OR_RETURN(options.import, ToImportOptions(command.model));
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command.compile));
  TCC_ASSIGN_OR_RETURN(options.compile, ToCompileOptions(command.compile, options.load.threads,
                                                         CodeForDriver(target), progress));
  options.import.warn = options.compile.warn;
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<Session> session,
                       Session::Open(command.model.path, std::move(options)));
  return ReadyModel{session->signature(),
                    [session](std::span<const Tensor> inputs) { return session->Run(inputs); }};
}

Status RunRun(RunCommand& command) {
  Progress progress(command.progress);
  bool is_artefact = IsArtefact(command.model.path);
  TCC_ASSIGN_OR_RETURN(ReadyModel model,
                       is_artefact ? LoadArtefact(command) : OpenModel(command, progress));
  const Metadata& metadata = model.metadata;
  TCC_ASSIGN_OR_RETURN(std::vector<OutputFile> files, OutputFiles(command, metadata));
  TCC_RETURN_IF_ERROR(CheckOutputs(files, command, metadata));
  TellUnasked(command, metadata);
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(command.feed, metadata));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, model.run(inputs));
  progress.Clear();
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

Action DeclareRun(CommandLine& line) {
  auto command = std::make_shared<RunCommand>();
  AddModelOptions(line, command->model);
  line.Find("model")
      .Description(
          "Compiled model, or an ONNX model, which is compiled first, for any sizes where it can "
          "be")
      .TypeName("OUT.tcc|M.onnx");
  AddFeedOptions(line, command->feed);
  CommandOption random = line.Find("--random");
  line.AddOption("--output-dir", command->output_folder, "Folder that gets output_<i>.npy")
      .TypeName("DIR");
  line.AddOption("--output", command->outputs, "Write an output, or an archive of all by name")
      .TypeName("name=y.npy|all.npz");
  AddCompileNowOptions(line, command->compile);
  AddThreadsOption(line, command->threads);
  AddProgressOptions(line, command->progress);
  return [command, random] {
    command->random_given = random.given();
    return RunRun(*command);
  };
}

}  // namespace tcc
