#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "api/convert.h"
#include "api/tcc.h"
#include "compiler/compile_graph.h"
#include "models/onnx/import_onnx.h"

namespace tcc::v1 {

// Tells the caller when a stage begins and how long the last one took. Any thread may call it.
class Reporter {
 public:
  // `options` outlive it.
  explicit Reporter(const CompileOptions& options) : options_(options) {}

  void Report(const std::string& stage, int64_t done, int64_t total);
  // Ends the last stage too.
  void Log(LogLevel level, const std::string& message);

 private:
  using Clock = std::chrono::steady_clock;

  void EndStage(const std::string& next);

  const CompileOptions& options_;
  std::mutex mutex_;
  std::string stage_;
  Clock::time_point start_ = Clock::now();
};

// A model, and the compiler's own options for it.
struct CompileRequest {
  Graph graph;
  tcc::CompileOptions options;
};

// ImportOnnx or ImportOnnxBytes of a model.
using ImportFunction = std::function<StatusOr<Graph>(const ImportOptions&)>;

// Imports the model, reads what the options name, and has the compiler tell `reporter`, which
// outlives the result, of its stages and warnings. Error: an option that does not fit, by its name;
// ImportOnnx's; Cancelled where a stop is requested.
StatusOr<CompileRequest> MakeRequest(const CompileOptions& options,
                                     const ImportFunction& import_model, Reporter& reporter);

}  // namespace tcc::v1
