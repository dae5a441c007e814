#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tcc {

// Prints for people the object that `tcc inspect --json` prints: values beside their names, lists
// as tables, work and sizes in readable units, no column of nothing but null and 0.
void PrintInspection(const nlohmann::ordered_json& summary);

}  // namespace tcc
