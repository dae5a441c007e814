#pragma once

#include <fmt/format.h>

#include <string>

namespace tcc {

// Writes to standard error, as far as it takes the text: a closed or full one changes no exit code.
void PutError(const std::string& text);

template <typename... Args>
void TellError(fmt::format_string<Args...> format, Args&&... args) {
  PutError(fmt::format(format, std::forward<Args>(args)...));
}

// Opens each closed one of the three standard streams as one that takes and gives nothing. Must
// come before any file is opened, or a file of ours would get the number of a standard stream and
// be written to in its place.
void OpenStandardStreams();

}  // namespace tcc
