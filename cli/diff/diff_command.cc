#include <memory>

#include "cli/command.h"
#include "cli/diff/compare_times.h"
#include "cli/diff/diff_report.h"
#include "cli/diff/match_kernels.h"
#include "cli/threads_option.h"
#include "compiler/devices/reference_device.h"

namespace tcc {
namespace {

struct DiffCommand {
  std::string a, b;
  bool schedules = false;
  bool time = false;
  int rounds = 20;
  int threads = 0;
  bool json = false;
};

StatusOr<NamedArtefact> Read(const std::string& file) {
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(file));
  NamedArtefact named{file, std::move(artefact), {}};
  if (named.artefact.notes.bytes.empty()) return named;
  TCC_ASSIGN_OR_RETURN(Notes notes, NotesOf(named.artefact, file));
  named.kernels = std::move(notes.kernels);
  return named;
}

StatusOr<Module> LoadInto(const NamedArtefact& named, const std::shared_ptr<ThreadPool>& pool) {
  LoadOptions load{.pool = pool};
  load.devices = AllDevices();
  Artefact artefact = named.artefact;
  if (artefact.device == "cpu") MoveWeightsToHugePages(artefact);
  StatusOr<Module> module = Module::FromArtefact(std::move(artefact), load);
  return module.ok() ? module : Annotate(module.status(), named.file);
}

// Times both on one pool: idle threads of a second one would look for work while the other model
// runs.
StatusOr<TimeComparison> Time(const NamedArtefact& a, const NamedArtefact& b, int threads,
                              int rounds) {
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = ThreadCount(threads)});
  TCC_ASSIGN_OR_RETURN(Module a_module, LoadInto(a, pool));
  TCC_ASSIGN_OR_RETURN(Module b_module, LoadInto(b, pool));
  return CompareTimes(a_module, b_module, rounds);
}

Status RunDiff(const DiffCommand& command) {
  TCC_ASSIGN_OR_RETURN(NamedArtefact a, Read(command.a));
  TCC_ASSIGN_OR_RETURN(NamedArtefact b, Read(command.b));
  const std::vector<KernelInfo>&a_kernels = a.artefact.metadata.kernels,
        &b_kernels = b.artefact.metadata.kernels;
  if (!ShareNodes(a_kernels, b_kernels)) {
    return InvalidInput("{} and {} have no node in common; expected one model compiled in two ways",
                        a.file, b.file);
  }
  DiffReport report{.a = a,
                    .b = b,
                    .matches = MatchKernels(a_kernels, b_kernels),
                    .schedules = command.schedules,
                    .rounds = command.rounds,
                    .times = {}};
  if (command.time) {
    TCC_ASSIGN_OR_RETURN(report.times, Time(a, b, command.threads, command.rounds));
  }
  command.json ? PrintDiffJson(report) : PrintDiffText(report);
  return OkStatus();
}

}  // namespace

Action DeclareDiff(CommandLine& line) {
  auto command = std::make_shared<DiffCommand>();
  line.AddOption("a", command->a, "Compiled model").Required().TypeName("A.tcc");
  line.AddOption("b", command->b, "The same model, compiled in another way")
      .Required()
      .TypeName("B.tcc");
  line.AddFlag("--schedules", command->schedules,
               "Print the steps of schedules that differ, from the notes of both");
  line.AddFlag("--time", command->time, "Also run both here, in turns, and say where B loses time");
  line.AddOption("--rounds", command->rounds, "With --time: rounds of two runs each")
      .TypeName("N")
      .InRange(1, 100000)
      .ShowDefault();
  AddThreadsOption(line, command->threads);
  line.AddFlag("--json", command->json, "Print JSON, equal kernels included");
  return [command] { return RunDiff(*command); };
}

}  // namespace tcc
