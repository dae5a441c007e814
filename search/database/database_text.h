#pragma once

#include <cstdint>
#include <string>

#include "search/database/database.h"

// A database as text, for `tcc db` and for other machines: one JSON object per line.
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
  // Whether records keep their measurer's name. Otherwise "import:" is put before it, so that
  // imported measurements are never taken for local ones.
  bool keep_measurer = false;
};

struct ImportSummary {
  int64_t variants = 0;
  int64_t workloads = 0;
  int64_t records = 0;  // new ones, like the figures above
  int64_t known = 0;    // records that existed already
};

// Adds the content of an export, all of it or nothing. The text may be hostile: the checksum must
// hold, functions must verify and have their stated keys, traces must parse, and seconds must be
// finite. Its code is neither run nor compiled. Errors name the line.
StatusOr<ImportSummary> ImportText(Database& database, const std::string& text,
                                   const DatabaseImportOptions& options = {});

// Adds the content of the database at `path` that `into` lacks. First measurements stay, and so
// does each comparison of a workload in an environment, as a whole.
StatusOr<ImportSummary> MergeDatabase(Database& into, const std::string& path);

}  // namespace tcc
