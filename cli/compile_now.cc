#include "cli/compile_now.h"

#include "cli/model_options.h"
#include "cli/numeric_option.h"
#include "cli/threads_option.h"
#include "compiler/compile_graph.h"
#include "compiler/schedule_folder.h"
#include "compiler/tune_graph.h"
#include "runtime/cuda/cuda_driver.h"
#include "support/target_api.h"

namespace tcc {
namespace {

Status CheckDevice(const CompileNowOptions& options) {
  if (!options.database.empty() || options.device.empty()) return OkStatus();
  return UsageError("--device: expected --db, the database that has records of it");
}

}  // namespace

void AddCompileNowOptions(CommandLine& line, CompileNowOptions& options) {
  AddTargetOption(line, options.target);
  line.AddOption("--db", options.database, "Database of measurements, as for compile")
      .TypeName("FILE");
  line.AddOption("--device", options.device, "Device whose records are taken, as for compile")
      .TypeName("TEXT");
  line.AddOption("--schedule", options.schedule, "Folder of schedules, as for compile")
      .TypeName("DIR");
  AddNumericOption(line, options.numeric);
}

Status ExpectNone(const CompileNowOptions& options) {
  if (!options.target.empty()) {
    return UsageError("expected a compiled model or --target, got both");
  }
  if (!options.schedule.empty()) {
    return UsageError("--schedule: a compiled model has its schedules already");
  }
  if (!options.database.empty()) {
    return UsageError("--db: a compiled model has its schedules already");
  }
  if (options.numeric != RowOf(NumericMode::kStrict).name) {
    return UsageError("--numeric is for a model that is compiled now; a compiled one says its own");
  }
  return CheckDevice(options);
}

StatusOr<Target> TargetOf(const CompileNowOptions& options) {
  return FindTarget(options.target.empty() ? "native" : options.target);
}

GpuCode CodeForDriver(const Target& target) {
  if (!IsCuda(target)) return GpuCode::kCubin;
  StatusOr<CudaDriver> driver = OpenCudaDriver();
  return driver.ok() && driver->takes_notes ? GpuCode::kCudaText : GpuCode::kCubin;
}

StatusOr<CompileOptions> ToCompileOptions(const CompileNowOptions& options, int threads,
                                          GpuCode gpu_code, Progress& progress) {
  TCC_RETURN_IF_ERROR(CheckDevice(options));
  TCC_ASSIGN_OR_RETURN(Target target, TargetOf(options));
  CompileOptions compile{.target = target, .threads = threads, .progress = progress.hook()};
  TCC_ASSIGN_OR_RETURN(compile.numeric, FindNumericMode(options.numeric));
  compile.warn = [&](const std::string& message) { progress.Warn(message); };
  compile.note = [&](const std::string& message) { progress.TellDetail(message); };
  if (!options.schedule.empty()) {
    TCC_ASSIGN_OR_RETURN(compile.schedules, ReadSchedules(options.schedule));
  }
  if (!options.database.empty()) {
    TCC_ASSIGN_OR_RETURN(compile.tuned, ReadTunedSchedules(options.database, target, ThreadCount(0),
                                                           options.device, compile.warn));
  }
  compile.gpu_code = gpu_code;
  return compile;
}

StatusOr<Artefact> CompileNow(SizedModel model, const CompileNowOptions& options, int threads,
                              GpuCode gpu_code, Progress& progress) {
  TCC_ASSIGN_OR_RETURN(CompileOptions compile,
                       ToCompileOptions(options, threads, gpu_code, progress));
  return CompileModel(std::move(model), compile);
}

}  // namespace tcc
