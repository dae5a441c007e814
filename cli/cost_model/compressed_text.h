#pragma once

#include <string>

#include "support/status.h"

namespace tcc {

// Reads the text of a file and unpacks it if its name ends in .xz or .zst. Error: the file cannot
// be read, or is damaged or cut off.
StatusOr<std::string> ReadCompressedText(const std::string& path);

}  // namespace tcc
