#include "codegen_llvm/shared_object.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "ir/support/check.h"

LLD_HAS_DRIVER(elf)

namespace tcc {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  // What others may open it by.
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// To the end of a pipe.
std::vector<uint8_t> ReadAll(int fd) {
  constexpr size_t kPiece = size_t{1} << 16;  // what a pipe holds
  std::vector<uint8_t> bytes;
  size_t size = 0;
  while (true) {
    bytes.resize(size + kPiece);
    ssize_t got = ::read(fd, bytes.data() + size, kPiece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

// In ar's format, so that one descriptor is enough for any number of objects.
bool WriteArchive(int fd, const std::vector<KernelObject>& objects) {
  bool whole = WriteAll(fd, "!<arch>\n");
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::vector<uint8_t>& bytes = objects[i].bytes;
    // Name, time, owner, group, mode, size; content starts at even places.
    std::string header = fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                                     fmt::format("{}.o/", i), 0, 0, 0, 644, bytes.size());
    whole = whole && WriteAll(fd, header) &&
            WriteAll(fd, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}) &&
            WriteAll(fd, bytes.size() % 2 == 1 ? "\n" : "");
  }
  return whole;
}

// LLD keeps its state in globals: one link at a time.
Status RunLld(const std::vector<std::string>& arguments) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(argv, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  TCC_CHECK(result.canRunAgain) << "lld: " << messages;
  if (result.retCode == 0) return OkStatus();
  return Missing("linking failed ({})", messages);
}

}  // namespace

// LLD reads from memory and writes to a pipe: a process that is killed leaves no file behind.
StatusOr<std::vector<uint8_t>> LinkSharedObject(const std::vector<KernelObject>& objects) {
  Descriptor input(::memfd_create("tcc-link", MFD_CLOEXEC));
  if (input.get() < 0 || !WriteArchive(input.get(), objects)) {
    return Missing("cannot hold what is to be linked in memory: {}", std::strerror(errno));
  }
  if (::access(input.path().c_str(), R_OK) != 0) {
    return Missing("cannot link: {}: {}; is /proc mounted?", input.path(), std::strerror(errno));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Missing("cannot link: {}", std::strerror(errno));
  Descriptor from(ends[0]), to(ends[1]);
  std::vector<uint8_t> output;
  Status status;
  {
    std::jthread reader([&] { output = ReadAll(from.get()); });
    status = RunLld({"ld.lld", "-shared", "-o", to.path(), "-z", "defs", "-z", "noexecstack",
                     "--threads=1", "--build-id=none", "--hash-style=gnu", "--nostdlib", "-m",
                     "elf_x86_64", "--whole-archive", input.path()});
    to.Close();  // the reader's end
  }
  TCC_RETURN_IF_ERROR(status);
  if (output.empty()) return Missing("linking gave nothing");
  return output;
}

}  // namespace tcc
