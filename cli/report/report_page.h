#pragma once

#include <string>

#include "cli/report/report_data.h"

namespace tcc {

// Returns a page of HTML that shows a run. It has no scripts and loads nothing. `name` is the
// run's.
std::string ReportPage(const RunData& run, const std::string& name);

}  // namespace tcc
