#pragma once

#include <string>

#include "support/status.h"

namespace tcc::emulator {

// A new folder in $TMPDIR, or else /tmp. The destructor removes it with its content.
class TemporaryFolder {
 public:
  // Makes a folder. Unavailable, naming TMPDIR, if that fails.
  static StatusOr<TemporaryFolder> Make();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace tcc::emulator
