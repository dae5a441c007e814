#pragma once

#include <string>

#include "support/status.h"

namespace tcc::emulator {

// A new folder in $TMPDIR, or /tmp without one, that goes away with its content.
class TemporaryFolder {
 public:
  // Unavailable, naming TMPDIR, where none can be made.
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
