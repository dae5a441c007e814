#pragma once

#include <string>

#include "support/status.h"

namespace tcc {

// A path for a database of this run alone, in a new folder of $TMPDIR that goes away with all that
// SQLite puts beside the file.
class TemporaryDatabase {
 public:
  // Makes the folder, not the database. Unavailable, naming TMPDIR: no folder can be made.
  static StatusOr<TemporaryDatabase> Make();
  TemporaryDatabase(TemporaryDatabase&& other) noexcept;
  TemporaryDatabase& operator=(TemporaryDatabase&& other) noexcept;
  ~TemporaryDatabase();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDatabase(const std::string& folder)
      : folder_(folder), path_(folder + "/tuning.db") {}

  std::string folder_;
  std::string path_;
};

}  // namespace tcc
