#pragma once

#include <cstdint>
#include <string>

#include "support/status.h"

namespace tcc {

// Bytes that this process can still take without swapping: what the system says is available, and
// what limits of its control groups and of its address space leave of it.
int64_t AvailableMemory();

// Memory is handed out on credit, and a process that uses more than there is gets killed: so ask
// before work starts. ResourceExhausted, naming `what` and both sizes, where that does not fit.
Status CheckMemoryFor(int64_t bytes, const std::string& what);

}  // namespace tcc
