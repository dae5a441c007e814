#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/measurement_json.h"
#include "cli/print_json.h"
#include "cli/readable_units.h"
#include "cli/standard_error.h"
#include "cli/text_table.h"
#include "search/database/database_report.h"
#include "search/database/database_text.h"
#include "search/database/import_results.h"
#include "support/check.h"
#include "support/file.h"
#include "support/temporary_folder.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;
using Access = Database::Access;

constexpr const char* kStandardStream = "-";

// The arguments of all subcommands.
struct DbCommand {
  std::string file;
  std::string output = kStandardStream;
  std::string input;
  std::vector<std::string> others;
  bool json = false;
  bool keep_measurer = false;
  std::string batch;  // that `input` has results of; "": `input` is an export
};

StatusOr<Database> OpenAndWarn(const std::string& path, Access access) {
  TCC_ASSIGN_OR_RETURN(Database database, Database::Open(path, access));
  for (const std::string& warning : database.warnings()) TellError("tcc: warning: {}\n", warning);
  return database;
}

Status RunStats(const DbCommand& command) {
  TCC_ASSIGN_OR_RETURN(Database database, OpenAndWarn(command.file, Access::kRead));
  TCC_ASSIGN_OR_RETURN(DatabaseStats stats, StatsOf(database));
  const std::pair<const char*, int64_t> counts[] = {
      {"workloads", stats.workloads},       {"variants", stats.variants},
      {"sketches", stats.sketches},         {"candidates", stats.candidates},
      {"environments", stats.environments}, {"measurements", stats.measurements},
  };
  Json json = Json::object();
  std::vector<std::vector<std::string>> rows = {{"", ""}};
  for (const auto& [name, count] : counts) {
    json[name] = count;
    rows.push_back({name, std::to_string(count)});
  }
  json["measurements_by_status"] = stats.measurements_by_status;
  for (const auto& [status, count] : stats.measurements_by_status) {
    rows.push_back({"  " + status, std::to_string(count)});
  }
  if (command.json) {
    PrintJson("tcc.db-stats/1", json);
  } else {
    fmt::print("{}", TextTable(rows, ""));
  }
  return OkStatus();
}

// "native, znver4, 8 threads, local, rotate-64M". A device's text begins with its name.
std::string InShort(const Environment& environment) {
  return fmt::format("{}, {}, {} thread{}, {}, {}", environment.target,
                     environment.device.substr(0, environment.device.find(',')),
                     environment.threads, environment.threads == 1 ? "" : "s", environment.measurer,
                     environment.policy);
}

std::string BestTable(const std::vector<BestRow>& best) {
  std::vector<std::vector<std::string>> rows = {
      {"constructed us", "best us", "gain", "trials", "by", "measured on", "kernel"}};
  for (const BestRow& row : best) {
    bool compared = row.constructed_seconds > 0 && row.best_seconds > 0;
    rows.push_back(
        {ReadableMicroseconds(row.constructed_seconds), ReadableMicroseconds(row.best_seconds),
         compared ? fmt::format("{:.2f}x", row.constructed_seconds / row.best_seconds) : "-",
         std::to_string(row.trials), row.searcher.empty() ? "-" : row.searcher,
         InShort(row.environment), row.name});
  }
  return TextTable(rows, "");
}

Json BestJson(const std::vector<BestRow>& best) {
  Json rows = Json::array();
  for (const BestRow& row : best) {
    rows.push_back({{"name", row.name},
                    {"workload", row.workload},
                    {"constructed_seconds", SecondsJson(row.constructed_seconds)},
                    {"best_seconds", SecondsJson(row.best_seconds)},
                    {"trials", row.trials},
                    {"searcher", row.searcher.empty() ? Json() : Json(row.searcher)},
                    {"environment", EnvironmentJson(row.environment)}});
  }
  return rows;
}

Status RunBest(const DbCommand& command) {
  TCC_ASSIGN_OR_RETURN(Database database, OpenAndWarn(command.file, Access::kRead));
  TCC_ASSIGN_OR_RETURN(std::vector<BestRow> best, BestRowsOf(database));
  if (command.json) {
    PrintJson(BestJson(best));
  } else {
    fmt::print("{}", BestTable(best));
  }
  return OkStatus();
}

Status RunExport(const DbCommand& command) {
  TCC_ASSIGN_OR_RETURN(Database database, OpenAndWarn(command.file, Access::kRead));
  bool to_file = command.output != kStandardStream;
  if (to_file && IsSameFile(command.output, command.file)) {
    return UsageError("-o {}: that is the database, which is read; expected another file",
                      command.output);
  }
  if (to_file) TCC_RETURN_IF_ERROR(CheckWritable(command.output));
  TCC_ASSIGN_OR_RETURN(std::string text, ExportText(database));
  if (!to_file) {
    fmt::print("{}", text);
    return OkStatus();
  }
  return WriteFileAtomically(command.output, text);
}

void TellSummary(const std::string& source, const ImportSummary& summary) {
  fmt::print("{}: {} new measurements, {} known; {} new workloads, {} new variants\n", source,
             summary.records, summary.known, summary.workloads, summary.variants);
}

StatusOr<std::string> ReadStandardInput() {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (size_t bytes = std::fread(buffer.data(), 1, buffer.size(), stdin)) {
    text.append(buffer.data(), bytes);
  }
  if (std::ferror(stdin)) return InvalidInput("cannot read standard input");
  return text;
}

StatusOr<std::string> ReadFile(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  return std::string(file.bytes.begin(), file.bytes.end());
}

