#pragma once

#include <string>

#include "support/status.h"

namespace tcc {

// Writes to the file, or to stdout where `path` is empty. Anyone who reads the file meanwhile, or
// ends this process, finds its old content or all of the text. Error: it cannot be written.
Status WriteText(const std::string& text, const std::string& path);

}  // namespace tcc
