#include "codegen_cuda/nvrtc/cuda_programs.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace tcc;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tcc-cache-" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  // The only file in it.
  fs::path File() const { return fs::directory_iterator(path_ / "nvrtc")->path(); }

 private:
  fs::path path_;
};

const std::string kSettings = "NVRTC 13.0 of 7 bytes, sm_86, --std=c++17";

Cubin Sample() {
  Cubin cubin;
  cubin.settings = kSettings;
  cubin.image = {1, 2, 3, 0, 255};
  cubin.ptx = ".version 9.0\n";
  cubin.log =
      "ptxas info    : Compiling entry function 'k' for 'sm_86'\n"
      "ptxas info    : Used 12 registers, used 0 barriers\n";
  cubin.kernels = ParseResources(cubin.log);
  return cubin;
}

}  // namespace

TEST_CASE("a cached program comes back with its resources", "[codegen_cuda][cache]") {
  Folder folder;
  ProgramCache cache(folder.path());
  CHECK(!cache.Find(kSettings, "text"));
  cache.Put("text", Sample());
  std::optional<Cubin> found = ProgramCache(folder.path()).Find(kSettings, "text");
  REQUIRE(found);
  CHECK(found->image == Sample().image);
  CHECK(found->ptx == Sample().ptx);
  CHECK(found->log == Sample().log);
  CHECK(found->settings == kSettings);
  REQUIRE(found->kernels.size() == 1);
  CHECK(found->kernels[0].registers == 12);
}

TEST_CASE("another text or other settings are not found", "[codegen_cuda][cache]") {
  Folder folder;
  ProgramCache cache(folder.path());
  cache.Put("text", Sample());
  CHECK(!cache.Find(kSettings, "another text"));
  CHECK(!cache.Find("NVRTC 13.1 of 7 bytes, sm_86, --std=c++17", "text"));
}

TEST_CASE("a cache knows the compilers that have filled it", "[codegen_cuda][cache]") {
  Folder folder;
  ProgramCache cache(folder.path());
  CHECK(cache.Compilers().empty());
  cache.AddCompiler("NVRTC 13.0 of 7 bytes");
  cache.AddCompiler("NVRTC 12.9 of 8 bytes");
  cache.AddCompiler("NVRTC 13.0 of 7 bytes");
  const std::vector<std::string> both = {"NVRTC 12.9 of 8 bytes", "NVRTC 13.0 of 7 bytes"};
  CHECK(ProgramCache(folder.path()).Compilers() == both);
  for (const fs::directory_entry& file : fs::directory_iterator(fs::path(folder.path()) / "nvrtc"))
    std::ofstream(file.path()) << "damaged";
  CHECK(cache.Compilers().empty());
  cache.AddCompiler(both[0]);
  CHECK(cache.Compilers() == std::vector{both[0]});
  for (const char* none : {"", "/proc/no/such/folder"}) {
    ProgramCache(none).AddCompiler(both[0]);
    CHECK(ProgramCache(none).Compilers().empty());
  }
}

TEST_CASE("a damaged cache file is a miss and is replaced", "[codegen_cuda][cache]") {
  Folder folder;
  ProgramCache cache(folder.path());
  cache.Put("text", Sample());
  auto size = static_cast<int64_t>(fs::file_size(folder.File()));
  for (int64_t at = 0; at < size; ++at) {
    std::fstream file(folder.File(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x10));
    file.close();
    INFO("byte " << at);
    CHECK(!cache.Find(kSettings, "text"));
    cache.Put("text", Sample());
    CHECK(cache.Find(kSettings, "text"));
  }
  for (int64_t bytes : {int64_t{0}, int64_t{5}, size / 2, size - 1}) {
    fs::resize_file(folder.File(), static_cast<uintmax_t>(bytes));
    INFO(bytes << " bytes");
    CHECK(!cache.Find(kSettings, "text"));
    cache.Put("text", Sample());
  }
}

TEST_CASE("a cache without a folder, or one that cannot be made, finds nothing",
          "[codegen_cuda][cache]") {
  for (const char* folder : {"", "/proc/no/such/folder"}) {
    ProgramCache cache(folder);
    cache.Put("text", Sample());
    CHECK(!cache.Find(kSettings, "text"));
  }
}
