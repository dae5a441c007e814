#pragma once

#include <map>
#include <string>

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// Parses the text form of printer.h. Errors give line, column, what was expected and what came. A
// standard combiner (combiner.h) may be used by its name without a definition.
StatusOr<Function> ParseFunction(const std::string& text);

// Parses an expression over the given variables; any other name is an error.
StatusOr<Expr> ParseExpr(const std::string& text, const std::map<std::string, Var>& vars);

}  // namespace tcc
