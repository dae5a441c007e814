#include <filesystem>
#include <memory>
#include <span>

#include "cli/command.h"
#include "cli/report/report_data.h"
#include "cli/report/report_page.h"
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

Status RunReport(const ReportCommand& command) {
  for (const std::string& file : {RunSummaryPath(command.run), RunEventsPath(command.run)}) {
    if (IsSameFile(file, command.output)) {
      return UsageError("-o {}: the run needs that file; give another one", command.output);
    }
  }
  TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(RunData run, ReadRun(command.run));
  std::string page = ReportPage(run, NameOfRun(command.run));
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(page.data()), page.size());
  return WriteFileAtomically(command.output, {&bytes, 1});
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
