#include "cli/report/report_page.h"

#include <fmt/format.h>

#include "cli/report/html.h"
#include "cli/report/page_sections.h"
#include "cli/report/page_style.h"

namespace tcc {
namespace {

using Section = std::string (*)(const RunData& run, const RunProgress& progress);

// In the order of the page.
constexpr Section kSections[] = {StateSection,    EnvironmentSection, NetworkSection,
                                 SearcherSection, KernelTableSection, KernelPlotSection,
                                 FailureSection,  ScheduleSection};

}  // namespace

std::string ReportPage(const RunData& run, const std::string& name) {
  RunProgress progress = ProgressOf(run);
  std::string title = Escaped("Tuning run " + name);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
      title, PageStyle(progress.searchers.size()));
  for (Section section : kSections) page += section(run, progress);
  return page + "</body>\n</html>\n";
}

}  // namespace tcc
