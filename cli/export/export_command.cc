#include <absl/strings/ascii.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.h"
#include "cli/export/exported_model.h"
#include "cli/readable_units.h"
#include "cli/standard_error.h"
#include "cli/stop_on_signal.h"
#include "support/file.h"
#include "support/stop.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

struct ExportCommand {
  std::string artefact;
  std::string folder;
  std::string name;
  std::string weights = "linked";
  bool threads = false;
};

// The words in the first line of each text file of an export.
constexpr std::string_view kMark = "Written by tcc export.";

// Names whose files would be the program's or hide headers that a program includes: C's, with what
// C11 added, and POSIX's.
constexpr std::string_view kTakenNames[] = {
    "main",
    // C
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits",
    "locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef",
    "stdint", "stdio", "stdlib", "stdnoreturn", "string", "tgmath", "threads", "time", "uchar",
    "wchar", "wctype",
    // POSIX, and what its headers include on Linux
    "aio", "alloca", "cpio", "dirent", "dlfcn", "endian", "fcntl", "features", "fmtmsg", "fnmatch",
    "ftw", "glob", "grp", "iconv", "langinfo", "libgen", "malloc", "memory", "monetary", "mqueue",
    "ndbm", "netdb", "nl_types", "poll", "pthread", "pwd", "regex", "sched", "search", "semaphore",
    "spawn", "strings", "stropts", "syslog", "tar", "termios", "trace", "ulimit", "unistd", "utime",
    "utmpx", "wordexp"};

bool IsIdentifier(const std::string& name) {
  auto plain = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && !absl::ascii_isdigit(name[0]) && std::ranges::all_of(name, plain);
}

bool IsTaken(const std::string& name) {
  return std::ranges::find(kTakenNames, name) != std::end(kTakenNames);
}

// Returns a name in C for an artefact: its file's, as far as C has such names.
std::string NameOfFile(const std::string& artefact) {
  std::string name = fs::path(artefact).stem().string();
  for (char& c : name) {
    if (!absl::ascii_isalnum(c)) c = '_';
  }
  return IsIdentifier(name) && !IsTaken(name) ? name : "model_" + name;
}

// Returns the model's name in C: the one that is given, or one by the artefact's file.
StatusOr<std::string> NameOf(const ExportCommand& command) {
  const std::string& name = command.name;
  if (name.empty()) return NameOfFile(command.artefact);
  if (!IsIdentifier(name)) {
    return UsageError("--name: '{}' is no identifier of C; expected letters, digits and _", name);
  }
  if (IsTaken(name)) {
    return UsageError(
        "--name: {0}.c or {0}.h is a file of the sources or of C itself; expected "
        "another name",
        name);
  }
  return name;
}

std::string PathIn(const std::string& folder, const ExportedFile& file) {
  return fmt::format("{}/{}", folder, file.name);
}

bool IsMarked(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) && line.find(kMark) != std::string::npos;
}

// Checks that the folder has no file of another origin under the name of one of ours. Files that
// are no text have the origin of the first one, the header.
Status CheckOrigin(const std::vector<ExportedFile>& files, const std::string& folder) {
  std::error_code ignored;
  for (const ExportedFile& file : files) {
    std::string path = PathIn(folder, file);
    const ExportedFile& marked = file.text.empty() ? files.front() : file;
    if (fs::exists(path, ignored) && !IsMarked(PathIn(folder, marked))) {
      return UsageError("{} is there and was not written by tcc export; expected another folder",
                        path);
    }
    TCC_RETURN_IF_ERROR(CheckWritable(path));
  }
  return OkStatus();
}

// A folder for the files of an export until all are there. Removes itself with its content.
class Staging {
 public:
  // An existing folder of the export holds it, since both must be on one file system.
  explicit Staging(const std::string& folder, bool exists)
      : path_(fmt::format("{}{}tcc-export-{}", folder, exists ? "/." : ".", getpid())) {}
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Writes all of the files or, when it is stopped or fails, none. Once all are written, they are
// moved into place; that is not interrupted.
Status WriteFiles(const std::vector<ExportedFile>& files, std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  std::error_code error;
  const bool exists = fs::is_directory(folder, error);
  if (exists) TCC_RETURN_IF_ERROR(CheckOrigin(files, folder));
  auto failed = [&] {
    return InvalidInput("cannot make folder '{}': {}", folder, std::strerror(errno));
  };
  const StopOnSignal signals;
  const Staging staging(folder, exists);
  if (mkdir(staging.path().c_str(), 0777) != 0) return failed();
  for (const ExportedFile& file : files) {
    std::span<const uint8_t> content = file.text.empty() ? file.bytes : AsBytes(file.text);
    TCC_RETURN_IF_ERROR(WriteFileAtomically(PathIn(staging.path(), file), {{content}}));
    TCC_RETURN_IF_ERROR(StopIfRequested(signals.token()));
  }
  if (!exists) {
    return rename(staging.path().c_str(), folder.c_str()) == 0 ? OkStatus() : failed();
  }
  for (const ExportedFile& file : files) {
    std::string path = PathIn(folder, file);
    if (rename(PathIn(staging.path(), file).c_str(), path.c_str()) != 0) {
      return InvalidInput("cannot write '{}': {}", path, std::strerror(errno));
    }
  }
  return OkStatus();
}

Status RunExport(const ExportCommand& command) {
  TCC_ASSIGN_OR_RETURN(std::string name, NameOf(command));
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(command.artefact));
  StatusOr<ExportedModel> made = MakeExportedModel(name, std::move(artefact));
  if (!made.ok()) return Annotate(made.status(), command.artefact);
  ExportedModel& model = *made;
  model.threads = command.threads;
  model.weights_in_file = command.weights == "file";
  TCC_RETURN_IF_ERROR(CheckWeightsFit(model));
  std::vector<ExportedFile> files = ExportedFiles(model);
  TCC_RETURN_IF_ERROR(WriteFiles(files, command.folder));
  uint64_t bytes = 0;
  for (const ExportedFile& file : files) bytes += file.text.size() + file.bytes.size();
  TellError("tcc: wrote {} to {}, {}; make -C {} run builds and runs them\n",
            Counted(files.size(), "file"), command.folder, ReadableBytes(bytes), command.folder);
  return OkStatus();
}

}  // namespace

Action DeclareExport(CommandLine& line) {
  auto command = std::make_shared<ExportCommand>();
  line.AddOption("artefact", command->artefact, "Compiled model").Required().TypeName("OUT.tcc");
  line.AddOption("--c", command->folder, "Folder that gets C sources of the model")
      .Required()
      .TypeName("DIR");
  line.AddOption("--name", command->name, "What names and files begin with; without it OUT's name")
      .TypeName("NAME");
  line.AddOption("--weights", command->weights,
                 "Where the weights are: linked into the program, or in a file that it reads")
      .OneOf({"linked", "file"})
      .TypeName("linked|file")
      .ShowDefault();
  line.AddFlag("--threads", command->threads, "Let the program run loops on several threads");
  return [command] { return RunExport(*command); };
}

}  // namespace tcc
