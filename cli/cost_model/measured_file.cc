#include "cli/cost_model/measured_file.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/cost_model/compressed_text.h"
#include "runtime/measure/measurement.h"
#include "search/database/database_rows.h"

namespace tcc {
namespace {

using nlohmann::json;

// Of a line that was read: a field's value, or an error that names it.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  bool Has(const char* name) const { return object_.contains(name); }

  StatusOr<std::string> Text(const char* name) const {
    TCC_ASSIGN_OR_RETURN(const json* value, Find(name));
    if (value->is_string()) return value->get<std::string>();
    return WrongType(name, "a text", *value);
  }
  StatusOr<double> Number(const char* name) const {
    TCC_ASSIGN_OR_RETURN(const json* value, Find(name));
    if (value->is_number()) return value->get<double>();
    return WrongType(name, "a number", *value);
  }
  StatusOr<int64_t> Whole(const char* name) const {
    TCC_ASSIGN_OR_RETURN(const json* value, Find(name));
    if (IsWhole(*value)) return value->get<int64_t>();
    return WrongType(name, "a whole number", *value);
  }
  // 0 or more, and finite.
  StatusOr<double> ShareOr(const char* name, double other) const {
    TCC_ASSIGN_OR_RETURN(double value, Has(name) ? Number(name) : StatusOr<double>(other));
    if (std::isfinite(value) && value >= 0) return value;
    return InvalidInput("field '{}': expected 0 or more, got {}", name, value);
  }
  StatusOr<std::string> TextOr(const char* name, const std::string& other) const {
    return Has(name) ? Text(name) : StatusOr<std::string>(other);
  }

  // {"mm.i.1": 4} or ["mm.i.1=4"].
  StatusOr<Decisions> Sizes(const char* name) const {
    TCC_ASSIGN_OR_RETURN(const json* value, Find(name));
    Decisions sizes;
    if (value->is_array()) {
      std::string words;
      for (const json& word : *value) {
        if (!word.is_string()) return WrongType(name, "texts", word);
        words += word.get<std::string>() + " ";
      }
      if (!words.empty()) words.pop_back();
      StatusOr<Decisions> parsed = ParseDecisions(words);
      if (parsed.ok()) return parsed;
      return InvalidInput("field '{}': {}", name, Message(parsed.status()));
    }
    if (!value->is_object()) return WrongType(name, "sizes", *value);
    for (const auto& [size, chosen] : value->items()) {
      if (!IsWhole(chosen)) return WrongType(name, "whole numbers", chosen);
      sizes[size] = chosen.get<int64_t>();
    }
    return sizes;
  }

 private:
  static bool IsWhole(const json& value) {
    if (value.is_number_unsigned()) return value.get<uint64_t>() <= INT64_MAX;
    return value.is_number_integer();
  }
  StatusOr<const json*> Find(const char* name) const {
    auto found = object_.find(name);
    if (found == object_.end()) return InvalidInput("expected a field '{}'", name);
    return &*found;
  }
  static Status WrongType(const char* name, const char* expected, const json& value) {
    return InvalidInput("field '{}': expected {}, got {}", name, expected,
                        value.dump().substr(0, 40));
  }

  const json& object_;
};

// Reads the lines of one file.
class MeasurementReader {
 public:
  explicit MeasurementReader(MeasuredTasks& tasks) : tasks_(tasks) {}

  Status ReadLine(const std::string& line) {
    json object = json::parse(line, nullptr, false);
    if (!object.is_object()) return InvalidInput("expected a JSON object");
    Fields fields(object);
    if (fields.Has("trace") || fields.Has("status")) return ReadMeasurement(fields);
    if (fields.Has("function")) {
      TCC_ASSIGN_OR_RETURN(std::string key, fields.Text("function"));
      TCC_ASSIGN_OR_RETURN(functions_[key], fields.Text("text"));
      return OkStatus();
    }
    if (fields.Has("workload")) {
      TCC_ASSIGN_OR_RETURN(std::string key, fields.Text("workload"));
      TCC_ASSIGN_OR_RETURN(names_[key], fields.Text("name"));
      return OkStatus();
    }
    if (fields.Has("records")) return OkStatus();
    return InvalidInput("expected a measurement, a function, a workload or the end of an export");
  }

