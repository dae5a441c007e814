#pragma once

#include <string>

namespace tcc::test {

// Adds a line to the file that TCC_FAKE_LOG names, if any.
void LogCall(const std::string& line);

}  // namespace tcc::test
