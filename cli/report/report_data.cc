#include "cli/report/report_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/measure/measurement.h"
#include "support/file.h"
#include "support/json_fields.h"
#include "support/printable.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kStates[] = {"running", "ended", "interrupted", "failed"};

struct FactRow {
  const char* label;
  const char* pointer;  // into run.json
};
constexpr FactRow kFacts[] = {
    {"device", "/environment/device"},
    {"target", "/environment/target"},
    {"threads", "/environment/threads"},
    {"policy", "/policy"},
    {"policy asked for", "/environment/policy"},
    {"measurer", "/environment/measurer"},
    {"tcc", "/tcc"},
    {"compilers", "/environment/compilers"},
    {"command line", "/arguments"},
    {"searcher", "/searcher"},
    {"budget in seconds", "/budget/seconds"},
    {"budget in trials", "/budget/trials"},
    {"seed", "/seed"},
    {"database", "/database"},
    {"began", "/began"},
    {"seconds taken", "/elapsed_seconds"},
    {"seconds to begin", "/phases/begin"},
    {"seconds proposing", "/phases/propose"},
    {"seconds building", "/phases/build"},
    {"seconds checking", "/phases/check"},
    {"seconds in the network", "/phases/network"},
    {"seconds comparing", "/phases/compare"},
};

// Returns "..." for what has parts: a file may nest them deeper than the stack goes.
std::string WordText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return value.is_structured() ? "..." : value.dump();
}

std::string FactText(const Json& value) {
  if (!value.is_array()) return WordText(value);
  std::string text;
  for (const Json& word : value) text += (text.empty() ? "" : " ") + WordText(word);
  return text;
}

// Returns the statuses that a trial may have.
std::vector<std::string_view> StatusNames() {
  std::vector<std::string_view> names;
  for (int status = 0; status <= static_cast<int>(MeasureStatus::kFlaky); ++status) {
    names.push_back(NameOf(static_cast<MeasureStatus>(status)));
  }
  return names;
}

StatusOr<std::string> ReadText(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  return WithValidUtf8(
      std::string_view(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()));
}

// Returns a time, ratio or rate, 0 by default. It is 0 or within bounds, so that quotients and sums
// of such figures are finite.
StatusOr<double> FigureIn(const JsonFields& fields, const char* name) {
  constexpr double kMin = 1e-18, kMax = 1e24;
  TCC_ASSIGN_OR_RETURN(double figure, fields.AmountOr(name, 0));
  if (figure == 0 || (figure >= kMin && figure <= kMax)) return figure;
  return InvalidInput("field '{}': expected 0 or a number from {:g} to {:g}, got {}", name, kMin,
                      kMax, figure);
}

constexpr int64_t kMaxCount = int64_t{1} << 53;

// Returns a whole number from 0 to kMaxCount, 0 by default.
StatusOr<int64_t> CountIn(const JsonFields& fields, const std::string& name) {
  return fields.Has(name) ? fields.Count(name, kMaxCount) : StatusOr<int64_t>(0);
}

StatusOr<RunTask> TaskOf(const JsonFields& fields) {
  RunTask task;
  TCC_ASSIGN_OR_RETURN(task.name, fields.Text("name"));
  TCC_ASSIGN_OR_RETURN(task.runs, FigureIn(fields, "runs"));
  TCC_ASSIGN_OR_RETURN(task.constructed_seconds, FigureIn(fields, "constructed_seconds"));
  TCC_ASSIGN_OR_RETURN(task.best_seconds, FigureIn(fields, "best_seconds"));
  TCC_ASSIGN_OR_RETURN(task.best_searcher, fields.TextOr("best_searcher", ""));
  TCC_ASSIGN_OR_RETURN(task.in_place_ratio, FigureIn(fields, "in_place_ratio"));
  TCC_ASSIGN_OR_RETURN(task.winner, fields.TextOr("winner", ""));
  TCC_ASSIGN_OR_RETURN(task.trials, CountIn(fields, "trials"));
  TCC_ASSIGN_OR_RETURN(task.problem, fields.TextOr("problem", ""));
  TCC_ASSIGN_OR_RETURN(task.flops, FigureIn(fields, "flops"));
  TCC_ASSIGN_OR_RETURN(task.moved_bytes, FigureIn(fields, "moved_bytes"));
  TCC_ASSIGN_OR_RETURN(task.constructed_schedule, fields.TextOr("constructed_schedule", ""));
  TCC_ASSIGN_OR_RETURN(task.best_schedule, fields.TextOr("best_schedule", ""));
  return task;
}

