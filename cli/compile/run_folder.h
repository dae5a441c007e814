#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "compiler/tune_graph.h"
#include "support/stopwatch.h"

namespace tcc {

// A folder that tells of one run of tuning while it goes on and afterwards.
//   run.json      what was asked for and where it ran; at the end what came out
//   events.jsonl  an object a line, written as it happens
//   worker.log    what the workers say on standard error
class RunFolder {
 public:
  // Checks that the folder holds no run and is there or can be made. FailedPrecondition: it holds
  // one already. InvalidArgument: the folder that it would be in is missing or takes no files.
  static Status CheckTakesRun(const std::string& path);
  // Makes the folder if it is missing, and begins its files. `database` is its path; "": it is
  // removed after the run. Errors: CheckTakesRun's; the folder takes no files.
  static StatusOr<RunFolder> Make(const std::string& path, const TuneGraphOptions& options,
                                  const std::string& database);

  std::string worker_log() const { return FileIn("worker.log"); }

  // Adds what candidates are measured on; a later environment takes the place of an earlier one.
  void RecordEnvironment(const Environment& environment);
  void Record(const TuneEvent& event);
  void RecordWarning(const std::string& message);
  // Adds the result. Error: something could not be written, now or before.
  Status Finish(const StatusOr<TuneResult>& result, bool interrupted);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string FileIn(std::string_view name) const;
  Status OpenEvents();
  Status WriteSummary() const;
  // Adds a line to the events; remembers the first failure.
  void Append(std::string_view kind, const nlohmann::ordered_json& fields);
  double Elapsed() const;

  std::string path_;
  Stopwatch stopwatch_;
  nlohmann::ordered_json summary_;  // of run.json
  std::unique_ptr<std::FILE, Close> events_;
  Status appended_;
};

}  // namespace tcc
