#pragma once

#include <string>
#include <string_view>

#include "ir/expr/stmt.h"

// Where a pipelined loop issues its copies.
namespace tcc {

// Between the statements of a pipelined loop's body that use its copies: here those into the buffer
// of this name are issued, for a later iteration. An intrinsic that does nothing, `intrinsic "issue
// A_s" {}`, until the pass PipelineLoops puts the copies there.
Stmt IssueMark(const std::string& buffer);

// The name of the buffer; empty where the statement is no mark.
std::string_view IssuedBuffer(const Stmt& stmt);

}  // namespace tcc