// Checks counts that the page does not show: a file with a wrong one is broken.
Status CheckCounts(const Json& object) {
  JsonFields fields(object);
  TCC_RETURN_IF_ERROR(CountIn(fields, "trials").status());
  TCC_RETURN_IF_ERROR(CountIn(fields, "copied").status());
  auto statuses = object.find("statuses");
  if (statuses == object.end()) return OkStatus();
  if (!statuses->is_object()) return InvalidInput("field 'statuses': expected an object");
  JsonFields counts(*statuses);
  for (const auto& entry : statuses->items()) {
    Status counted = CountIn(counts, entry.key()).status();
    if (!counted.ok()) return Annotate(counted, "field 'statuses'");
  }
  return OkStatus();
}

// Reads the two files into one RunData.
class RunReader {
 public:
  Status ReadSummary(std::string_view text) {
    Json object = Json::parse(text, nullptr, false);
    if (!object.is_object()) return InvalidInput("expected a JSON object");
    JsonFields fields(object);
    TCC_ASSIGN_OR_RETURN(run_.state, fields.Word("state", kStates));
    TCC_ASSIGN_OR_RETURN(run_.message, fields.TextOr("message", ""));
    TCC_ASSIGN_OR_RETURN(run_.elapsed_seconds, FigureIn(fields, "elapsed_seconds"));
    TCC_RETURN_IF_ERROR(ReadFacts(object));
    TCC_RETURN_IF_ERROR(CheckCounts(object));
    TCC_RETURN_IF_ERROR(ReadNetwork(object));
    return ReadTasks(object);
  }

  Status ReadEvent(std::string_view line) {
    Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) return InvalidInput("expected a JSON object");
    JsonFields fields(object);
    TCC_ASSIGN_OR_RETURN(std::string kind, fields.Text("kind"));
    TCC_ASSIGN_OR_RETURN(double at, FigureIn(fields, "seconds"));
    run_.elapsed_seconds = std::max(run_.elapsed_seconds, at);
    if (kind == "trial") return ReadTrial(fields, at);
    if (kind == "end") return fields.Word("state", kStates).status();
    if (kind != "warning") return OkStatus();
    TCC_ASSIGN_OR_RETURN(std::string message, fields.TextOr("message", ""));
    run_.warnings.push_back(std::move(message));
    return OkStatus();
  }

  RunData Take() && { return std::move(run_); }

 private:
  // Numbers among the facts are counts, seconds or the seed.
  Status ReadFacts(const Json& object) {
    for (const FactRow& row : kFacts) {
      Json::json_pointer pointer(row.pointer);
      if (!object.contains(pointer) || object.at(pointer).is_null()) continue;
      const Json& value = object.at(pointer);
      if (value.is_number() && value.get<double>() < 0) {
        return InvalidInput("field '{}': expected 0 or more, got {}", row.pointer + 1,
                            WordText(value));
      }
      run_.facts.emplace_back(row.label, FactText(value));
    }
    return OkStatus();
  }

  Status ReadNetwork(const Json& object) {
    auto network = object.find("network");
    if (network == object.end()) return OkStatus();
    if (!network->is_object()) return InvalidInput("field 'network': expected an object");
    JsonFields fields(*network);
    TCC_ASSIGN_OR_RETURN(run_.network_constructed_seconds, FigureIn(fields, "constructed_seconds"));
    TCC_ASSIGN_OR_RETURN(run_.network_best_seconds, FigureIn(fields, "best_seconds"));
    return OkStatus();
  }

  Status ReadTasks(const Json& object) {
    auto tasks = object.find("tasks");
    if (tasks == object.end()) return OkStatus();
    if (!tasks->is_array()) return InvalidInput("field 'tasks': expected an array");
    run_.has_result = true;
    for (const Json& entry : *tasks) {
      std::string place = fmt::format("task {}", run_.tasks.size() + 1);
      if (!entry.is_object()) return InvalidInput("{}: expected an object", place);
      StatusOr<RunTask> task = TaskOf(JsonFields(entry));
      if (!task.ok()) return Annotate(task.status(), place);
      numbers_.emplace(task->name, run_.tasks.size());
      run_.tasks.push_back(*std::move(task));
    }
    return OkStatus();
  }

  Status ReadTrial(const JsonFields& fields, double at) {
    RunTrial trial;
    trial.at = at;
    TCC_RETURN_IF_ERROR(CountTrial(fields));
    TCC_ASSIGN_OR_RETURN(std::string name, fields.Text("task"));
    TCC_ASSIGN_OR_RETURN(trial.searcher, fields.Text("searcher"));
    TCC_ASSIGN_OR_RETURN(trial.status, fields.Word("status", statuses_));
    TCC_ASSIGN_OR_RETURN(trial.message, fields.TextOr("message", ""));
    TCC_ASSIGN_OR_RETURN(trial.measured_seconds, FigureIn(fields, "measured_seconds"));
    TCC_ASSIGN_OR_RETURN(trial.best_seconds, FigureIn(fields, "best_seconds"));
    TCC_ASSIGN_OR_RETURN(trial.constructed_seconds, FigureIn(fields, "constructed_seconds"));
    TCC_ASSIGN_OR_RETURN(trial.fma_gflops, FigureIn(fields, "fma_gflops"));
    run_.fma_gflops = std::max(run_.fma_gflops, trial.fma_gflops);
    trial.task = TaskNamed(name);
    if (!run_.has_result) Follow(trial);
    run_.trials.push_back(std::move(trial));
    return OkStatus();
  }

  // Checks the number of a trial: numbers rise from 1.
  Status CountTrial(const JsonFields& fields) {
    TCC_ASSIGN_OR_RETURN(int64_t number, fields.Count("trials", kMaxCount));
    if (number <= last_number_) {
      return InvalidInput("field 'trials': expected {} or more after trial {}, got {}",
                          last_number_ + 1, last_number_, number);
    }
    last_number_ = number;
    return OkStatus();
  }

  size_t TaskNamed(const std::string& name) {
    auto [place, is_new] = numbers_.emplace(name, run_.tasks.size());
    if (is_new) run_.tasks.emplace_back().name = name;
    return place->second;
  }

  // Keeps what run.json would say of the task at its end.
  void Follow(const RunTrial& trial) {
    RunTask& task = run_.tasks[trial.task];
    ++task.trials;
    if (trial.constructed_seconds > 0) task.constructed_seconds = trial.constructed_seconds;
    if (trial.best_seconds <= 0) return;
    if (task.best_seconds <= 0 || trial.best_seconds < task.best_seconds) {
      task.best_seconds = trial.best_seconds;
      task.best_searcher = trial.status == "ok" && trial.measured_seconds <= trial.best_seconds
                               ? trial.searcher
                               : "";
    }
  }

  const std::vector<std::string_view> statuses_ = StatusNames();
  RunData run_;
  std::map<std::string, size_t> numbers_;  // of tasks, by name
  int64_t last_number_ = 0;                // of the last trial
};

