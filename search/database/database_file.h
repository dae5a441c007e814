#pragma once

#include <string>
#include <vector>

#include "search/database/sqlite.h"

namespace tcc {

struct OpenedDatabase {
  SqliteConnection connection;
  std::vector<std::string> warnings;
};

// Opens a database of tcc without changing the file, even in a folder that cannot be written.
StatusOr<OpenedDatabase> OpenDatabaseForReading(const std::string& path);

// Opens a database of tcc, or creates one if there is no file or an empty one. A damaged one is
// renamed to PATH.damaged-N, a new one is begun, and a warning says so. A file that is not tcc's is
// refused and stays as it is.
StatusOr<OpenedDatabase> OpenDatabaseForWriting(const std::string& path);

}  // namespace tcc
