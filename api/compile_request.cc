#include "api/compile_request.h"

#include "compiler/tune_graph.h"
#include "runtime/executor/usable_cpus.h"
#include "support/stop.h"

namespace tcc::v1 {
namespace {

// Copies a bound input; without a shape of its own, into a flat tensor, whose shape the model
// determines.
StatusOr<tcc::Tensor> BoundTensor(const Input& bind, const std::string& what) {
  std::optional<tcc::DType> dtype = ToDType(bind.dtype);
  if (!dtype) return NoDType(bind.dtype, what);
  std::span<const uint8_t> view(static_cast<const uint8_t*>(bind.data), bind.bytes);
  if (view.data() == nullptr && !view.empty()) return InvalidInput("{} has no memory", what);
  if (bind.shape.empty()) {
    constexpr DTypeCode kByte = DTypeCode::kUInt8;
    TCC_ASSIGN_OR_RETURN(tcc::Tensor tensor,
                         CopyTensor(kByte, {static_cast<int64_t>(bind.bytes)}, view, what));
    tensor.dtype = *dtype;
    return tensor;
  }
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(*dtype, bind.shape));
  if (bytes != static_cast<int64_t>(bind.bytes)) {
    return InvalidInput("{}: {}[{}] takes {} bytes, got {}", what, tcc::ToString(*dtype),
                        ShapeToString(bind.shape), bytes, bind.bytes);
  }
  return CopyTensor(*dtype, {bind.shape.begin(), bind.shape.end()}, view, what);
}

StatusOr<ImportOptions> ToImport(const CompileOptions& options) {
  ImportOptions import;
  import.dims = options.dims;
  for (const auto& [name, range] : options.ranges) {
    import.ranges.emplace(name, tcc::DimRange{range.low, range.high, range.usual});
  }
  import.shapes = options.shapes;
  import.external_data_folder = options.external_data_folder;
  if (options.follow_links) import.external_data_links = Links::kFollowed;
  for (const Input& bind : options.binds) {
    std::string name(bind.name);
    TCC_ASSIGN_OR_RETURN(tcc::Tensor tensor,
                         BoundTensor(bind, fmt::format("bound input '{}'", name)));
    if (!import.binds.emplace(name, std::move(tensor)).second) {
      return UsageError("input '{}' is bound twice", name);
    }
    if (bind.shape.empty()) import.binds_as_declared.insert(name);
  }
  return import;
}

StatusOr<Schedules> ToSchedules(const CompileOptions& options) {
  Schedules schedules;
  for (const auto& [kernel, text] : options.schedules) {
    StatusOr<Schedule> schedule = ParseSchedule(text);
    if (!schedule.ok()) return Annotate(schedule.status(), "schedule of '" + kernel + "'");
    schedules.emplace(kernel, *std::move(schedule));
  }
  return schedules;
}

}  // namespace

void Reporter::Report(const std::string& stage, int64_t done, int64_t total) {
  std::lock_guard lock(mutex_);
  if (stage != stage_) EndStage(stage);
  if (options_.progress) options_.progress({stage, done, total});
}

void Reporter::Log(LogLevel level, const std::string& message) {
  std::lock_guard lock(mutex_);
  EndStage("");
  if (options_.logger) options_.logger(level, message);
}

void Reporter::EndStage(const std::string& next) {
  if (options_.logger && !stage_.empty()) {
    options_.logger(LogLevel::kInfo, fmt::format("{}: {:.3f} s", stage_, stopwatch_.Seconds()));
  }
  stage_ = next;
  stopwatch_ = Stopwatch();
}

StatusOr<CompileSettings> SettingsOf(const CompileOptions& options, Reporter& reporter) {
  TCC_ASSIGN_OR_RETURN(NumericMode numeric, FindNumericMode(options.numeric));
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  TCC_ASSIGN_OR_RETURN(ImportOptions import, ToImport(options));
  TCC_ASSIGN_OR_RETURN(Schedules schedules, ToSchedules(options));
  auto warn = [&reporter](const std::string& message) {
    reporter.Log(LogLevel::kWarning, message);
  };
  import.warn = warn;
  int threads = options.threads > 0 ? options.threads : UsableCpus();
  tcc::CompileOptions compile{
      .target = target,
      .threads = threads,
      .progress = [&reporter](const std::string& stage, int64_t done,
                              int64_t total) { reporter.Report(stage, done, total); },
      .stop = options.cancellation};
  compile.numeric = numeric;
  compile.notes = options.notes;
  compile.winograd = options.winograd;
  compile.schedules = std::move(schedules);
  compile.warn = warn;
  if (!options.database.empty()) {
    TCC_ASSIGN_OR_RETURN(compile.tuned, ReadTunedSchedules(options.database, target, UsableCpus(),
                                                           options.device, warn));
  }
  return CompileSettings{std::move(import), std::move(compile)};
}

StatusOr<CompileRequest> MakeRequest(const CompileOptions& options,
                                     const ImportFunction& import_model, Reporter& reporter) {
  TCC_ASSIGN_OR_RETURN(CompileSettings settings, SettingsOf(options, reporter));
  reporter.Report("import", 0, 1);
  TCC_RETURN_IF_ERROR(StopIfRequested(options.cancellation));
  TCC_ASSIGN_OR_RETURN(SizedModel model,
                       ImportAtSizes(import_model, std::move(settings.import), options.at));
  return CompileRequest{std::move(model), std::move(settings.options)};
}

}  // namespace tcc::v1
