#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/diff/compare_times.h"
#include "cli/diff/diff_report.h"
#include "cli/diff/match_kernels.h"
#include "cli/readable_units.h"
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

// Returns the names and ranks, which no way to compile a model changes.
std::map<std::string, size_t> RanksOf(const std::vector<TensorInfo>& tensors) {
  std::map<std::string, size_t> ranks;
  for (const TensorInfo& tensor : tensors) ranks[tensor.name] = tensor.shape.size();
  return ranks;
}

// Returns whether inputs of one name have one rank. An input that is bound is one of neither.
bool InputsFit(const Metadata& a, const Metadata& b) {
  const std::map<std::string, size_t> ranks = RanksOf(a.inputs);
  return std::ranges::all_of(b.inputs, [&](const TensorInfo& input) {
    auto found = ranks.find(input.name);
    return found == ranks.end() || found->second == input.shape.size();
  });
}

// Fails with InvalidArgument unless the two have the same outputs, inputs that fit, and share at
// least half of their nodes: a way to compile, or another batch, folds or adds only few of them.
Status ExpectOneModel(const NamedArtefact& a, const NamedArtefact& b) {
  const Metadata &a_model = a.artefact.metadata, &b_model = b.artefact.metadata;
  constexpr const char* kExpected = "expected one model compiled in two ways";
  const SharedNodes nodes = CountSharedNodes(a_model.kernels, b_model.kernels);
  if (nodes.shared == 0 || 2 * nodes.shared < nodes.all) {
    return InvalidInput("{} and {} have {} of {} in common; {}", a.file, b.file, nodes.shared,
                        Counted(nodes.all, "node"), kExpected);
  }
  if (RanksOf(a_model.outputs) != RanksOf(b_model.outputs) || !InputsFit(a_model, b_model)) {
    return InvalidInput("{} and {} have inputs or outputs of other names or ranks; {}", a.file,
                        b.file, kExpected);
  }
  return OkStatus();
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
  TCC_RETURN_IF_ERROR(ExpectOneModel(a, b));
  DiffReport report{
      .a = a,
      .b = b,
      .matches = MatchKernels(a.artefact.metadata.kernels, b.artefact.metadata.kernels),
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
