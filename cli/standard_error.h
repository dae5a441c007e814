#pragma once

#include <fmt/format.h>

#include <string>

namespace tcc {

// To standard error, as far as that takes it: a closed or full one changes no exit code.
void PutError(const std::string& text);

template <typename... Args>
void TellError(fmt::format_string<Args...> format, Args&&... args) {
  PutError(fmt::format(format, std::forward<Args>(args)...));
}

// Before any file is opened: of the three standard streams those that are closed become one that
// takes and gives nothing, so that no file of ours gets their numbers and is written to as one of
// them.
void OpenStandardStreams();

}  // namespace tcc
