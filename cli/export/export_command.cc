#include <absl/strings/ascii.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/command.h"
#include "cli/export/exported_model.h"
#include "cli/readable_units.h"
#include "cli/standard_error.h"
#include "support/file.h"

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

// Names whose files would hide the program or headers that the sources include.
constexpr std::string_view kTakenNames[] = {"main",  "math",   "stddef", "stdint",
                                            "stdio", "stdlib", "string", "pthread"};

bool IsIdentifier(const std::string& name) {
  auto plain = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && !absl::ascii_isdigit(name[0]) && std::ranges::all_of(name, plain);
}

// Returns the model's name in C: the one that is given, or the artefact's file name as far as C has
// such names.
StatusOr<std::string> NameOf(const ExportCommand& command) {
  std::string name = command.name;
  if (name.empty()) {
    name = fs::path(command.artefact).stem().string();
    for (char& c : name) {
      if (!absl::ascii_isalnum(c)) c = '_';
    }
  }
  if (!IsIdentifier(name)) {
    return UsageError("--name: '{}' is no identifier of C; expected letters, digits and _", name);
  }
  if (std::ranges::find(kTakenNames, name) != std::end(kTakenNames)) {
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

Status WriteFiles(const std::vector<ExportedFile>& files, const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return InvalidInput("cannot make folder '{}': {}", folder, std::strerror(errno));
  }
  TCC_RETURN_IF_ERROR(CheckOrigin(files, folder));
  for (const ExportedFile& file : files) {
    std::span<const uint8_t> content = file.text.empty() ? file.bytes : AsBytes(file.text);
    TCC_RETURN_IF_ERROR(WriteFileAtomically(PathIn(folder, file), {{content}}));
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
