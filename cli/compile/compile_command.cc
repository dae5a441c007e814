#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/compile/run_tuning.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/progress.h"
#include "cli/threads_option.h"
#include "compiler/compile_graph.h"
#include "compiler/measured_device.h"
#include "compiler/schedule_folder.h"
#include "models/onnx/import_onnx.h"
#include "runtime/artefact/artefact.h"
#include "support/file.h"
#include "support/stopwatch.h"
#include "support/temporary_folder.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

struct CompileCommand {
  ModelOptions model;
  std::vector<std::string> sizes;
  TuningOptions tuning;
  std::string target = "native";
  std::string output;
  bool output_given = false;
  std::string schedule;
  std::string numeric;
  std::string notes = "full";
  bool no_winograd = false;
  ProgressOptions progress;
  int threads = 0;
};

// Returns the path of the output: without -o beside the model, with the suffix of a compiled model.
std::string OutputOf(const CompileCommand& command) {
  if (command.output_given) return command.output;
  return fs::path(command.model.path).replace_extension(".tcc").string();
}

// Returns the files that are read: the model and what it names, bound tensors, schedules.
StatusOr<std::vector<std::string>> FilesOf(const CompileCommand& command) {
  const ModelOptions& model = command.model;
  std::vector<std::string> files = {model.path};
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyOnnx(model.path));
  fs::path folder = model.external_data_folder.empty() ? fs::path(model.path).parent_path()
                                                       : fs::path(model.external_data_folder);
  for (const std::string& file : survey.external_files) files.push_back((folder / file).string());
  for (const std::string& bind : model.binds) files.push_back(bind.substr(bind.rfind('=') + 1));
  std::error_code ignored;
  if (command.schedule.empty()) return files;
  for (const fs::directory_entry& entry : fs::directory_iterator(command.schedule, ignored)) {
    files.push_back(entry.path().string());
  }
  return files;
}

// Checks, before anything is compiled, that the output can be written and is no file that is read.
Status CheckOutput(const std::string& output, const CompileCommand& command) {
  // A missing model is reported first.
  TCC_RETURN_IF_ERROR(MapFile(command.model.path).status());
  std::error_code ignored;
  // An artefact of tcc's own is no such file.
  if (fs::is_regular_file(output, ignored) && !IsArtefact(output)) {
    TCC_ASSIGN_OR_RETURN(std::vector<std::string> files, FilesOf(command));
    for (const std::string& file : files) {
      if (!IsSameFile(output, file)) continue;
      return UsageError("-o {}: that is {}, which is read; expected another file", output, file);
    }
  }
  Status status = CheckWritable(output);
  if (command.output_given || status.ok()) return status;
  return InvalidInput("{}; -o names another file", Message(status));
}

// Reads what the database knows of kernels for the target on this machine, after measuring more
// where there is a budget. A budget without a database measures for this compilation alone.
Status TakeTunedSchedules(const CompileCommand& command, const SizedModel& model,
                          TuneGraphOptions tune, Progress& progress, CompileOptions& options) {
  const TuningOptions& tuning = command.tuning;
  if (tuning.database.empty() && !tuning.HasBudget()) return OkStatus();
  std::optional<TemporaryFolder> temporary;
  if (tuning.database.empty()) {
    TCC_ASSIGN_OR_RETURN(temporary, TemporaryFolder::Make("a temporary database"));
  }
  std::string path = temporary ? *temporary / "tuning.db" : tuning.database;
  progress.Begin("database");
  Database::Access access =
      tuning.HasBudget() ? Database::Access::kReadWrite : Database::Access::kRead;
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, access));
  DatabaseWarnings warnings(database, progress);
  int threads = ThreadCount(0);
  std::string device = tuning.device;
  if (tuning.HasBudget()) {
    tune.compile = options;
    tune.threads = threads;
    TCC_ASSIGN_OR_RETURN(std::vector<TunedSize> sizes,
                         RunTuning(model, tune, tuning, progress, database));
    std::erase_if(sizes, [](const TunedSize& size) { return size.result.tasks.empty(); });
    if (sizes.empty()) return OkStatus();  // no kernel that could be tuned
    device = sizes[0].result.device;
  }
  TCC_ASSIGN_OR_RETURN(Environment wanted, RecordedEnvironment(database, options.target, threads,
                                                               device, options.warn));
  TCC_ASSIGN_OR_RETURN(options.tuned, database.Best(wanted));
  warnings.Tell();
  return OkStatus();
}

