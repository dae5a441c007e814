#include "bench/write_text.h"

#include <fstream>

namespace tcc {

Status WriteText(const std::string& text, const std::string& path) {
  if (path.empty()) {
    fmt::print("{}", text);
    return OkStatus();
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return InvalidInput("cannot write '{}'", path);
  return OkStatus();
}

}  // namespace tcc
