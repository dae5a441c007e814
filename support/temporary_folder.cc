#include "support/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "support/environment.h"

namespace tcc {

std::string TemporaryFolderParent() {
  std::string chosen = EnvironmentVariable("TMPDIR");
  return chosen.empty() ? "/tmp" : chosen;
}

StatusOr<TemporaryFolder> TemporaryFolder::Make(std::string_view purpose) {
  std::string parent = TemporaryFolderParent();
  std::string path = parent + "/tcc-XXXXXX";
  if (::mkdtemp(path.data()) != nullptr) return TemporaryFolder(std::move(path));
  return Missing("cannot make a folder in {} for {}: {}; set TMPDIR", parent, purpose,
                 std::strerror(errno));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::operator/(std::string_view file) const {
  return fmt::format("{}/{}", path_, file);
}

}  // namespace tcc
