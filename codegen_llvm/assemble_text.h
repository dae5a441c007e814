#pragma once

#include <string>

#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Checks the text that Backend::Emit printed for one kernel: stage "source" must parse and verify
// as LLVM IR, "asm" must assemble for the target. If not, the error is Internal with LLVM's
// message.
Status AssembleText(const std::string& text, const std::string& stage, const Target& target);

}  // namespace tcc
