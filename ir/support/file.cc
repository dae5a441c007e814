#include "ir/support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace tcc {
namespace {

std::string SystemReason() {
  return std::strerror(errno);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  // False when the system reports a late write error.
  bool Close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

SharedBytes OwnBytes(std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  std::span<const uint8_t> view(*owner);
  return {std::move(owner), view};
}

StatusOr<SharedBytes> MapFile(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return InvalidInput("cannot open '{}': {}", path, SystemReason());
  return MapDescriptor(file.get(), path);
}

StatusOr<SharedBytes> MapDescriptor(int fd, const std::string& name) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return InvalidInput("cannot read '{}': {}", name, SystemReason());
  if (!S_ISREG(info.st_mode)) return InvalidInput("'{}' is not a regular file", name);
  size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return SharedBytes{};
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) return InvalidInput("cannot map '{}': {}", name, SystemReason());
  std::shared_ptr<const void> owner(
      memory, [size](const void* start) { ::munmap(const_cast<void*>(start), size); });
  return SharedBytes{std::move(owner), {static_cast<const uint8_t*>(memory), size}};
}

Status WriteFileAtomically(const std::string& path,
                           std::span<const std::span<const uint8_t>> pieces) {
  static std::atomic<uint64_t> counter{0};
  // Renaming would put a file where a device or a pipe was; it refuses folders itself.
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    return InvalidInput("cannot write '{}': it is not a regular file", path);
  }
  // The name differs between processes and threads; O_EXCL refuses a file left over by another.
  std::string temporary = fmt::format("{}.tmp-{}-{}", path, ::getpid(), counter++);
  FileDescriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.get() < 0) return InvalidInput("cannot write '{}': {}", path, SystemReason());
  bool whole = true;
  for (std::span<const uint8_t> piece : pieces) whole = whole && WriteAll(file.get(), piece);
  whole = whole && ::fsync(file.get()) == 0;
  whole = whole && file.Close();
  whole = whole && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (whole) return OkStatus();
  std::string reason = SystemReason();
  ::unlink(temporary.c_str());
  return InvalidInput("cannot write '{}': {}", path, reason);
}

}  // namespace tcc
