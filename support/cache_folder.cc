#include "support/cache_folder.h"

#include "support/environment.h"

namespace tcc {
std::string CacheFolder() {
  if (std::string folder = EnvironmentVariable("TCC_CACHE_DIR"); !folder.empty()) return folder;
  if (std::string folder = EnvironmentVariable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/tcc";
  if (std::string home = EnvironmentVariable("HOME"); !home.empty()) return home + "/.cache/tcc";
  return "";
}

}  // namespace tcc
