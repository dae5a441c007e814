#pragma once

#include <string_view>

namespace tcc {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace tcc
