#include "support/cuda/cuda_library.h"

#include <dlfcn.h>
#include "support/environment.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace tcc {
namespace {

namespace fs = std::filesystem;

void AddToolkit(const std::string& home, const CudaLibrary& library,
                std::vector<std::string>& folders) {
  for (const char* folder : {"lib64", "lib"}) folders.push_back(home + "/" + folder);
  for (const char* folder : library.toolkit_folders) folders.push_back(home + "/" + folder);
}

// Returns lib/python3.*/site-packages/nvidia/cu13/lib and the other library folders of a venv.
std::vector<std::string> WheelFolders(const fs::path& venv, const CudaLibrary& library) {
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const fs::directory_entry& python : fs::directory_iterator(venv / "lib", ignored)) {
    std::vector<std::string> wheels = {"cu13/lib"};
    wheels.insert(wheels.end(), library.wheel_folders.begin(), library.wheel_folders.end());
    for (const std::string& wheel : wheels) {
      fs::path folder = python.path() / "site-packages/nvidia" / wheel;
      if (fs::is_directory(folder, ignored)) folders.push_back(folder.string());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

std::vector<fs::path> Venvs() {
  if (std::string named = EnvironmentVariable("TCC_VENV"); !named.empty()) return {named};
  std::vector<fs::path> venvs = {"build/venv"};
  std::error_code ignored;
  fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  venvs.push_back(program.parent_path() / "../../venv");
  return venvs;
}

std::vector<std::string> CandidatePaths(const CudaLibrary& library) {
  if (std::string given = EnvironmentVariable(library.variable); !given.empty()) return {given};
  std::vector<std::string> folders;
  if (std::string home = EnvironmentVariable("CUDA_HOME"); !home.empty())
    AddToolkit(home, library, folders);
  AddToolkit("/usr/local/cuda", library, folders);
  folders.emplace_back("");  // the linker's path
  for (const fs::path& venv : Venvs()) {
    for (std::string& folder : WheelFolders(venv, library)) folders.push_back(std::move(folder));
  }
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    for (const char* name : library.names) {
      paths.push_back(folder.empty() ? name : folder + "/" + name);
    }
  }
  return paths;
}

Status NotFound(const CudaLibrary& library) {
  if (std::string given = EnvironmentVariable(library.variable); !given.empty()) {
    return Missing("{} is {}, which cannot be opened as a library", library.variable, given);
  }
  return Missing(
      "{} was not found; looked in {}, CUDA_HOME, /usr/local/cuda/lib64, the linker's path and the "
      "venv ($TCC_VENV or build/venv); run scripts/setup.sh or set {}",
      library.names[0], library.variable, library.variable);
}

}  // namespace

StatusOr<OpenedLibrary> OpenCudaLibrary(const CudaLibrary& library) {
  for (const std::string& path : CandidatePaths(library)) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return OpenedLibrary{handle, path};
  }
  return NotFound(library);
}

}  // namespace tcc
