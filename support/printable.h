#pragma once

#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// Replaces every byte that is not printable ASCII by \xHH, so that text from a hostile file is safe
// on a terminal.
std::string Printable(std::string_view text);

// Returns the same failure with a printable message; line breaks stay.
Status PrintableStatus(const Status& status);

}  // namespace tcc
