#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "ir/expr/stmt.h"
#include "support/status.h"

namespace tcc {

// Returns a statement as one line for messages.
std::string OneLine(const Stmt& stmt);

// Returns Unsupported with the statement and what was expected.
template <typename... Args>
Status Refuse(const Stmt& stmt, fmt::format_string<Args...> format, Args&&... args) {
  return Unsupported("'{}': {}", OneLine(stmt), fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tcc
