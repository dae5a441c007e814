#include "cli/standard_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace tcc {

void PutError(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void OpenStandardStreams() {
  // Read-only: writing to what was closed still fails. The lowest number is taken first.
  while (true) {
    int fd = ::open("/dev/null", O_RDONLY);
    if (fd < 0) return;
    if (fd > STDERR_FILENO) {
      ::close(fd);
      return;
    }
  }
}

}  // namespace tcc
