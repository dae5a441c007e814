#pragma once

#include <string_view>

namespace tcc {

// Returns whether a name from a file can be printed and written as JSON: it is UTF-8 without
// overlong forms and surrogates, and has no control characters, which a terminal would act on.
bool IsPlainText(std::string_view text);

}  // namespace tcc
