#pragma once

#include <string>

#include "cli/report/run_progress.h"

// Parts of the page of a run, as HTML.
namespace tcc {

// run_sections.cc
std::string StateSection(const RunData& run, const RunProgress& progress);
std::string EnvironmentSection(const RunData& run, const RunProgress& progress);
std::string FailureSection(const RunData& run, const RunProgress& progress);
// NetworkSection plots the time of the network and the gain of searchers; SearcherSection is a
// table of the searchers.
std::string NetworkSection(const RunData& run, const RunProgress& progress);
std::string SearcherSection(const RunData& run, const RunProgress& progress);

// kernel_sections.cc
std::string KernelTableSection(const RunData& run, const RunProgress& progress);
std::string KernelPlotSection(const RunData& run, const RunProgress& progress);
std::string ScheduleSection(const RunData& run, const RunProgress& progress);

// Returns the names of searchers with the colours that plots have them in.
std::string SearcherLegend(const RunProgress& progress);

}  // namespace tcc
