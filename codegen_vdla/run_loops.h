#pragma once

#include "codegen_vdla/loop_values.h"
#include "codegen_vdla/refusal.h"

// The control flow of lowered functions whose extents and conditions have values.
namespace tcc {

// Calls visit(body) for each iteration. Unsupported: a loop over threads.
template <typename Visit>
Status ForEachIteration(const For& loop, LoopValues& values, Visit visit) {
  if (IsBlockIdx(loop.for_kind) || IsThreadIdx(loop.for_kind)) {
    return Refuse(Stmt(loop), "expected no loop over threads");
  }
  TCC_ASSIGN_OR_RETURN(const int64_t extent, values.ValueOf(loop.extent, Stmt(loop)));
  int64_t& value = values[loop.var];
  for (int64_t i = 0; i < extent; ++i) {
    value = i;
    TCC_RETURN_IF_ERROR(visit(loop.body));
  }
  return OkStatus();
}

// Calls visit(arm) for the arm that the condition picks, if there is one.
template <typename Visit>
Status TakeBranch(const If& branch, LoopValues& values, Visit visit) {
  TCC_ASSIGN_OR_RETURN(const int64_t holds, values.ValueOf(branch.condition, Stmt(branch)));
  const Stmt& taken = holds != 0 ? branch.then_body : branch.else_body;
  return taken ? visit(taken) : OkStatus();
}

// Calls visit(body) with the variable set.
template <typename Visit>
Status WithValue(const Let& let, LoopValues& values, Visit visit) {
  TCC_ASSIGN_OR_RETURN(values[let.var], values.ValueOf(let.value, Stmt(let)));
  return visit(let.body);
}

}  // namespace tcc
