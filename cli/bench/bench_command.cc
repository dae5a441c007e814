#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cli/bench/bench_report.h"
#include "cli/bench/chrome_trace.h"
#include "cli/bench/cpu_activity.h"
#include "cli/bench/instruction_report.h"
#include "cli/bench/load.h"
#include "cli/bench/percentiles.h"
#include "cli/bench/profile.h"
#include "cli/command.h"
#include "cli/compile_now.h"
#include "cli/feed.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/readable_units.h"
#include "cli/standard_error.h"
#include "cli/threads_option.h"
#include "compiler/devices/foreign_cpu_device.h"
#include "compiler/devices/reference_device.h"
#include "runtime/artefact/artefact_device.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/executor.h"
#include "support/file.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// Runs of which the fastest counts for each kernel.
constexpr int kProfiledRuns = 10;

struct BenchCommand {
  ModelOptions model;  // or a compiled one
  CompileNowOptions compile;
  FeedOptions feed;
  int iterations = 50;
  int streams = 1;
  BenchLoad load;
  std::string percentiles = "50,90,95,99";
  int threads = 0;
  bool profile = false;
  bool counters = false;
  std::string trace;
  bool json = false;
  bool emulate = false;
  ProgressOptions progress;
};

// An executor with the tensors that every run reads and writes.
struct Stream {
  Executor executor;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;

  Status Run() { return executor.RunInto(inputs, outputs); }
};

// Reads a compiled model, or compiles one without writing a file.
StatusOr<Artefact> ArtefactToMeasure(BenchCommand& command) {
  const std::string& path = command.model.path;
  if (IsArtefact(path)) {
    TCC_RETURN_IF_ERROR(ExpectNone(command.compile));
    TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(path));
    TCC_RETURN_IF_ERROR(TakeSizes(command.model, artefact.metadata, command.feed));
    return artefact;
  }
  Stopwatch stopwatch;
  Progress progress(command.progress);
  auto warn = [&](const std::string& message) { progress.Warn(message); };
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(command.compile));
  TCC_ASSIGN_OR_RETURN(SizedModel model, ImportModelAt(command.model, {}, warn));
  TCC_ASSIGN_OR_RETURN(Artefact artefact,
                       CompileNow(std::move(model), command.compile, ThreadCount(command.threads),
                                  CodeForDriver(target), progress));
  progress.Tell(fmt::format("compiled for {} in {:.1f} s, {} kernels; no file is written",
                            artefact.target, stopwatch.Seconds(),
                            artefact.metadata.kernels.size()));
  return artefact;
}

// Loads a module for each stream, each with threads of its own; on a GPU, whose threads are no
// matter, one module for all, since each holds the weights.
StatusOr<std::vector<Module>> LoadModules(Artefact artefact, const BenchCommand& command) {
  LoadOptions load;
  load.threads = std::max(1, ThreadCount(command.threads) / command.streams);
  load.devices = AllDevices();
  if (artefact.device == "cpu") MoveWeightsToHugePages(artefact);
  std::vector<Module> modules;
  for (int i = 0; i < command.streams; ++i) {
    if (i > 0 && IsGpuDevice(artefact.device)) {
      modules.push_back(modules[0]);
      continue;
    }
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(artefact, load));
    modules.push_back(std::move(module));
  }
  return modules;
}

StatusOr<std::vector<Tensor>> AllocateOutputs(const Metadata& metadata,
                                              std::span<const int64_t> variables) {
  std::vector<Tensor> outputs;
  for (const TensorInfo& info : metadata.outputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, metadata, variables));
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         AllocateTensor(info.dtype, shape, "output '" + info.name + "'"));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

// Makes the streams, which read the same inputs.
StatusOr<std::vector<Stream>> MakeStreams(BenchCommand& command) {
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ArtefactToMeasure(command));
  StatusOr<std::vector<Module>> modules = LoadModules(std::move(artefact), command);
  if (!modules.ok()) return Annotate(modules.status(), command.model.path);
  const Metadata& metadata = modules->front().metadata();
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(command.feed, metadata));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> variables, BindInputs(metadata, inputs));
  std::vector<Stream> streams;
  for (Module& module : *modules) {
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, AllocateOutputs(metadata, variables));
    streams.push_back({Executor(module), inputs, std::move(outputs)});
  }
  return streams;
}

