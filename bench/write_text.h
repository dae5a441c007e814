#pragma once

#include <string>

#include "support/status.h"

namespace tcc {

// To the file, or where `path` is empty to stdout. Who reads a file meanwhile, or ends this
// process, finds what it held before or all of the text. Error: it cannot be written.
Status WriteText(const std::string& text, const std::string& path);

}  // namespace tcc
