#include "runtime/measure/batch_results.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/measure/measurement_json.h"
#include "support/json_line.h"
#include "support/printable.h"

namespace tcc {
namespace {

StatusOr<std::string> PlainText(const JsonFields& fields, const std::string& name) {
  TCC_ASSIGN_OR_RETURN(std::string text, fields.Text(name));
  if (!IsPlainText(text)) return InvalidInput("field '{}' is no plain text", name);
  return text;
}

StatusOr<BatchRun> RunIn(std::string_view line, const CandidateBatch& batch) {
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseJsonLine(line));
  JsonFields fields(object);
  if (!fields.Has("batch")) return InvalidInput("expected the line with 'batch' and 'device'");
  BatchRun run;
  TCC_ASSIGN_OR_RETURN(run.batch, PlainText(fields, "batch"));
  TCC_ASSIGN_OR_RETURN(run.device, PlainText(fields, "device"));
  TCC_ASSIGN_OR_RETURN(run.driver, PlainText(fields, "driver"));
  TCC_ASSIGN_OR_RETURN(run.policy, PlainText(fields, "policy"));
  if (std::string wanted = ToHex(batch.digest()); run.batch != wanted) {
    return InvalidInput("results of batch '{}'; expected those of '{}'", run.batch, wanted);
  }
  if (run.policy != NameOf(batch.policy())) {
    return InvalidInput("policy '{}'; the batch has '{}'", run.policy, NameOf(batch.policy()));
  }
  return run;
}

// The names of tasks by the digests of their artefacts.
using TaskNames = std::map<std::string, std::string>;

TaskNames NamesOf(const CandidateBatch& batch) {
  TaskNames names;
  for (const BatchTask& task : batch.tasks()) {
    names.emplace(ToHex(task.reference), task.name);
    for (const Sha256Digest& digest : task.candidates) names.emplace(ToHex(digest), task.name);
  }
  return names;
}

StatusOr<BatchResult> ResultIn(std::string_view line, const TaskNames& names) {
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseJsonLine(line));
  JsonFields fields(object);
  if (!fields.Has("artefact")) return InvalidInput("expected a line with 'artefact'");
  BatchResult result;
  TCC_ASSIGN_OR_RETURN(result.artefact, fields.Text("artefact"));
  TCC_ASSIGN_OR_RETURN(result.task, fields.Text("task"));
  TCC_ASSIGN_OR_RETURN(result.measurement, MeasurementIn(fields));
  TCC_ASSIGN_OR_RETURN(result.at, fields.Count("at"));
  const auto name = names.find(result.artefact);
  if (name == names.end()) {
    return InvalidInput("artefact '{}' is not in the batch", result.artefact);
  }
  if (name->second != result.task) {
    return InvalidInput("artefact '{}' is of task '{}'; the line says '{}'", result.artefact,
                        name->second, result.task);
  }
  return result;
}

}  // namespace

std::string LineOf(const BatchRun& run) {
  return JsonLine({{"batch", run.batch},
                   {"device", run.device},
                   {"driver", run.driver},
                   {"policy", run.policy}});
}

std::string LineOf(const BatchResult& result) {
  nlohmann::ordered_json fields = {{"artefact", result.artefact}, {"task", result.task}};
  fields.update(MeasurementFields(result.measurement));
  fields["at"] = result.at;
  return JsonLine(fields);
}

StatusOr<BatchResults> ParseResults(std::string_view text, const CandidateBatch& batch) {
  const TaskNames names = NamesOf(batch);
  BatchResults results;
  std::set<std::string> seen;
  size_t number = 0;
  auto take = [&](std::string_view line) -> Status {
    if (number == 1) {
      TCC_ASSIGN_OR_RETURN(results.run, RunIn(line, batch));
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(BatchResult result, ResultIn(line, names));
    if (!seen.insert(result.artefact).second) {
      return InvalidInput("artefact '{}' comes twice", result.artefact);
    }
    results.results.push_back(std::move(result));
    return OkStatus();
  };
  do {
    ++number;
    const size_t end = text.find('\n');
    Status status =
        end == text.npos ? InvalidInput("the line is cut off") : take(text.substr(0, end));
    if (!status.ok()) {
      return Annotate(PrintableStatus(status), fmt::format("line {}", number));
    }
    text.remove_prefix(end + 1);
  } while (!text.empty());
  return results;
}

}  // namespace tcc
