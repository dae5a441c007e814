#pragma once

#include <mutex>
#include <string>

#include "api/convert.h"
#include "api/tcc.h"
#include "compiler/compile_graph.h"
#include "support/stopwatch.h"

namespace tcc::v1 {

// A reporter that tells the caller when a stage begins and how long the last one took. Any thread
// may call a reporter.
class Reporter {
 public:
  // Expects `options` to outlive the reporter.
  explicit Reporter(const CompileOptions& options) : options_(options) {}

  void Report(const std::string& stage, int64_t done, int64_t total);
  // Passes the message on; ends the last stage first.
  void Log(LogLevel level, const std::string& message);

 private:
  void EndStage(const std::string& next);

  const CompileOptions& options_;
  std::mutex mutex_;
  std::string stage_;
  Stopwatch stopwatch_;  // of the stage
};

// The compiler's own options for a model that is still to be imported.
struct CompileSettings {
  ImportOptions import;
  tcc::CompileOptions options;
};

// Reads the inputs that the options name, and connects `reporter`, which must outlive the result,
// to the compiler's stages and warnings. Error: an option that does not fit, by its name.
StatusOr<CompileSettings> SettingsOf(const CompileOptions& options, Reporter& reporter);

// A model, and the compiler's own options for it.
struct CompileRequest {
  SizedModel model;
  tcc::CompileOptions options;
};

// Imports the model by SettingsOf the options. Error: SettingsOf's, ImportOnnx's; Cancelled where a
// stop is requested.
StatusOr<CompileRequest> MakeRequest(const CompileOptions& options,
                                     const ImportFunction& import_model, Reporter& reporter);

}  // namespace tcc::v1
