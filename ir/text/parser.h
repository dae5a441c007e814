#pragma once

#include <map>
#include <string>

#include "ir/expr/function.h"
#include "support/status.h"

namespace tcc {

// Reads the text form of printer.h. Errors give line, column, what was expected and what came.
// A standard combiner (combiner.h) may be used without its definition, by its name.
StatusOr<Function> ParseFunction(const std::string& text);

// An expression over the given variables; a name that is not among them is an error.
StatusOr<Expr> ParseExpr(const std::string& text, const std::map<std::string, Var>& vars);

}  // namespace tcc
