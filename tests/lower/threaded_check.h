#pragma once

#include <string>

#include "ir/expr/function.h"
#include "tests/programs/compare_programs.h"

// Programs of threads and barriers, judged by the interpreter.
namespace tcc {

// `fn` after the steps of a trace, which must be legal.
Function ScheduledBy(const Function& fn, const std::string& steps);

// Whether one of three thread orders, or the race detector, tells `fn` from `want`; `why` is the
// first difference.
bool IsCaught(const Function& fn, const std::vector<Tensor>& arguments,
              const std::vector<Tensor>& want, std::string* why = nullptr);

// Lowers `scheduled`, verified after every pass, and holds it against `original` under all orders.
Function CheckThreaded(const Function& original, const Function& scheduled);

// `fn` without the `skip`-th statement of that kind.
Function WithoutStatement(const Function& fn, StmtKind kind, int skip);

}  // namespace tcc
