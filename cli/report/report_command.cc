#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "cli/report/artefact_page.h"
#include "cli/report/page.h"
#include "cli/report/page_sections.h"
#include "cli/report/report_data.h"
#include "cli/standard_error.h"
#include "cli/threads_option.h"
#include "support/file.h"

namespace tcc {
namespace {

struct ReportCommand {
  std::string input;
  std::string output;
  bool time = false;
  int threads = 0;
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

// Returns a page that shows a run. `name` is the run's.
std::string RunPage(const RunData& run, const std::string& name) {
  RunProgress progress = ProgressOf(run);
  std::string content;
  for (Section section : kSections) content += section(run, progress);
  return HtmlPage("Tuning run " + name, progress.searchers.size(), content);
}

Status ReportRun(const ReportCommand& command) {
  if (command.time) return UsageError("--time: expected a compiled model, got '{}'", command.input);
  for (const std::string& file : {RunSummaryPath(command.input), RunEventsPath(command.input)}) {
    if (IsSameFile(file, command.output)) {
      return UsageError("-o {}: the run needs that file; give another one", command.output);
    }
  }
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(RunData run, ReadRun(command.input));
  return WriteFileAtomically(command.output, RunPage(run, NameOfRun(command.input)));
}

Status ReportArtefact(const ReportCommand& command) {
  if (IsSameFile(command.input, command.output)) {
    return UsageError("-o {}: that is the compiled model; give another file", command.output);
  }
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(Artefact artefact, ReadArtefact(command.input));
  std::optional<Notes> notes;
  if (!artefact.notes.bytes.empty()) {
    TCC_ASSIGN_OR_RETURN(notes, NotesOf(artefact, command.input));
  }
  std::optional<KernelTimes> times;
  if (command.time) {
    TCC_ASSIGN_OR_RETURN(times, TimeKernels(artefact, ThreadCount(command.threads)));
    if (!times->warning.empty()) TellError("tcc: warning: {}\n", times->warning);
  }
  return WriteFileAtomically(command.output, ArtefactPage(artefact, notes, times));
}

// Makes the page of a run or a compiled model; refuses another file by its kind.
Status RunReport(const ReportCommand& command) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(command.input, ignored)) return ReportRun(command);
  if (IsArtefact(command.input)) return ReportArtefact(command);
  Status refused = ReadArtefact(command.input).status();
  return WithMessage(refused, fmt::format("{}; expected {}", Message(refused), kReportInputs));
}

}  // namespace

Action DeclareReport(CommandLine& line) {
  auto command = std::make_shared<ReportCommand>();
  line.AddOption("input", command->input, "Folder that tcc tune --run made, or a compiled model")
      .Required()
      .TypeName("RUN|OUT.tcc");
  line.AddOption("-o,--output", command->output, "Page of HTML to write")
      .Required()
      .TypeName("OUT.html");
  line.AddFlag("--time", command->time, "Measure the kernels of a compiled model on this machine");
  AddThreadsOption(line, command->threads);
  return [command] { return RunReport(*command); };
}

}  // namespace tcc
