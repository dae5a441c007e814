#pragma once

#include <string>

namespace tcc {

// Returns the folder that caches are kept in: $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else
// ~/.cache/tcc; "" where none of these variables is set. The folder need not exist yet.
std::string CacheFolder();

}  // namespace tcc
