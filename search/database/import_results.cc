#include "search/database/import_results.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/measure/batch_results.h"
#include "runtime/measure/measurement_json.h"
#include "search/database/record_lines.h"
#include "support/json_line.h"

namespace tcc {
namespace {

using Line = nlohmann::ordered_json;

// A batch's records: lines that go into an export as they are, and candidates by artefact.
struct BatchRecords {
  std::string lines;
  std::map<std::string, Line> candidates;
};

Status TakeLine(std::string_view line, BatchRecords& records) {
  TCC_ASSIGN_OR_RETURN(nlohmann::json object, ParseJsonLine(line));
  JsonFields fields(object);
  if (!fields.Has("fn")) {
    records.lines += fmt::format("{}\n", line);
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(std::string artefact, fields.Text("artefact"));
  object.erase("artefact");
  if (records.candidates.emplace(artefact, Line(object)).second) return OkStatus();
  return InvalidInput("artefact '{}' comes twice", artefact);
}

StatusOr<BatchRecords> RecordsOf(std::string_view text) {
  BatchRecords records;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    Status status = end == text.npos ? InvalidInput("the line is cut off")
                                     : TakeLine(text.substr(0, end), records);
    if (!status.ok()) {
      return Annotate(status, fmt::format("the batch's records: line {}", number));
    }
    text.remove_prefix(end + 1);
  }
  return records;
}

}  // namespace

StatusOr<std::string> ExportOfResults(const CandidateBatch& batch, const std::string& results) {
  TCC_ASSIGN_OR_RETURN(BatchResults measured, ParseResults(results, batch));
  TCC_ASSIGN_OR_RETURN(BatchRecords records, RecordsOf(batch.records()));
  const Environment environment{.tcc = batch.header().tcc,
                                .target = batch.header().target,
                                .device = measured.run.device,
                                .measurer = "local",
                                .policy = measured.run.policy,
                                .compilers = batch.header().compilers,
                                .threads = 1};
  std::string text = std::move(records.lines);
  for (const BatchResult& result : measured.results) {
    const auto found = records.candidates.find(result.artefact);
    if (found == records.candidates.end()) {
      return InvalidInput("the batch's records: artefact '{}' of task '{}' has none",
                          result.artefact, result.task);
    }
    Line line = found->second;
    line.update(MeasurementFields(result.measurement));
    line.update({{"build_seconds", 0.0}, {"series", 0}, {"at", result.at}});
    line.update(EnvironmentFields(environment));
    text += JsonLine(line);
  }
  return text + ChecksumLine(text, std::ssize(measured.results));
}

}  // namespace tcc
