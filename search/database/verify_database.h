#pragma once

#include <string>
#include <vector>

#include "search/database/database.h"

namespace tcc {

// Returns the faults of a database, one line each: damaged pages, rows that refer to nothing, keys
// that do not match their content, functions that do not verify, texts that do not parse, schedules
// that were measured to be right and do not replay, figures out of range. Error: the database
// cannot be read at all.
StatusOr<std::vector<std::string>> VerifyDatabase(const Database& database);

}  // namespace tcc
