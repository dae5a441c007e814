#include "codegen_llvm/llvm_backend.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "codegen_llvm/object_code.h"
#include "support/check.h"
#include "support/file.h"
#include "support/status.h"
#include "support/stop.h"
#include "support/temporary_folder.h"
#include "support/threads.h"

LLD_HAS_DRIVER(elf)

namespace tcc {
namespace {

// Copies to the end of a pipe, which is drained even if the destination has no room.
bool CopyAll(int from, int to) {
  char piece[1 << 16];  // what a pipe holds
  bool whole = true;
  while (true) {
    ssize_t got = ::read(from, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return whole && got == 0;
    whole = whole && WriteAll(to, AsBytes({piece, static_cast<size_t>(got)}));
  }
}

StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty()) return Missing("cannot read {}", path);
  return bytes;
}

// Writes the objects in ar's format, so that one descriptor is enough for any number of them.
bool WriteArchive(int fd, const std::vector<KernelObject>& objects) {
  bool whole = WriteAll(fd, AsBytes("!<arch>\n"));
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::vector<uint8_t>& bytes = objects[i].bytes;
    // The header: name, time, owner, group, mode, size. Content starts at even offsets.
    std::string header = fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
                                     fmt::format("{}.o/", i), 0, 0, 0, 644, bytes.size());
    whole = whole && WriteAll(fd, AsBytes(header)) && WriteAll(fd, bytes) &&
            WriteAll(fd, AsBytes(bytes.size() % 2 == 1 ? "\n" : ""));
  }
  return whole;
}

// Runs LLD, one link at a time: it keeps its state in globals.
Status RunLld(const std::string& input, const std::string& output) {
  const char* argv[] = {
      "ld.lld",
      "-shared",
      "-o",
      output.c_str(),
      "-z",
      "defs",
      "-z",
      "noexecstack",
      "--threads=1",
      "--build-id=none",
      "--hash-style=gnu",
      "--nostdlib",
      "--whole-archive",
      input.c_str(),
  };
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(argv, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  TCC_CHECK(result.canRunAgain) << "lld: " << messages;
  if (result.retCode == 0) return OkStatus();
  while (messages.ends_with('\n')) messages.pop_back();
  return Missing("linking failed ({})", messages);
}

// A thread that reads from a pipe; `written` is the other end. It ends when that end is closed.
struct Reader {
  FileDescriptor& written;
  std::thread thread;

  ~Reader() {
    written.Close();
    thread.join();
  }
};

// Links through a named file, which an interruption would leave behind.
StatusOr<std::vector<uint8_t>> LinkInFolder(const std::string& input) {
  TCC_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make("the linked kernels"));
  std::string output = folder / "kernels.so";
  TCC_RETURN_IF_ERROR(RunLld(input, output));
  return ReadFile(output);
}

// Links objects, in their order, by LLD into one shared object that exports each kernel by its
// name, needs no other library and leaves no symbol undefined. The same objects give the same
// bytes. No file is written, unless the system refuses a thread: then one in $TMPDIR, or else /tmp.
// Unavailable if /proc is not mounted.
StatusOr<std::vector<uint8_t>> LinkSharedObject(const std::vector<KernelObject>& objects) {
  FileDescriptor input(::memfd_create("tcc-objects", MFD_CLOEXEC));
  FileDescriptor output(::memfd_create("tcc-linked", MFD_CLOEXEC));
  int ends[2] = {-1, -1};
  bool made = input.get() >= 0 && output.get() >= 0 && WriteArchive(input.get(), objects) &&
              ::access(input.path().c_str(), R_OK) == 0 && ::pipe2(ends, O_CLOEXEC) == 0;
  FileDescriptor from(ends[0]), to(ends[1]);
  if (!made) {
    int error = errno;
    bool has_proc = ::access("/proc/self/fd", R_OK) == 0;
    return Missing("cannot link in memory: {}{}", std::strerror(error),
                   has_proc ? "" : "; is /proc mounted?");
  }
  // LLD creates a regular file by renaming, but writes directly into a pipe.
  bool whole = true;
  std::optional<std::thread> thread =
      StartThread([&] { whole = CopyAll(from.get(), output.get()); });
  // The system refused a thread.
  if (!thread) return LinkInFolder(input.path());
  Status status;
  {
    Reader reader{to, *std::move(thread)};
    status = RunLld(input.path(), to.path());
  }
  TCC_RETURN_IF_ERROR(status);
  if (!whole) return Missing("cannot hold what was linked in memory");
  return ReadFile(output.path());
}

class LlvmBackend final : public Backend {
 public:
  explicit LlvmBackend(const Target& target) : target_(target) {}

  StatusOr<CompiledModule> Compile(const LoweredModule& module,
                                   const BackendOptions& options) override {
    if (module.kernels.empty()) return CompiledModule{};
    TCC_ASSIGN_OR_RETURN(std::vector<KernelObject> objects,
                         CompileKernels(module.kernels, target_, options));
    CompiledModule compiled;
    for (const KernelObject& object : objects) {
      compiled.kernels.push_back({.statistics = {{"code_bytes", object.code_bytes},
                                                 {"math_functions", object.needs.math_functions},
                                                 {"scratch_bytes", object.needs.scratch_bytes}}});
    }
    TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
    TCC_ASSIGN_OR_RETURN(compiled.image, LinkSharedObject(objects));
    return compiled;
  }

  StatusOr<std::string> Emit(const LoweredModule& module, const std::string& stage) override {
    std::string text;
    for (const Function& kernel : module.kernels) {
      TCC_ASSIGN_OR_RETURN(std::string part, KernelText(kernel, target_, stage));
      text += part;
    }
    return text;
  }

 private:
  Target target_;
};

}  // namespace

std::unique_ptr<Backend> MakeLlvmBackend(const Target& target) {
  return std::make_unique<LlvmBackend>(target);
}

}  // namespace tcc
