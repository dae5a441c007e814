#pragma once

#include <cstdint>
#include <string>

#include "support/status.h"

namespace tcc {

// Returns the bytes that this process can still allocate without swapping: the system's available
// memory, or less if the limits of its control groups or of its address space leave less.
int64_t AvailableMemory();

// Returns ResourceExhausted, naming `what` and both sizes, if so many bytes are not available.
// Callers check before work starts: the system overcommits memory, and kills a process that uses
// more than there is.
Status CheckMemoryFor(int64_t bytes, const std::string& what);

}  // namespace tcc
