#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <span>

#include "cli/command.h"
#include "cli/report/html.h"
#include "cli/report/page_sections.h"
#include "cli/report/page_style.h"
#include "cli/report/report_data.h"
#include "support/file.h"

namespace tcc {
namespace {

struct ReportCommand {
  std::string run;
  std::string output;
};

// The last part of the folder's absolute path.
std::string NameOfRun(const std::string& folder) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::weakly_canonical(folder, error);
  return error ? folder : path.filename().string();
}

using Section = std::string (*)(const RunData& run, const RunProgress& progress);

// In the order of the page.
constexpr Section kSections[] = {StateSection,    EnvironmentSection, NetworkSection,
                                 SearcherSection, KernelTableSection, KernelPlotSection,
                                 FailureSection,  ScheduleSection};

// Returns a page of HTML that shows a run. It has no scripts and loads nothing. `name` is the
// run's.
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

Status RunReport(const ReportCommand& command) {
  for (const std::string& file : {RunSummaryPath(command.run), RunEventsPath(command.run)}) {
    if (IsSameFile(file, command.output)) {
      return UsageError("-o {}: the run needs that file; give another one", command.output);
    }
  }
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(RunData run, ReadRun(command.run));
  std::string page = ReportPage(run, NameOfRun(command.run));
  return WriteFileAtomically(command.output, page);
}

}  // namespace

Action DeclareReport(CommandLine& line) {
  auto command = std::make_shared<ReportCommand>();
  line.AddOption("run", command->run, "Folder that tcc tune --run made").Required().TypeName("RUN");
  line.AddOption("-o,--output", command->output, "Page of HTML to write")
      .Required()
      .TypeName("OUT.html");
  return [command] { return RunReport(*command); };
}

}  // namespace tcc
