#include "ir/support/cache_folder.h"

#include <cstdlib>

namespace tcc {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string CacheFolder() {
  if (std::string folder = Variable("TCC_CACHE_DIR"); !folder.empty()) return folder;
  if (std::string folder = Variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/tcc";
  if (std::string home = Variable("HOME"); !home.empty()) return home + "/.cache/tcc";
  return "";
}

}  // namespace tcc
