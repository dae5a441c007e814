#include <fmt/core.h>

#include <memory>

#include "cli/command.h"
#include "cli/compile/run_tuning.h"
#include "cli/stop_on_signal.h"
#include "cli/threads_option.h"
#include "search/fleet/fleet.h"

namespace tcc {
namespace {

constexpr const char* kCpu = "cpu";

struct WorkerCommand {
  std::string fleet;
  std::string device = kCpu;
  int threads = 0;
  double lease = FleetWorkerOptions().lease;
  double seconds = 0;
  bool idle_exit = false;
  bool sql = false;
};

Status RunWorker(const WorkerCommand& command) {
  if (command.sql) {
    fmt::print("{}", FleetSql());
    return OkStatus();
  }
  if (command.fleet.empty()) return UsageError("--fleet: expected the URL of the fleet's database");
  if (!(command.lease >= 1)) return UsageError("--lease {}: expected 1 or more", command.lease);
  StopOnSignal signals;
  FleetWorkerOptions options;
  options.fleet = {
      .url = command.fleet,
      .warn = [](const std::string& message) { fmt::print(stderr, "tcc: {}\n", message); },
      .stop = signals.token()};
  options.lease = command.lease;
  options.seconds = command.seconds;
  options.idle_exit = command.idle_exit;
  options.runner.warn = options.fleet.warn;
  if (command.device == kCpu) {
    options.runner.hello.threads = static_cast<uint32_t>(ThreadCount(command.threads));
    options.runner.hello.address_space_bytes = MemoryForWorker();
  } else {
    TCC_ASSIGN_OR_RETURN(const GpuNumber gpu, GpuNumberOf(command.device));
    options.runner.hello.device = gpu.device;
    options.runner.hello.ordinal = static_cast<uint32_t>(gpu.ordinal);
    options.runner.spare = true;
  }
  return ServeFleet(options);
}

}  // namespace

Action DeclareWorker(CommandLine& line) {
  auto command = std::make_shared<WorkerCommand>();
  line.AddOption("--fleet", command->fleet,
                 "Database that tuners leave candidates in: postgresql://USER@HOST/DATABASE")
      .TypeName("URL");
  line.AddOption("--device", command->device,
                 "What to measure on: cpu, or a GPU as " + GpuNumberExamples())
      .TypeName("D")
      .ShowDefault();
  AddThreadsOption(line, command->threads);
  line.AddOption("--lease", command->lease,
                 "Seconds without a sign of life after which another worker takes over")
      .TypeName("S")
      .ShowDefault();
  line.AddOption("--seconds", command->seconds, "Begin no candidate later; without: no limit")
      .TypeName("S")
      .NotNegative();
  line.AddFlag("--idle-exit", command->idle_exit, "End when there is nothing to measure");
  line.AddFlag("--sql", command->sql,
               "Print the SQL that makes the database's tables and roles, and do nothing else");
  return [command] { return RunWorker(*command); };
}

}  // namespace tcc
