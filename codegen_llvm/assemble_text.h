#pragma once

#include <string>

#include "support/status.h"
#include "support/target.h"

namespace tcc {

// Has LLVM read what Backend::Emit printed for one kernel: stage "source" must parse and verify as
// LLVM IR, "asm" must assemble for the target. Internal with LLVM's message where it does not.
Status AssembleText(const std::string& text, const std::string& stage, const Target& target);

}  // namespace tcc