bool IsAbsentOrEmpty(const std::string& path) {
  std::error_code error;
  uintmax_t bytes = std::filesystem::file_size(path, error);
  return error || bytes == 0;
}

// Imports into a database that is then removed: a new file is not made for an export that is
// refused, and one that was made is not removed while another process may use it.
Status Rehearse(const std::string& text, const DatabaseImportOptions& options) {
  TCC_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Make("a temporary database"));
  TCC_ASSIGN_OR_RETURN(Database database,
                       Database::Open(temporary / "tuning.db", Access::kReadWrite));
  return ImportText(database, text, options).status();
}

Status RunImport(const DbCommand& command) {
  bool from_file = command.input != kStandardStream;
  std::string source = from_file ? command.input : "standard input";
  TCC_ASSIGN_OR_RETURN(std::string text, from_file ? ReadFile(command.input) : ReadStandardInput());
  DatabaseImportOptions options{.keep_measurer = command.keep_measurer};
  if (!command.batch.empty()) {
    TCC_ASSIGN_OR_RETURN(CandidateBatch batch, CandidateBatch::Read(command.batch));
    StatusOr<std::string> joined = ExportOfResults(batch, text);
    if (!joined.ok()) return Annotate(joined.status(), source);
    text = *std::move(joined);
    options.keep_measurer = true;
    source += ", joined with " + command.batch;
  }
  if (IsAbsentOrEmpty(command.file)) {
    TCC_RETURN_IF_ERROR(CheckWritable(command.file));
    TCC_RETURN_IF_ERROR(Annotate(Rehearse(text, options), source));
  }
  TCC_ASSIGN_OR_RETURN(Database database, OpenAndWarn(command.file, Access::kReadWrite));
  StatusOr<ImportSummary> summary = ImportText(database, text, options);
  if (!summary.ok()) return Annotate(summary.status(), source);
  TellSummary(source, *summary);
  return OkStatus();
}

Status RunMerge(const DbCommand& command) {
  // A database that cannot be read is told before anything is written.
  for (const std::string& other : command.others) {
    TCC_RETURN_IF_ERROR(OpenAndWarn(other, Access::kRead).status());
  }
  TCC_ASSIGN_OR_RETURN(Database database, OpenAndWarn(command.file, Access::kReadWrite));
  for (const std::string& other : command.others) {
    TCC_ASSIGN_OR_RETURN(ImportSummary summary, MergeDatabase(database, other));
    TellSummary(other, summary);
  }
  return OkStatus();
}

Status RunVerify(const DbCommand& command) {
  TCC_ASSIGN_OR_RETURN(Database database, OpenAndWarn(command.file, Access::kRead));
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> problems, VerifyDatabase(database));
  for (const std::string& problem : problems) fmt::print("{}\n", problem);
  if (!problems.empty()) {
    return InvalidInput("database '{}' is not sound: {} problem{}", command.file, problems.size(),
                        problems.size() == 1 ? "" : "s");
  }
  TCC_ASSIGN_OR_RETURN(DatabaseStats stats, StatsOf(database));
  fmt::print("sound: {} measurements\n", stats.measurements);
  return OkStatus();
}

void AddNothing(CommandLine& /*line*/, DbCommand& /*command*/) {}

void AddJson(CommandLine& line, DbCommand& command) {
  line.AddFlag("--json", command.json, "Print JSON");
}

void AddExportOptions(CommandLine& line, DbCommand& command) {
  line.AddOption("-o,--output", command.output, "File to write; - is standard output")
      .ShowDefault()
      .TypeName("OUT");
}

void AddImportOptions(CommandLine& line, DbCommand& command) {
  line.AddOption("input", command.input, "Export to read; - is standard input")
      .Required()
      .TypeName("IN");
  line.AddFlag("--keep-measurer", command.keep_measurer,
               "Keep the name of the measurer: compile takes its records for local ones");
  line.AddOption("--batch", command.batch,
                 "Batch of tcc tune --emit, where IN is what tcc-worker --batch wrote of it")
      .TypeName("BATCH");
}

void AddMergeOptions(CommandLine& line, DbCommand& command) {
  line.AddOption("others", command.others, "Databases to add; several may be given")
      .Required()
      .TakesSeveral()
      .TypeName("OTHER");
}

struct Subcommand {
  const char* name;
  const char* summary;
  void (*add_options)(CommandLine& line, DbCommand& command);
  Status (*run)(const DbCommand& command);
};

// clang-format off
constexpr Subcommand kSubcommands[] = {
    {"stats",  "Count what a database holds",              AddJson,          RunStats},
    {"best",   "List the best measurement of each kernel", AddJson,          RunBest},
    {"export", "Write a database as lines of JSON",        AddExportOptions, RunExport},
    {"import", "Add an export to a database, new or old",  AddImportOptions, RunImport},
    {"merge",  "Add other databases to one, new or old",   AddMergeOptions,  RunMerge},
    {"verify", "Say what is wrong with a database",        AddNothing,       RunVerify},
};
// clang-format on

}  // namespace

Action DeclareDb(CommandLine& line) {
  auto command = std::make_shared<DbCommand>();
  line.RequireOneCommand();
  std::vector<CommandLine> lines;
  for (const Subcommand& row : kSubcommands) {
    CommandLine& inner = lines.emplace_back(line.AddCommand(row.name, row.summary));
    inner.AddOption("file", command->file, "Database of measurements").Required().TypeName("FILE");
    row.add_options(inner, *command);
  }
  return [command, lines]() -> Status {
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].given()) return kSubcommands[i].run(*command);
    }
    TCC_UNREACHABLE();
  };
}

}  // namespace tcc
