#include "codegen_llvm/shared_object.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>

#include "ir/support/check.h"

LLD_HAS_DRIVER(elf)

namespace tcc {
namespace {

namespace fs = std::filesystem;

// A private folder that is gone at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = (fs::path(base && *base ? base : "/tmp") / "tcc-link-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  // Empty if it could not be made.
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Status WriteFile(const fs::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<int64_t>(bytes.size()));
  file.close();
  if (!file) return Missing("cannot write {}; set TMPDIR to a folder with space", path.string());
  return OkStatus();
}

StatusOr<std::vector<uint8_t>> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file || bytes.empty()) return Missing("cannot read {}", path.string());
  return bytes;
}

// LLD keeps its state in globals: one link at a time. It fails where the folder has no space left.
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
  return Missing("linking failed; set TMPDIR to a folder with space ({})", messages);
}

}  // namespace

StatusOr<std::vector<uint8_t>> LinkSharedObject(const std::vector<KernelObject>& objects) {
  TemporaryFolder folder;
  if (folder.path().empty()) return Missing("cannot make a temporary folder; set TMPDIR");
  fs::path output = folder.path() / "kernels.so";
  std::vector<std::string> arguments = {
      "ld.lld",
      "-shared",
      "-o",
      output.string(),
      "-z",
      "defs",
      "-z",
      "noexecstack",
      "--threads=1",
      "--build-id=none",
      "--hash-style=gnu",
      "--nostdlib",
      "-m",
      "elf_x86_64",
  };
  for (size_t i = 0; i < objects.size(); ++i) {
    fs::path input = folder.path() / (std::to_string(i) + ".o");
    TCC_RETURN_IF_ERROR(WriteFile(input, objects[i].bytes));
    arguments.push_back(input.string());
  }
  TCC_RETURN_IF_ERROR(RunLld(arguments));
  return ReadFile(output);
}

}  // namespace tcc
