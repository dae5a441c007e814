#pragma once

#include <string>

namespace tcc {

// Where caches are kept: $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else ~/.cache/tcc; "" where none
// of these variables is set. It need not exist yet.
std::string CacheFolder();

}  // namespace tcc
