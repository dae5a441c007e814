#pragma once

#include <string>
#include <vector>

#include "search/database/database.h"

namespace tcc {

// Finds what is wrong with a database, a line each: damaged pages, rows that refer to nothing, keys
// that are not those of what they stand for, functions that do not verify, texts that do not parse,
// schedules that were measured to be right and do not replay, figures out of range. Empty: nothing
// is. Error: it cannot be read at all.
StatusOr<std::vector<std::string>> VerifyDatabase(const Database& database);

}  // namespace tcc
