#pragma once

#include <string>

namespace tcc::test {

// Adds a line to the file that TCC_FAKE_LOG names, if any; never returns from the call that
// TCC_FAKE_HANG names.
void LogCall(const std::string& line);

}  // namespace tcc::test
