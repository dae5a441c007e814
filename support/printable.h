#pragma once

#include <string>
#include <string_view>

#include "support/status.h"

namespace tcc {

// Returns whether a name from a file can be printed and written as JSON: it is UTF-8 without
// overlong forms and surrogates, and has no control characters, which a terminal would act on.
bool IsPlainText(std::string_view text);

// Returns whether the text is UTF-8 without overlong forms and surrogates.
bool IsUtf8(std::string_view text);

// Returns the text with U+FFFD in place of each byte that is not part of UTF-8.
std::string WithValidUtf8(std::string_view text);

// Replaces every byte that is not printable ASCII by \xHH, so that text from a hostile file is safe
// on a terminal.
std::string Printable(std::string_view text);

// Returns the same failure with a printable message; line breaks stay.
Status PrintableStatus(const Status& status);

}  // namespace tcc
