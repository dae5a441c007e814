#pragma once

#include <cstdint>
#include <string>

#include "search/database/database.h"

// A database as text, for `tcc db` and for other machines: JSON objects, one a line.
//
//   {"function": KEY, "text": ..}                      a variant, by key
//   {"workload": KEY, "name": .., "first": KEY, ..}    by key
//   {"fn": KEY, "workload": KEY, "trace": .., "set": ["b0.i1.1=4", ..], "status": "ok",
//    "seconds": .., .., "device": .., ..}              a measurement: by workload, environment,
//                                                      series and time
//   {"records": N, "sha256": ..}                       the number of measurements, and the hash of
//                                                      all lines before this one
//
// Equal content gives equal bytes, and an import into an empty file gives equal content.
namespace tcc {

StatusOr<std::string> ExportText(const Database& database);

struct DatabaseImportOptions {
  // Otherwise "import:" stands before the name of a record's measurer, so that what others measured
  // is never taken for what was measured here.
  bool keep_measurer = false;
};

struct ImportSummary {
  int64_t variants = 0;
  int64_t workloads = 0;
  int64_t records = 0;  // new ones; so are the figures above
  int64_t known = 0;    // records that were there
};

// Adds what an export holds, all of it or nothing. The text may be hostile: the checksum must hold,
// functions must verify and have the key that they are told to have, traces must parse, seconds be
// finite. No code of it is run or compiled. Errors name the line.
StatusOr<ImportSummary> ImportText(Database& database, const std::string& text,
                                   const DatabaseImportOptions& options = {});

// Adds what the database at `path` holds beyond `into`. First measurements stay, and so does each
// comparison of a workload in an environment, as a whole.
StatusOr<ImportSummary> MergeDatabase(Database& into, const std::string& path);

}  // namespace tcc
