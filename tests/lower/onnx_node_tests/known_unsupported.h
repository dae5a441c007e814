#pragma once

#include <string>
#include <string_view>

namespace tcc {

// Why a test whose operators tcc supports is not expected to pass; nullptr where it is.
const char* ReasonNotToRun(std::string_view test);

}  // namespace tcc
