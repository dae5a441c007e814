#pragma once

namespace tcc {

// bench/suites/roller.csv, which is linked in.
extern const char* const kRollerCsv;

}  // namespace tcc
