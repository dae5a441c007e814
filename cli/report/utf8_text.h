#pragma once

#include <string>
#include <string_view>

namespace tcc {

// Returns the text with U+FFFD in place of each byte that is not part of UTF-8.
std::string WithValidUtf8(std::string_view text);

}  // namespace tcc
