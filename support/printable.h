#pragma once

#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// The text with every byte that is not printable ASCII as \xHH: what a hostile file wrote, made fit
// for a terminal.
std::string Printable(std::string_view text);

// The same failure with a printable message, which may be of several lines.
Status PrintableStatus(const Status& status);

}  // namespace tcc
