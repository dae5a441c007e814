#pragma once

#include <filesystem>
#include <string>

#include "support/status.h"

namespace tcc {

// Returns the value of an environment variable; "" where it is not set.
std::string EnvironmentVariable(const char* name);

// Returns the value of a variable that chooses a device by its number; 0 where it is not set.
// FailedPrecondition: it is not a number.
StatusOr<int> DeviceNumber(const char* name);

// Returns whether the path is a regular file that this user may execute.
bool IsProgram(const std::filesystem::path& path);

// Returns the path of the program in a folder of $PATH, or of the system's where that is not set;
// "" if it is in none.
std::string FindOnPath(const std::string& name);

// Returns the folder that caches are kept in: $TCC_CACHE_DIR, else $XDG_CACHE_HOME/tcc, else
// ~/.cache/tcc; "" where none of these variables is set. The folder need not exist yet.
std::string CacheFolder();

}  // namespace tcc