Status MeasureLoad(std::vector<Stream>& streams, BenchReport& report) {
  std::vector<std::function<Status()>> runs;
  for (Stream& stream : streams) runs.emplace_back([&stream] { return stream.Run(); });
  CpuActivity before = ActivityNow();
  TCC_ASSIGN_OR_RETURN(report.measured, RunLoad(runs, report.load));
  report.percent_of_others = PercentOfOthers(before, ActivityNow());
  return OkStatus();
}

// Profiles the first stream while the others rest.
Status MeasureKernels(const BenchCommand& command, Stream& stream, BenchReport& report) {
  auto run = [&] { return stream.Run(); };
  int runs = std::min(command.iterations, kProfiledRuns);
  TCC_ASSIGN_OR_RETURN(report.profile, ProfileRuns(stream.executor, run, runs));
  if (!command.counters) return OkStatus();
  TCC_RETURN_IF_ERROR(CountKernels(stream.executor, run, report.profile));
  if (!report.profile.counters_missing.empty()) {
    TellError("tcc: no counters: {}\n", report.profile.counters_missing);
  }
  return OkStatus();
}

Status WriteTrace(const std::string& path, Stream& stream, const Profile& profile) {
  auto run = [&] { return stream.Run(); };
  TCC_ASSIGN_OR_RETURN(TracedRun traced, TraceRun(stream.executor, run, profile));
  const Artefact& artefact = stream.executor.module().artefact();
  return WriteFileAtomically(path, ChromeTrace(traced, profile, artefact));
}

bool IsProfiled(const BenchCommand& command) {
  return command.profile || command.json || !command.trace.empty();
}

// Checks what can be said before anything is compiled.
Status CheckCommand(const BenchCommand& command) {
  TCC_RETURN_IF_ERROR(CheckLoad(command.load));
  if (command.counters && !IsProfiled(command)) {
    return UsageError("--counters wants --profile, --trace or --json, which show them");
  }
  if (command.trace.empty()) return OkStatus();
  if (IsSameFile(command.trace, command.model.path)) {
    return UsageError("--trace {}: that is the model; expected another file", command.trace);
  }
  return CheckWritable(command.trace);
}

// Warns where the streams of a CPU do not run on just the threads that there are to share.
void WarnOfUnevenShares(const BenchCommand& command, const Module& module) {
  const int there = ThreadCount(command.threads), each = module.pool()->threads();
  const int used = each * command.streams;
  if (module.artefact().device != "cpu" || used == there) return;
  TellError("tcc: warning: {} of {} each run on {}, not on {}\n",
            Counted(static_cast<size_t>(command.streams), "stream"),
            Counted(static_cast<size_t>(each), "thread"),
            Counted(static_cast<size_t>(used), "thread"), there);
}

// Counts the instructions of one run in a worker for another CPU, where time would mean nothing.
Status RunEmulated(BenchCommand& command) {
  const std::pair<const char*, bool> of_times[] = {
      {"--counters", command.counters},    {"--profile", command.profile},
      {"--trace", !command.trace.empty()}, {"--streams", command.streams > 1},
      {"--rate", command.load.rate > 0},   {"--threads", command.threads > 1},
  };
  for (const auto& [option, is_given] : of_times) {
    if (is_given) return UsageError("{}: --emulate counts one run on one thread", option);
  }
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ArtefactToMeasure(command));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(artefact.target));
  TCC_ASSIGN_OR_RETURN(const CoreRates* core, CountedCore(target));
  LoadOptions load;
  load.pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = 1});
  load.device = MakeForeignCpuDevice(load.pool, {.command = {}, .counts = true});
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(artefact), load));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, FeedOf(command.feed, module.metadata()));
  Executor executor(module);
  auto run = [&] { return executor.Run(inputs).status(); };
  // The run that is counted does nothing that is done once.
  TCC_RETURN_IF_ERROR(run());
  TCC_ASSIGN_OR_RETURN(std::vector<CountedKernel> counted, CountInstructions(executor, run));
  PrintInstructions(module.artefact(), counted, *core, command.json);
  return OkStatus();
}

