#include "cli/compile/run_folder.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "cli/measurement_json.h"
#include "support/file.h"
#include "support/version.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kSummary = "run.json";
constexpr const char* kEvents = "events.jsonl";

// The program and its arguments.
std::vector<std::string> OwnArguments() {
  std::vector<std::string> arguments;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

Json TextJson(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json AbsolutePathJson(const std::string& path) {
  if (path.empty()) return Json();
  std::error_code ignored;
  return fs::absolute(path, ignored).string();
}

Json BudgetJson(const TuneOptions& tune) {
  return tune.trials > 0 ? Json{{"trials", tune.trials}} : Json{{"seconds", tune.seconds}};
}

Json TaskJson(const TaskResult& task) {
  return {{"name", task.name},
          {"key", task.key},
          {"runs", task.runs},
          {"constructed_seconds", SecondsJson(task.constructed_seconds)},
          {"best_seconds", SecondsJson(task.best_seconds)},
          {"best_searcher", TextJson(task.best_searcher)},
          {"in_place_ratio", SecondsJson(task.in_place_ratio)},
          {"winner", TextJson(task.winner)},
          {"trials", task.trials},
          {"problem", TextJson(task.problem)},
          {"settled", task.settled},
          {"flops", task.flops},
          {"moved_bytes", task.moved_bytes ? Json(*task.moved_bytes) : Json()},
          {"constructed_schedule", TextJson(task.constructed_schedule)},
          {"best_schedule", TextJson(task.best_schedule)}};
}

Json ResultJson(const TuneResult& result) {
  Json statuses = Json::object(), tasks = Json::array();
  for (const auto& [status, count] : result.statuses) statuses[std::string(NameOf(status))] = count;
  for (const TaskResult& task : result.tasks) tasks.push_back(TaskJson(task));
  const TunePhases& phases = result.phases;
  return {{"policy", result.policy},
          {"trials", result.trials},
          {"copied", result.copied},
          {"statuses", statuses},
          {"phases",
           {{"begin", phases.begin},
            {"propose", phases.propose},
            {"build", phases.build},
            {"check", phases.check},
            {"network", phases.network},
            {"compare", phases.compare}}},
          {"network",
           {{"constructed_seconds", SecondsJson(result.network_constructed_seconds)},
            {"best_seconds", SecondsJson(result.network_best_seconds)}}},
          {"tasks", tasks}};
}

// Paths and messages may hold text that is not UTF-8.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Returns the folder that a path lies in. "runs/first/" lies in "runs".
std::string FolderAround(const std::string& path) {
  fs::path inner(path);
  if (!inner.has_filename()) inner = inner.parent_path();
  std::string folder = inner.parent_path().string();
  return folder.empty() ? "." : folder;
}

Status HoldsRun(const std::string& path, const std::string& file) {
  return UsageError("--run {}: it holds a run already ('{}'); give another folder", path, file);
}

}  // namespace

std::string RunFolder::FileIn(std::string_view name) const {
  return (fs::path(path_) / name).string();
}

Status RunFolder::CheckTakesRun(const std::string& path) {
  std::string summary = (fs::path(path) / kSummary).string();
  std::error_code ignored;
  if (fs::exists(summary, ignored)) return HoldsRun(path, summary);
  if (fs::exists(path, ignored)) return OkStatus();
  std::string folder = FolderAround(path);
  if (::access((folder + "/").c_str(), W_OK | X_OK) == 0) return OkStatus();
  return InvalidInput("--run: cannot make folder '{}': folder '{}': {}", path, folder,
                      std::strerror(errno));
}

StatusOr<RunFolder> RunFolder::Make(const std::string& path, const TuneGraphOptions& options,
                                    const std::string& database) {
  TCC_RETURN_IF_ERROR(CheckTakesRun(path));
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return InvalidInput("--run: cannot make folder '{}': {}", path, error.message());
  RunFolder folder(path);
  TCC_RETURN_IF_ERROR(folder.OpenEvents());
  folder.summary_ = {{"tcc", kVersion},
                     {"state", "running"},
                     {"arguments", OwnArguments()},
                     {"began", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
                     {"environment", {{"target", options.compile.target.name}}},
                     {"searcher", options.tune.searcher},
                     {"seed", options.tune.seed},
                     {"database", AbsolutePathJson(database)},
                     {"budget", BudgetJson(options.tune)}};
  TCC_RETURN_IF_ERROR(folder.WriteSummary());
  folder.Append("begin", Json::object());
  return folder;
}

// Two runs that begin at once do not share a folder: the second one finds this file.
Status RunFolder::OpenEvents() {
  std::string file = FileIn(kEvents);
  events_.reset(std::fopen(file.c_str(), "wxe"));
  if (events_) return OkStatus();
  if (errno == EEXIST) return HoldsRun(path_, file);
  return InvalidInput("--run: cannot write '{}': {}", file, std::strerror(errno));
}

Status RunFolder::WriteSummary() const {
  std::string text = Dump(summary_, 2);
  return WriteFileAtomically(FileIn(kSummary), text);
}

void RunFolder::Append(std::string_view kind, const Json& fields) {
  Json line = {{"seconds", Elapsed()}, {"kind", kind}};
  line.update(fields);
  std::string text = Dump(line, -1);
  bool written = std::fwrite(text.data(), 1, text.size(), events_.get()) == text.size() &&
                 std::fflush(events_.get()) == 0;
  if (written || !appended_.ok()) return;
  appended_ = InvalidInput("--run: cannot write '{}': {}", FileIn(kEvents), std::strerror(errno));
}

double RunFolder::Elapsed() const {
  return stopwatch_.Seconds();
}

void RunFolder::RecordEnvironment(const Environment& environment) {
  summary_["environment"] = EnvironmentJson(environment);
  Status written = WriteSummary();
  if (appended_.ok()) appended_ = written;
}

void RunFolder::Record(const TuneEvent& event) {
  const Measurement& measurement = event.measurement;
  Json fields = {{"trials", event.trials},
                 {"task", event.task},
                 {"searcher", event.searcher},
                 {"status", NameOf(measurement.status)},
                 {"measured_seconds", SecondsJson(measurement.seconds)},
                 {"best_seconds", SecondsJson(event.best_seconds)},
                 {"constructed_seconds", SecondsJson(event.constructed_seconds)},
                 {"fma_gflops", SecondsJson(measurement.canary)}};
  if (!measurement.message.empty()) fields["message"] = measurement.message;
  Append("trial", fields);
}

void RunFolder::RecordWarning(const std::string& message) {
  Append("warning", {{"message", message}});
}

Status RunFolder::Finish(const StatusOr<TuneResult>& result, bool interrupted) {
  const bool failed = !result.ok() && !(interrupted && absl::IsCancelled(result.status()));
  Json end = {{"state", failed ? "failed" : interrupted ? "interrupted" : "ended"}};
  if (!result.ok()) end["message"] = Message(result.status());
  Append("end", end);
  summary_.update(end);
  summary_["elapsed_seconds"] = Elapsed();
  if (result.ok()) summary_.update(ResultJson(*result));
  Status written = WriteSummary();
  return written.ok() ? appended_ : written;
}

}  // namespace tcc
