#pragma once

#include <string>

namespace tcc::test {

// Runs a lowered function in text form on the emulator, which must give what the interpreter gives.
void CheckAsInterpreted(const std::string& text);

}  // namespace tcc::test
