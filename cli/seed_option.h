#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace tcc {

// `name` ("--seed") with a whole number from 0 to 2^64 - 1; what is none, -1 too, is refused.
CLI::Option* AddSeedOption(CLI::App& app, const std::string& name, uint64_t& seed,
                           const std::string& description);

}  // namespace tcc
