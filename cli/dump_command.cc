#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>
#include <ranges>

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/progress.h"
#include "cli/threads_option.h"
#include "compiler/dump_stage.h"
#include "compiler/schedule_folder.h"

namespace tcc {
namespace {

struct DumpCommand {
  ModelOptions model;
  std::string target;
  std::string stage;
  std::string task;
  std::string schedule;
  std::string numeric;
  std::string output_dir;
  bool no_winograd = false;
  bool verify = false;
  ProgressOptions progress;
  int threads = 0;
};

Status RunDump(const DumpCommand& command) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(command.target));
  TCC_ASSIGN_OR_RETURN(Stage stage, FindStage(command.stage));
  if (!command.output_dir.empty() && stage != Stage::kScheduled) {
    return UsageError("--output-dir: only --stage scheduled writes files");
  }
  Progress progress(command.progress);
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportModel(command.model));
  DumpOptions options{.target = target,
                      .stage = stage,
                      .task = command.task,
                      .threads = ThreadCount(command.threads),
                      .verify = command.verify,
                      .progress = progress.hook(),
                      .schedules = {},
                      .schedule_folder = command.output_dir};
  TCC_ASSIGN_OR_RETURN(options.numeric, FindNumericMode(command.numeric));
  options.winograd = !command.no_winograd;
  if (!command.schedule.empty()) {
    TCC_ASSIGN_OR_RETURN(options.schedules, ReadSchedules(command.schedule));
  }
  TCC_ASSIGN_OR_RETURN(std::string text, DumpStage(std::move(graph), options));
  fmt::print("{}", text);
  return OkStatus();
}

}  // namespace

Action DeclareDump(CommandLine& line) {
  auto command = std::make_shared<DumpCommand>();
  AddModelOptions(line, command->model);
  AddTargetOption(line, command->target).Required();
  auto names = std::views::transform(Stages(), &StageRow::name);
  line.AddOption("--stage", command->stage, "What to print")
      .Required()
      .TypeName(fmt::format("{}", fmt::join(names, "|")));
  line.AddOption("--task", command->task, "Only this task; --stage fused lists them")
      .TypeName("NAME");
  line.AddOption("--schedule", command->schedule, "Folder of schedules, as for compile")
      .TypeName("DIR");
  line.AddOption("--output-dir", command->output_dir,
                 "With --stage scheduled: folder to write every kernel's schedule to")
      .TypeName("DIR");
  line.AddFlag("--verify", command->verify, "Read back what is printed and compare");
  AddNumericOption(line, command->numeric);
  AddWinogradOption(line, command->no_winograd);
  AddThreadsOption(line, command->threads);
  AddProgressOptions(line, command->progress);
  return [command] { return RunDump(*command); };
}

}  // namespace tcc
