#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "codegen_cuda/emulator/emulator.h"

namespace tcc::emulator {

// A program and who runs it: launches of one program must not overlap.
struct SharedProgram {
  std::unique_ptr<Program> program;
  std::mutex running;
};

// As Program::Compile; a text that was compiled lately is not compiled again.
StatusOr<std::shared_ptr<SharedProgram>> CompiledProgram(const std::string& text);

}  // namespace tcc::emulator
