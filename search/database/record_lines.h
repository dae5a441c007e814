#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "search/database/database.h"
#include "search/database/database_rows.h"

// The lines of a database's text form (database_text.h), for its writers.
namespace tcc {

// Return a line with its end.
std::string VariantLine(const std::string& key, const std::string& text);
std::string WorkloadLine(const StoredWorkload& workload);
// Returns the last line of an export that has `records` measurements in the lines before.
std::string ChecksumLine(std::string_view lines, int64_t records);

// A candidate as texts.
struct CandidateTexts {
  std::string variant_key;
  std::string workload;
  std::string rules;
  std::string trace;
  std::string decisions;    // DecisionsText
  std::string lowered_key;  // "": not known
};
CandidateTexts TextsOf(const StoredTrial& trial, const std::string& workload);

// Return the fields of a measurement's line that say what was measured, and in what environment.
nlohmann::ordered_json CandidateFields(const CandidateTexts& candidate);
nlohmann::ordered_json EnvironmentFields(const Environment& environment);

}  // namespace tcc