Status ReadEvents(std::string_view text, RunReader& reader) {
  for (int64_t number = 1; !text.empty(); ++number) {
    size_t end = text.find('\n');
    bool is_cut = end == std::string_view::npos;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(is_cut ? text.size() : end + 1);
    if (is_cut && !Json::accept(line)) return OkStatus();
    Status status = reader.ReadEvent(line);
    // A cut line may be a whole number or text.
    if (!status.ok()) {
      return is_cut ? OkStatus() : Annotate(status, fmt::format("line {}", number));
    }
  }
  return OkStatus();
}

}  // namespace

std::string RunSummaryPath(const std::string& folder) {
  return (fs::path(folder) / "run.json").string();
}

std::string RunEventsPath(const std::string& folder) {
  return (fs::path(folder) / "events.jsonl").string();
}

StatusOr<RunData> ReadRun(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored))
    return InvalidInput("'{}' was not found; expected {}", folder, kReportInputs);
  if (!fs::is_directory(folder, ignored)) {
    return InvalidInput("'{}' is not a folder; expected {}", folder, kReportInputs);
  }
  std::string summary = RunSummaryPath(folder), events = RunEventsPath(folder);
  if (!fs::exists(summary, ignored)) {
    return InvalidInput("folder '{}' holds no run: it has no run.json", folder);
  }
  RunReader reader;
  TCC_ASSIGN_OR_RETURN(std::string summary_text, ReadText(summary));
  TCC_RETURN_IF_ERROR(
      Annotate(reader.ReadSummary(summary_text), fmt::format("'{}' is broken", summary)));
  TCC_ASSIGN_OR_RETURN(std::string events_text, ReadText(events));
  TCC_RETURN_IF_ERROR(
      Annotate(ReadEvents(events_text, reader), fmt::format("'{}' is broken", events)));
  return std::move(reader).Take();
}

}  // namespace tcc