 private:
  Status ReadMeasurement(const Fields& fields) {
    TCC_ASSIGN_OR_RETURN(std::string status, fields.Text("status"));
    std::optional<MeasureStatus> known = FindMeasureStatus(status);
    if (!known) return InvalidInput("field 'status': '{}' is not known", status);
    bool timed = *known == MeasureStatus::kOk || *known == MeasureStatus::kSlow;
    int64_t series = 0;
    if (fields.Has("series")) {
      TCC_ASSIGN_OR_RETURN(series, fields.Whole("series"));
    }
    if (!timed || series != 0) {
      tasks_.Skip();
      return OkStatus();
    }
    MeasuredRecord record;
    record.precise = *known == MeasureStatus::kOk;
    TCC_ASSIGN_OR_RETURN(std::string searcher, fields.TextOr("searcher", ""));
    record.constructed = searcher == "constructed";
    TCC_RETURN_IF_ERROR(ReadCandidate(fields, record));
    TCC_RETURN_IF_ERROR(ReadTime(fields, record));
    tasks_.Add(record);
    return OkStatus();
  }

  Status ReadCandidate(const Fields& fields, MeasuredRecord& record) const {
    TCC_ASSIGN_OR_RETURN(record.fn, fields.Text("fn"));
    TCC_ASSIGN_OR_RETURN(record.trace, fields.Text("trace"));
    TCC_ASSIGN_OR_RETURN(record.set, fields.Sizes("set"));
    if (!fields.Has("workload")) {
      record.task = record.fn;
      TCC_ASSIGN_OR_RETURN(record.name, fields.TextOr("kernel", ""));
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(record.task, fields.Text("workload"));
    auto name = names_.find(record.task);
    if (name != names_.end()) record.name = name->second;
    auto function = functions_.find(record.fn);
    if (function == functions_.end()) {
      return InvalidInput("field 'fn': no line before has the function '{}'", record.fn);
    }
    record.fn = function->second;
    return OkStatus();
  }

  static Status ReadTime(const Fields& fields, MeasuredRecord& record) {
    TCC_ASSIGN_OR_RETURN(record.seconds, fields.Number("seconds"));
    if (!std::isfinite(record.seconds) || record.seconds <= 0) {
      return InvalidInput("field 'seconds': expected more than 0, got {}", record.seconds);
    }
    TCC_ASSIGN_OR_RETURN(double spread, fields.ShareOr("spread", kUsualNoise));
    TCC_ASSIGN_OR_RETURN(record.noise, fields.ShareOr("noise", std::max(spread, kUsualNoise)));
    TCC_ASSIGN_OR_RETURN(int64_t threads, fields.Whole("threads"));
    if (threads < 1 || threads > kMostThreads) {
      return InvalidInput("field 'threads': expected 1 to {}, got {}", kMostThreads, threads);
    }
    record.threads = static_cast<int>(threads);
    TCC_ASSIGN_OR_RETURN(record.policy, fields.Text("policy"));
    if (!IsKnownPolicy(record.policy)) {
      return InvalidInput("field 'policy': '{}' is not known", record.policy);
    }
    return OkStatus();
  }

  static constexpr double kUsualNoise = 0.02;
  static constexpr int64_t kMostThreads = 4096;

  MeasuredTasks& tasks_;
  std::map<std::string, std::string> functions_;  // text by key
  std::map<std::string, std::string> names_;      // of workloads
};

}  // namespace

Status ReadMeasurements(const std::string& path, MeasuredTasks& tasks) {
  TCC_ASSIGN_OR_RETURN(std::string text, ReadCompressedText(path));
  MeasurementReader reader(tasks);
  std::istringstream lines(text);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    Status status = reader.ReadLine(line);
    if (!status.ok()) return InvalidInput("{}:{}: {}", path, number, Message(status));
  }
  return OkStatus();
}

}  // namespace tcc
