#include "codegen_cuda/emulator/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace tcc::emulator {

StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  const char* chosen = getenv("TMPDIR");
  std::string parent = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  std::string path = parent + "/tcc-emulator-XXXXXX";
  if (mkdtemp(path.data()) != nullptr) return TemporaryFolder(path);
  return Missing("cannot make a folder in {} for the emulated kernels: {}; set TMPDIR", parent,
                 strerror(errno));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace tcc::emulator
