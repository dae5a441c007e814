#include "codegen_cuda/cubin/disassemble.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <vector>

#include "support/environment.h"
#include "support/file.h"

extern char** environ;

namespace tcc {
namespace {

namespace fs = std::filesystem;

constexpr char kName[] = "nvdisasm";

void AddVenv(const fs::path& venv, std::vector<fs::path>& folders) {
  std::error_code ignored;
  for (const fs::directory_entry& python : fs::directory_iterator(venv / "lib", ignored)) {
    folders.push_back(python.path() / "site-packages/nvidia/cu13/bin");
  }
}

std::vector<fs::path> Folders() {
  std::vector<fs::path> folders;
  if (std::string home = EnvironmentVariable("CUDA_HOME"); !home.empty())
    folders.push_back(home + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  std::istringstream path(EnvironmentVariable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) folders.emplace_back(folder);
  if (std::string named = EnvironmentVariable("TCC_VENV"); !named.empty()) {
    AddVenv(named, folders);
    return folders;
  }
  AddVenv("build/venv", folders);
  std::error_code ignored;
  AddVenv(fs::read_symlink("/proc/self/exe", ignored).parent_path() / "../../venv", folders);
  return folders;
}

Status SystemError(std::string_view what) {
  return Missing("{}: {}", what, strerror(errno));
}

StatusOr<std::string> ReadAll(int file) {
  std::string text;
  std::array<char, 65536> piece;
  while (true) {
    const ssize_t bytes = read(file, piece.data(), piece.size());
    if (bytes == 0) return text;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return SystemError("cannot read what nvdisasm says");
    text.append(piece.data(), static_cast<size_t>(bytes));
  }
}

// Starts the program with `input` as descriptor 3, since it reads only files; it writes to
// `output`.
StatusOr<pid_t> Start(const std::string& program, int input, int output) {
  constexpr int kInput = 3;
  std::vector<std::string> words = {program, "--print-code", "/proc/self/fd/3"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, input, kInput);
  pid_t process = 0;
  errno = posix_spawn(&process, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) return SystemError("cannot run " + program);
  return process;
}

Status WaitFor(pid_t process, const std::string& program) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return SystemError("cannot wait for " + program);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return OkStatus();
  return Missing("{} ended with {}", program,
                 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

}  // namespace

StatusOr<std::string> FindDisassembler() {
  if (std::string given = EnvironmentVariable("TCC_NVDISASM"); !given.empty()) {
    if (IsProgram(given)) return given;
    return Missing("TCC_NVDISASM is {}, which is no program that can be run", given);
  }
  for (const fs::path& folder : Folders()) {
    if (IsProgram(folder / kName)) return (folder / kName).string();
  }
  return Missing(
      "nvdisasm was not found; looked in TCC_NVDISASM, CUDA_HOME, /usr/local/cuda/bin, PATH and "
      "the "
      "venv ($TCC_VENV or build/venv); run scripts/setup.sh or set TCC_NVDISASM");
}

StatusOr<std::string> Disassemble(const std::string& disassembler, std::span<const uint8_t> cubin) {
  FileDescriptor input(memfd_create("cubin", MFD_CLOEXEC));
  if (input.get() < 0) return SystemError("no memory for machine code");
  if (!WriteAll(input.get(), cubin)) return SystemError("cannot hand machine code to nvdisasm");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("no pipe to " + disassembler);
  FileDescriptor output(ends[0]), written(ends[1]);
  TCC_ASSIGN_OR_RETURN(pid_t process, Start(disassembler, input.get(), written.get()));
  written.Close();
  StatusOr<std::string> text = ReadAll(output.get());
  TCC_RETURN_IF_ERROR(WaitFor(process, disassembler));
  return text;
}

}  // namespace tcc
