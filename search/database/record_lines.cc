#include "search/database/record_lines.h"

#include <absl/strings/str_split.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "support/json_line.h"
#include "support/sha256.h"

namespace tcc {
namespace {

using Fields = nlohmann::ordered_json;

// Operands come from memory that is not in the caches, as in a network.
bool IsCold(const std::string& policy) {
  return policy == "in-place" || policy == "rotate-64M" || policy == "rotate-L2";
}

}  // namespace

std::string VariantLine(const std::string& key, const std::string& text) {
  return JsonLine({{"function", key}, {"text", text}});
}

std::string WorkloadLine(const StoredWorkload& workload) {
  Fields line = {{"workload", workload.key},
                 {"name", workload.name},
                 {"first", workload.first_variant},
                 {"flops", workload.flops}};
  if (workload.moved_bytes) line["moved_bytes"] = *workload.moved_bytes;
  return JsonLine(line);
}

std::string ChecksumLine(std::string_view lines, int64_t records) {
  return JsonLine({{"records", records}, {"sha256", ToHex(Sha256(lines))}});
}

CandidateTexts TextsOf(const StoredTrial& trial, const std::string& workload) {
  return {.variant_key = trial.variant_key,
          .workload = workload,
          .rules = trial.rules,
          .trace = Print(trial.schedule.trace),
          .decisions = DecisionsText(trial.schedule.decisions),
          .lowered_key = trial.lowered_key};
}

Fields CandidateFields(const CandidateTexts& candidate) {
  std::vector<std::string> set = absl::StrSplit(candidate.decisions, ' ', absl::SkipEmpty());
  Fields fields = {{"fn", candidate.variant_key},
                   {"workload", candidate.workload},
                   {"rules", candidate.rules},
                   {"trace", candidate.trace},
                   {"set", set}};
  if (!candidate.lowered_key.empty()) fields["lowered"] = candidate.lowered_key;
  return fields;
}

Fields EnvironmentFields(const Environment& environment) {
  return {{"target", environment.target},   {"device", environment.device},
          {"threads", environment.threads}, {"measurer", environment.measurer},
          {"policy", environment.policy},   {"cold", IsCold(environment.policy)},
          {"tcc", environment.tcc},         {"compilers", environment.compilers}};
}

}  // namespace tcc
