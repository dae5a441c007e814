#pragma once

#include <filesystem>
#include <string>

namespace tcc {

// Returns the value of an environment variable; "" where it is not set.
std::string EnvironmentVariable(const char* name);

// Returns whether the path is a regular file that this user may execute.
bool IsProgram(const std::filesystem::path& path);

}  // namespace tcc
