#pragma once

#include <nlohmann/json_fwd.hpp>

#include "search/database/database.h"

namespace tcc {

// Returns the seconds, or null for 0, which means that nothing was timed.
nlohmann::ordered_json SecondsJson(double seconds);

nlohmann::ordered_json EnvironmentJson(const Environment& environment);

}  // namespace tcc