// Reports how many kernels have a schedule of the database.
void TellTunedKernels(const Metadata& metadata, const TuningOptions& tuning, Progress& progress) {
  if (tuning.database.empty() && !tuning.HasBudget()) return;
  std::string_view tuned = PropertyOf(metadata, "tuned_kernels");
  progress.Tell(fmt::format("{} of {} kernels as they were tuned", tuned.empty() ? "0" : tuned,
                            metadata.kernels.size()));
}

Status RunCompile(const CompileCommand& command) {
  Stopwatch stopwatch;
  TuneGraphOptions tune;
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(command.target));
  tune.compile.target = target;
  TCC_RETURN_IF_ERROR(SetTuning(command.tuning, tune));
  TCC_ASSIGN_OR_RETURN(NumericMode numeric, FindNumericMode(command.numeric));
  TCC_ASSIGN_OR_RETURN(std::vector<DimSizes> sizes, ParseSizes(command.sizes));
  std::string output = OutputOf(command);
  TCC_RETURN_IF_ERROR(CheckOutput(output, command));
  Progress progress(command.progress);
  auto warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_ASSIGN_OR_RETURN(SizedModel model, ImportModelAt(command.model, sizes, warn));
  CompileOptions options{
      .target = target, .threads = ThreadCount(command.threads), .progress = progress.hook()};
  options.numeric = numeric;
  options.winograd = !command.no_winograd;
  options.notes = command.notes == "full";
  options.warn = warn;
  options.note = [&](const std::string& message) { progress.TellDetail(message); };
  if (!command.schedule.empty()) {
    TCC_ASSIGN_OR_RETURN(options.schedules, ReadSchedules(command.schedule));
  }
  TCC_RETURN_IF_ERROR(TakeTunedSchedules(command, model, tune, progress, options));
  TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileModel(std::move(model), options));
  WarnOfStrictKernels(artefact.metadata, progress);
  TellTunedKernels(artefact.metadata, command.tuning, progress);
  progress.Report("writing", 0, 1);
  TCC_RETURN_IF_ERROR(WriteArtefact(artefact, output));
  double taken = stopwatch.Seconds();
  std::error_code ignored;
  progress.TellWritten({.file = output,
                        .bytes = fs::file_size(output, ignored),
                        .kernels = artefact.metadata.kernels.size(),
                        .seconds = taken});
  return OkStatus();
}

}  // namespace

Action DeclareCompile(CommandLine& line) {
  auto command = std::make_shared<CompileCommand>();
  AddModelOptions(line, command->model);
  AddSizesOption(line, command->sizes);
  AddTargetOption(line, command->target).ShowDefault();
  CommandOption output = line.AddOption("-o,--output", command->output,
                                        "File to write; without it M.tcc beside the model")
                             .TypeName("OUT.tcc");
  line.AddOption("--schedule", command->schedule,
                 "Folder of schedules, NAME.trace for kernel NAME; others get their default")
      .TypeName("DIR");
  AddNumericOption(line, command->numeric);
  AddWinogradOption(line, command->no_winograd);
  line.AddOption("--notes", command->notes,
                 "Whether the compiled model keeps how it was made, for inspect --kernel and check "
                 "--layers")
      .TypeName("full|none")
      .OneOf({"full", "none"})
      .ShowDefault();
  AddTuningOptions(line, command->tuning);
  AddThreadsOption(line, command->threads);
  AddProgressOptions(line, command->progress);
  return [command, output] {
    command->output_given = output.given();
    return RunCompile(*command);
  };
}

}  // namespace tcc
