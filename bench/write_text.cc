#include "bench/write_text.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace tcc {

Status WriteText(const std::string& text, const std::string& path) {
  if (path.empty()) {
    fmt::print("{}", text);
    return OkStatus();
  }
  // A device or a link is not replaced.
  const std::filesystem::file_status old = std::filesystem::symlink_status(path);
  const bool replace = !exists(old) || is_regular_file(old);
  const std::string place = replace ? path + ".part" : path;
  std::ofstream file(place);
  file << text;
  file.close();
  if (!file || (replace && std::rename(place.c_str(), path.c_str()) != 0)) {
    return InvalidInput("cannot write '{}'", path);
  }
  return OkStatus();
}

}  // namespace tcc
