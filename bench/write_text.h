#pragma once

#include <string>

#include "ir/support/status.h"

namespace tcc {

// To the file, or where `path` is empty to stdout. Error: it cannot be written.
Status WriteText(const std::string& text, const std::string& path);

}  // namespace tcc
