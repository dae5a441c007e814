#include <fmt/core.h>

#include <memory>

#include "api/compile_graph.h"
#include "api/schedule_folder.h"
#include "cli/command.h"
#include "cli/later_options.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/progress.h"
#include "cli/threads_option.h"

namespace tcc {
namespace {

struct CompileCommand {
  ModelOptions model;
  LaterOptions later;
  std::string target;
  std::string output;
  std::string schedule;
  std::string numeric;
  std::string progress = "auto";
  int threads = 0;
};

Status RunCompile(const CompileCommand& command) {
  TCC_RETURN_IF_ERROR(RefuseLaterOptions(command.later));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(command.target));
  TCC_ASSIGN_OR_RETURN(NumericMode numeric, FindNumericMode(command.numeric));
  Progress progress(command.progress);
  auto warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportModel(command.model, warn));
  CompileOptions options{
      .target = target, .threads = ThreadCount(command.threads), .progress = progress.hook()};
  options.numeric = numeric;
  options.warn = warn;
  if (!command.schedule.empty()) {
    TCC_ASSIGN_OR_RETURN(options.schedules, ReadSchedules(command.schedule));
  }
  TCC_ASSIGN_OR_RETURN(Artefact artefact, CompileGraph(std::move(graph), options));
  TellStrictKernels(artefact.metadata);
  progress.Report("writing", 0, 1);
  return WriteArtefact(artefact, command.output);
}

}  // namespace

Action DeclareCompile(CLI::App& app) {
  auto command = std::make_shared<CompileCommand>();
  AddModelOptions(app, command->model);
  AddTargetOption(app, command->target);
  app.get_option("--target")->required();
  app.add_option("-o,--output", command->output, "File to write")->required()->type_name("OUT.tcc");
  app.add_option("--schedule", command->schedule,
                 "Folder of schedules, NAME.trace for kernel NAME; others get their default")
      ->type_name("DIR");
  AddNumericOption(app, command->numeric);
  AddLaterOptions(app, command->later);
  AddThreadsOption(app, command->threads);
  AddProgressOption(app, command->progress);
  return [command] { return RunCompile(*command); };
}

}  // namespace tcc
