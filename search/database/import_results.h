#pragma once

#include <string>

#include "runtime/measure/candidate_batch.h"
#include "search/database/database_text.h"

namespace tcc {

// Joins a batch with what came of its candidates (runtime/measure/batch_results.h) into an export
// (database_text.h), whose records are of the measurer "local" and of the device that the results
// name. Errors: ParseResults'; the batch's records, by line.
StatusOr<std::string> ExportOfResults(const CandidateBatch& batch, const std::string& results);

}  // namespace tcc
