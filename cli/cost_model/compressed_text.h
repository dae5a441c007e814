#pragma once

#include <string>

#include "support/status.h"

namespace tcc {

// The text of a file; one that ends in .xz or .zst is unpacked. Error: the file cannot be read, or
// is damaged or cut off.
StatusOr<std::string> ReadCompressedText(const std::string& path);

}  // namespace tcc
