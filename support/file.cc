#include "support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace tcc {
namespace {

std::string SystemReason() {
  return std::strerror(errno);
}

// Returns the path that symbolic links lead to; the last link may lead to a missing file.
StatusOr<std::string> EndOfLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as many as Linux follows
  std::filesystem::path at = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    if (!std::filesystem::is_symlink(at, error)) return at.string();
    std::filesystem::path next = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = at.parent_path() / next;
  }
  return InvalidInput("cannot write '{}': too many symbolic links", path);
}

std::string FolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A file that is being written; an unnamed file vanishes with its last descriptor.
struct NewFile {
  FileDescriptor descriptor;
  std::string folder;
  std::string name;  // "" for none
};

// Makes a name that no other thread of this process uses. Another process may use it, from another
// container or before it was killed.
std::string TemporaryName(const std::string& folder) {
  static std::atomic<uint64_t> counter{0};
  return fmt::format("{}/.tcc-{}-{}", folder, ::getpid(), counter++);
}

// Calls make(name) with temporary names until one is not taken. Returns its result; negative, with
// errno, on failure.
template <typename Make>
int AtFreeName(const std::string& folder, std::string& name, Make&& make) {
  constexpr int kMaxTaken = 1000;
  int made = -1;
  for (int i = 0; i < kMaxTaken; ++i) {
    name = TemporaryName(folder);
    made = make(name.c_str());
    if (made >= 0 || errno != EEXIST) break;
  }
  return made;
}

std::string PathOf(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

// Opens a file for writing. The descriptor is negative, with errno, where the folder takes no file.
NewFile OpenNewFile(const std::string& folder) {
  int fd = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  // GiveName needs /proc to name the file.
  if (fd >= 0 && ::access(PathOf(fd).c_str(), F_OK) == 0) return {FileDescriptor(fd), folder, ""};
  if (fd >= 0) ::close(fd);
  std::string name;
  fd = AtFreeName(folder, name, [](const char* free) {
    return ::open(free, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  });
  return {FileDescriptor(fd), folder, fd >= 0 ? name : ""};
}

// Puts the file at `target`, replacing a file there. Returns false, with errno, on failure.
bool GiveName(NewFile& file, const std::string& target) {
  if (file.name.empty()) {
    std::string from = PathOf(file.descriptor.get());
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return true;
    }
    if (errno != EEXIST) return false;
    // Only a rename replaces a file, and only a named file can be renamed.
    std::string name;
    int linked = AtFreeName(file.folder, name, [&](const char* free) {
      return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, free, AT_SYMLINK_FOLLOW);
    });
    if (linked != 0) return false;
    file.name = name;
  }
  return ::rename(file.name.c_str(), target.c_str()) == 0;
}

}  // namespace

std::string FileDescriptor::path() const {
  return PathOf(fd_);
}

bool FileDescriptor::Close() {
  return fd_ < 0 || ::close(Release()) == 0;
}

bool WriteAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

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
  auto failed = [&] { return InvalidInput("cannot write '{}': {}", path, SystemReason()); };
  TCC_RETURN_IF_ERROR(CheckWritable(path));
  TCC_ASSIGN_OR_RETURN(std::string target, EndOfLinks(path));
  NewFile file = OpenNewFile(FolderOf(target));
  if (file.descriptor.get() < 0) return failed();
  struct stat there{};
  bool written = true;
  if (::stat(target.c_str(), &there) == 0) {
    written = ::fchmod(file.descriptor.get(), there.st_mode & 0777) == 0;
  }
  for (std::span<const uint8_t> piece : pieces) {
    written = written && WriteAll(file.descriptor.get(), piece);
  }
  written = written && ::fsync(file.descriptor.get()) == 0 && GiveName(file, target);
  // Network file systems report late errors here.
  written = file.descriptor.Close() && written;
  if (written) return OkStatus();
  Status status = failed();
  if (!file.name.empty()) ::unlink(file.name.c_str());
  return status;
}

Status WriteFileAtomically(const std::string& path, std::string_view text) {
  std::span<const uint8_t> bytes = AsBytes(text);
  return WriteFileAtomically(path, {&bytes, 1});
}

Status CheckWritable(const std::string& path) {
  if (path == "-") {
    return UsageError("cannot write '-': expected a file, not standard output; ./- is a file");
  }
  TCC_ASSIGN_OR_RETURN(std::string target, EndOfLinks(path));
  struct stat there{};
  // The links of /dev/stdout may end in a name that is no path, "pipe:[123]".
  if (::stat(path.c_str(), &there) == 0 || ::stat(target.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return InvalidInput("cannot write '{}': it is a folder", path);
    // Renaming would put a file where a device or a pipe was.
    if (!S_ISREG(there.st_mode)) {
      return InvalidInput("cannot write '{}': it is not a regular file", path);
    }
    if (::access(target.c_str(), W_OK) != 0) {
      return InvalidInput("cannot write '{}': {}", path, SystemReason());
    }
  } else if (errno != ENOENT || target.empty()) {
    return InvalidInput("cannot write '{}': {}", path, SystemReason());
  }
  if (target.ends_with('/')) return InvalidInput("cannot write '{}': it is a folder", path);
  std::string folder = FolderOf(target);
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return OkStatus();
  return InvalidInput("cannot write '{}': folder '{}': {}", path, folder, SystemReason());
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat first{}, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace tcc