Status RunBench(BenchCommand& command) {
  if (command.emulate) return RunEmulated(command);
  command.load.iterations = command.iterations;
  TCC_RETURN_IF_ERROR(CheckCommand(command));
  TCC_ASSIGN_OR_RETURN(std::vector<double> percentiles, ParsePercentiles(command.percentiles));
  TCC_ASSIGN_OR_RETURN(std::vector<Stream> streams, MakeStreams(command));
  BenchReport report(streams[0].executor.module());
  TCC_ASSIGN_OR_RETURN(report.size, BindInputs(report.module.metadata(), streams[0].inputs));
  report.threads = report.module.pool()->threads();
  WarnOfUnevenShares(command, report.module);
  report.load = command.load;
  report.percentiles = std::move(percentiles);
  TCC_RETURN_IF_ERROR(MeasureLoad(streams, report));
  if (IsProfiled(command)) TCC_RETURN_IF_ERROR(MeasureKernels(command, streams[0], report));
  if (!command.trace.empty()) {
    TCC_RETURN_IF_ERROR(WriteTrace(command.trace, streams[0], report.profile));
  }
  std::string warning = BusyWarning(report.percent_of_others);
  if (!warning.empty()) TellError("tcc: warning: {}\n", warning);
  if (command.json) {
    PrintJson(report, command.profile);
  } else {
    PrintText(report, command.profile);
  }
  return OkStatus();
}

void AddLoadOptions(CommandLine& line, BenchCommand& command) {
  line.AddOption("--iterations", command.iterations, "Runs to measure, at least")
      .TypeName("N")
      .InRange(1, 1000000)
      .ShowDefault();
  line.AddOption("--duration", command.load.duration_seconds, "Seconds to measure, at least")
      .TypeName("S")
      .ShowDefault();
  line.AddOption("--warm-up", command.load.warm_up_ms,
                 "Milliseconds to run before, and at least 3 runs; 0: neither")
      .TypeName("MS")
      .ShowDefault();
  line.AddOption("--streams", command.streams,
                 "Executors that run at once and share the threads evenly, each with one at least")
      .TypeName("N")
      .InRange(1, 1024)
      .ShowDefault();
  line.AddOption("--rate", command.load.rate,
                 "Requests that arrive in a second, at equal distances; times count from their "
                 "arrival. 0: the next run begins when the last has ended")
      .TypeName("R")
      .ShowDefault();
  line.AddOption("--percentiles", command.percentiles,
                 "Percentiles of the times to print, - where no run lies beyond")
      .TypeName("P,...")
      .ShowDefault();
}

}  // namespace

Action DeclareBench(CommandLine& line) {
  auto command = std::make_shared<BenchCommand>();
  AddModelOptions(line, command->model);
  line.Find("model")
      .Description("Compiled model, or an ONNX model that is compiled first")
      .TypeName("OUT.tcc|M.onnx");
  AddCompileNowOptions(line, command->compile);
  AddInputOptions(line, command->feed);
  AddLoadOptions(line, *command);
  AddThreadsOption(line, command->threads);
  line.AddFlag(
      "--profile", command->profile,
      "Also say what each kernel takes: on a GPU by CUPTI where it is found, else by events");
  line.AddFlag("--counters", command->counters,
               "Also read a GPU's counters by CUPTI, which repeats each kernel: memory read and "
               "written, L2 hits, warps, tensor cores, multiply-adds");
  line.AddFlag(
      "--emulate", command->emulate,
      "Count the instructions of another CPU's kernels in one run, by qemu, in place of time");
  line.AddOption("--trace", command->trace,
                 "Write a run's calls of kernels, by thread, as a trace for Perfetto or Chrome")
      .TypeName("FILE");
  line.AddFlag("--json", command->json, "Print JSON, kernels included");
  AddProgressOptions(line, command->progress);
  return [command] { return RunBench(*command); };
}

}  // namespace tcc
