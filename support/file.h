#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/status.h"

namespace tcc {

// The owner of a file descriptor; a negative one is none.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  // Returns a path by which others may open it.
  std::string path() const;
  int Release() { return std::exchange(fd_, -1); }
  // Returns false when the system reports a late write error.
  bool Close();

 private:
  int fd_;
};

// Writes all of the bytes. Returns false, with errno, on failure.
bool WriteAll(int fd, std::span<const uint8_t> bytes);

inline std::span<const uint8_t> AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Immutable bytes of a mapped file or of memory, kept alive by `owner`.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const uint8_t> bytes;
};

// Takes ownership of the vector.
SharedBytes OwnBytes(std::vector<uint8_t> bytes);

// Maps the regular file at `path` read-only at a page boundary. The file must not be truncated
// while the bytes live. Fails with the path and the system's reason.
StatusOr<SharedBytes> MapFile(const std::string& path);
// Maps an open file like MapFile; `name` is for messages. The caller closes the file.
StatusOr<SharedBytes> MapDescriptor(int fd, const std::string& name);

// Writes the pieces one after another to an unnamed file in the folder of `path` and names it once
// it is complete. So `path` holds either its old content or all of the new, and a killed process
// leaves nothing behind. On file systems without unnamed files (O_TMPFILE) the file gets a
// temporary name.
//
// The new file keeps the permissions of the file that it replaces. A symbolic link stays, and its
// destination is replaced. Other hard links to the old file keep the old content.
Status WriteFileAtomically(const std::string& path,
                           std::span<const std::span<const uint8_t>> pieces);
Status WriteFileAtomically(const std::string& path, std::string_view text);

// Fails where WriteFileAtomically would refuse `path`, as far as one can tell without writing: a
// folder, a pipe or a device, a missing folder, missing permissions, a read-only file system, "-".
Status CheckWritable(const std::string& path);

// Returns whether both paths exist and lead to one file, links followed.
bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace tcc
