#pragma once

#include <nlohmann/json_fwd.hpp>

#include "search/database/database.h"

namespace tcc {

// Null for 0: nothing was timed.
nlohmann::ordered_json SecondsJson(double seconds);

nlohmann::ordered_json EnvironmentJson(const Environment& environment);

}  // namespace tcc
