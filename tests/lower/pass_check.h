#pragma once

#include <string>

#include "ir/expr/function.h"
#include "ir/interpret/interpreter.h"

// Passes held against functions written as text.
namespace tcc {

using PassFunction = Function (*)(const Function&);

Function ParsedFunction(const std::string& text);

// `pass` turns the text `before` into the text `after` (names aside, both simplified), and what
// comes out verifies and computes what `before` computes.
void CheckPass(PassFunction pass, const std::string& before, const std::string& after);

// The second half alone, for any two functions of one signature; flat parameters count as the
// tensors they came from. `options` are for `got`.
void CheckSameResult(const Function& got, const Function& want,
                     const InterpretOptions& options = {});

// `fn` through the whole list, verified after each pass; the result is compared with `fn`'s.
Function CheckLowered(const Function& fn);

// How often a statement, or an expression, of that kind occurs.
int CountKind(const Function& fn, StmtKind kind);
int CountKind(const Function& fn, ExprKind kind);

}  // namespace tcc
