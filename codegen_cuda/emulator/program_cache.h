#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "codegen_cuda/emulator/emulator.h"

namespace tcc::emulator {

// A program and the lock of its launches, which must not overlap.
struct SharedProgram {
  std::unique_ptr<Program> program;
  std::mutex running;
};

// Compiles a text as Program::Compile does; a text that was compiled recently is not compiled
// again.
StatusOr<std::shared_ptr<SharedProgram>> CompiledProgram(const std::string& text);

}  // namespace tcc::emulator
