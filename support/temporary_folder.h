#pragma once

#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// Returns where temporary files go: $TMPDIR, or else /tmp.
std::string TemporaryFolderParent();

// A new folder for temporary files, which the destructor removes with its content. Others can
// neither guess its name nor enter it: in a folder that all users share, a file at a guessable path
// would be written through whatever link somebody planted there.
class TemporaryFolder {
 public:
  // Makes a folder. Unavailable, naming `purpose` and TMPDIR, if that fails.
  static StatusOr<TemporaryFolder> Make(std::string_view purpose);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  // Returns the path of a file in the folder.
  std::string operator/(std::string_view file) const;

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // "" for none
};

}  // namespace tcc
