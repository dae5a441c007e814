#include "support/environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <sstream>

namespace tcc {

std::string EnvironmentVariable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

StatusOr<int> DeviceNumber(const char* name) {
  const std::string word = EnvironmentVariable(name);
  if (word.empty()) return 0;
  int number = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0) {
    return UsageError("{} is '{}'; expected the number of a device", name, word);
  }
  return number;
}

bool IsProgram(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::string FindOnPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path program = std::filesystem::path(folder) / name;
    if (IsProgram(program)) return program.string();
  }
  return "";
}

std::string CacheFolder() {
  if (std::string folder = EnvironmentVariable("TCC_CACHE_DIR"); !folder.empty()) return folder;
  if (std::string folder = EnvironmentVariable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/tcc";
  if (std::string home = EnvironmentVariable("HOME"); !home.empty()) return home + "/.cache/tcc";
  return "";
}

}  // namespace tcc
