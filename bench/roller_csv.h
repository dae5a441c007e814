#pragma once

namespace tcc {

// The content of bench/suites/roller.csv, which is linked in.
extern const char* const kRollerCsv;

}  // namespace tcc
