#pragma once

#include "cli/command_line.h"

namespace tcc {

// Adds --threads; 0 stands for every CPU that the process may use (runtime/executor/usable_cpus.h).
void AddThreadsOption(CommandLine& line, int& threads);
// Returns the number of threads that the option stands for, at least 1.
int ThreadCount(int threads);

}  // namespace tcc
