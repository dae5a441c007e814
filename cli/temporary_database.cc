#include "cli/temporary_database.h"

#include <cstdlib>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tcc {

StatusOr<TemporaryDatabase> TemporaryDatabase::Make() {
  const char* chosen = std::getenv("TMPDIR");
  std::string folder = std::string(chosen && *chosen ? chosen : "/tmp") + "/tcc-tuning-XXXXXX";
  if (::mkdtemp(folder.data())) return TemporaryDatabase(folder);
  return Missing("cannot make {} for a temporary database: {}; set TMPDIR", folder,
                 std::strerror(errno));
}

TemporaryDatabase::TemporaryDatabase(TemporaryDatabase&& other) noexcept
    : folder_(std::exchange(other.folder_, "")), path_(std::exchange(other.path_, "")) {}

TemporaryDatabase& TemporaryDatabase::operator=(TemporaryDatabase&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(path_, other.path_);
  return *this;
}

TemporaryDatabase::~TemporaryDatabase() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

}  // namespace tcc
