#include "codegen_cuda/emulator/host_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "support/environment.h"

extern char** environ;

namespace tcc::emulator {
namespace {

// The options. -fno-exceptions and -fno-rtti: a kernel has neither. -ffp-contract=off: a product
// and a sum are rounded as the text says, so that numpy is a fair reference. -fno-strict-aliasing
// and -fwrapv: CUDA's compilers treat casts and signed overflow so in practice.
constexpr const char* kOptions[] = {
    "-std=c++20",
    "-w",
    "-fPIC",
    "-shared",
    "-march=native",
    "-fwrapv",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-nostdinc++",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-strict-aliasing",
};

std::string FirstLines(const std::string& path, int count) {
  std::ifstream file(path);
  std::string text;
  std::string line;
  for (int i = 0; i < count && std::getline(file, line); ++i) text += "\n" + line;
  return text;
}

// Runs a program and returns its exit status, or the error that kept it from running. Its output
// goes to the file `log`.
StatusOr<int> RunProgram(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Missing("cannot run {}: {}", words[0], strerror(error));

  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return Missing("cannot wait for {}: {}", words[0], strerror(errno));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Compiles folder/NAME.cc to folder/NAME.so and returns the compiler's exit status. Its output goes
// to folder/NAME.log.
StatusOr<int> Compile(const std::string& compiler, const std::string& folder,
                      const std::string& name, HostOptimization optimization) {
  std::vector<std::string> words = {compiler,
                                    optimization == HostOptimization::kNone ? "-O0" : "-O1"};
  words.insert(words.end(), std::begin(kOptions), std::end(kOptions));
  const std::string path = folder + "/" + name;
  words.insert(words.end(), {"-DTCC_EMULATOR", "-I" + folder, path + ".cc", "-o", path + ".so",
                             "-nodefaultlibs", "-lm", "-lc"});
  return RunProgram(words, path + ".log");
}

// Checks that the compiler accepts the header that every text begins with; if not, the fault is the
// compiler's.
Status ExpectCompiler(const std::string& compiler, const std::string& folder) {
  std::ofstream(folder + "/probe.cc") << "#include \"tcc_emulator.h\"\n";
  TCC_ASSIGN_OR_RETURN(const int exit_status,
                       Compile(compiler, folder, "probe", HostOptimization::kNone));
  if (exit_status == 0) return OkStatus();
  const std::string said = FirstLines(folder + "/probe.log", 12);
  return Missing(
      "{} compiles nothing for the emulated GPU (exit status {}); expected a compiler of C++20; "
      "set TCC_HOST_CXX to one; it said:{}",
      compiler, exit_status, said.empty() ? " nothing" : said);
}

}  // namespace

StatusOr<std::string> FindHostCompiler() {
  if (const char* chosen = getenv("TCC_HOST_CXX"); chosen != nullptr && *chosen != '\0') {
    std::string name = chosen;
    bool is_path = name.find('/') != std::string::npos;
    bool found = is_path ? access(name.c_str(), X_OK) == 0 : !FindOnPath(name).empty();
    if (found) return name;
    return Missing("TCC_HOST_CXX is {}, which is no program that can be run", name);
  }
  for (const char* name : {"g++", "clang++", "c++"}) {
    if (!FindOnPath(name).empty()) return std::string(name);
  }
  return Missing(
      "no host compiler was found; looked in TCC_HOST_CXX and for g++, clang++ and c++ on PATH; "
      "install one or set TCC_HOST_CXX");
}

Status CompileSharedObject(const std::string& compiler, const std::string& folder,
                           HostOptimization optimization) {
  TCC_ASSIGN_OR_RETURN(const int exit_status, Compile(compiler, folder, "kernel", optimization));
  if (exit_status == 0) return OkStatus();
  TCC_RETURN_IF_ERROR(ExpectCompiler(compiler, folder));
  return InvalidInput("{} refused the CUDA text (exit status {}):{}", compiler, exit_status,
                      FirstLines(folder + "/kernel.log", 12));
}

}  // namespace tcc::emulator
