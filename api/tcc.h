#pragma once

// tcc inside a program: compile a network, load what came out, run it.
//
//   tcc::Result<tcc::Artefact> artefact = tcc::Compile("model.onnx");
//   tcc::Result<tcc::Module> module = tcc::Module::Load(*artefact);
//   tcc::Status status = module->Run({tcc::In("x", x)}, {tcc::Out("y", y)});
//
// Tune measures faster schedules, which a compilation takes from a database.
//
// Guide, and how versions relate to the ABI: docs/embedding.md.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tcc_runtime.h"

namespace tcc {
TCC_API_BEGIN

// A stage of compiling with something to count.
struct Progress {
  std::string_view stage;
  std::int64_t done = 0;
  std::int64_t total = 0;
};

enum class LogLevel { kInfo, kWarning };

struct CompileOptions {
  std::string target = "native";                  // or x86-64-v3, sm_86, ... as tcc compile
  std::map<std::string, std::int64_t> dims = {};  // values of dimensions by name
  std::map<std::string, std::vector<std::int64_t>> shapes = {};  // whole shapes of inputs
  // Inputs that become constants. One without a shape has the declared one, with `dims` and
  // `shapes` for what that leaves open.
  std::vector<Input> binds = {};
  int threads = 0;  // as ThreadPool's
  // What contractions of f32 round their operands to: strict (nothing), 3xtf32, tf32, bf16, fp16;
  // docs/numeric.md says what each does to a model.
  std::string numeric = "strict";
  // Where a model's files with large tensors lie; "": the model's own folder.
  std::string external_data_folder = {};
  bool follow_links = false;  // to such files; download caches have them
  // Schedules of kernels by name, as text; Kernels lists both. Others get their default. A step
  // that is not legal, and a name that no kernel has, end Compile with a message that says so.
  std::map<std::string, std::string> schedules = {};
  // File of measurements that Tune or tcc tune has made; it is only read. Kernels without a
  // schedule above get the best one that was measured on a CPU like this one. "": none.
  std::string database = {};
  // Called from the compiler's threads, one at a time.
  std::function<void(const Progress&)> progress = {};
  std::function<void(LogLevel, std::string_view)> logger = {};
  // A stop request ends Compile with kCancelled within a kernel's compile time.
  std::stop_token cancellation = {};
};

// A compiled network: to be saved, or loaded as it is. A handle.
class TCC_EXPORT Artefact {
 public:
  // The file appears whole or not at all.
  Status Save(const std::string& path) const;
  // The file's content; std::bad_alloc where there is no memory for it.
  std::vector<std::uint8_t> Bytes() const;

 private:
  friend class Module;
  friend Result<Artefact> Compile(const std::string&, const CompileOptions&);
  friend Result<Artefact> Compile(std::span<const std::uint8_t>, const CompileOptions&);
  struct State;
  explicit Artefact(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// An ONNX file. The same model and options give the same artefact for any number of threads. With a
// database that holds as long as its content and the number of usable CPUs stay.
TCC_EXPORT Result<Artefact> Compile(const std::string& path, const CompileOptions& options = {});
// An ONNX file's content, which is not needed afterwards.
TCC_EXPORT Result<Artefact> Compile(std::span<const std::uint8_t> model,
                                    const CompileOptions& options = {});

// A kernel that a network is compiled to: what it computes, and how. docs/text_format.md and
// docs/schedules.md tell how to read the texts.
struct Kernel {
  std::string name;
  std::vector<std::string> nodes;  // of the model, all that share it
  // What it computes before any step of a schedule: functions that are equivalent. A schedule is
  // for the first one unless it says "variant N".
  std::vector<std::string> variants;
  std::string schedule;  // that of the options or of their database, else the target's default
  std::string rules;     // the sketch rules that made the default; "" where options had one
};

// The kernels that Compile would make, without making them: what to write schedules for. A rule of
// the caller's own looks at `variants`, and puts text into CompileOptions::schedules. On a GPU
// Compile may leave a default schedule for another one where its machine code spills registers or
// uses local memory, or the compiler refuses it; one that is given it never leaves. Errors are
// Compile's.
TCC_EXPORT Result<std::vector<Kernel>> Kernels(const std::string& path,
                                               const CompileOptions& options = {});
TCC_EXPORT Result<std::vector<Kernel>> Kernels(std::span<const std::uint8_t> model,
                                               const CompileOptions& options = {});

// A candidate that Tune has measured. Seconds of a kernel are of one call.
struct TuneProgress {
  double seconds = 0;         // since the search began
  std::int64_t trials = 0;    // measured in this run, with this one
  std::string_view kernel;    // TunedKernel::name
  std::string_view searcher;  // "constructed" for the schedule of a compilation without a database
  std::string_view status;    // "ok", "slow", "wrong", ...: docs/tune.md lists them
  double best_seconds = 0;    // with this candidate; 0: none yet
  double constructed_seconds = 0;  // 0: not known yet
};

struct TuneOptions {
  // Compile's options; `schedules` and `database` are ignored. A stop request ends Tune soon, which
  // then returns what was measured and recorded so far.
  CompileOptions compile = {};
  // File that measurements are kept in; it is made where there is none. A candidate that it has for
  // this machine is not measured again.
  std::string database = {};
  // The budget, one of the two: time, or new candidates to measure over all kernels.
  double seconds = 0;
  std::int64_t trials = 0;
  std::string searcher = "auto";  // or random, evolutionary, ... as tcc tune
  std::uint64_t seed = 0;
  int threads = 0;  // that kernels run on; as ThreadPool's
  // Called from the thread that called Tune.
  std::function<void(const TuneProgress&)> progress = {};
};

// A kernel that was tuned. Seconds are of one call, 0 where it was not measured.
struct TunedKernel {
  std::string name;
  double runs = 0;                 // calls in a run of the model
  double constructed_seconds = 0;  // by the schedule of a compilation without a database
  double best_seconds = 0;
  std::string best_searcher;  // who proposed the best
  std::int64_t trials = 0;    // of this run
  std::string problem;        // what kept it from being tuned; "": nothing
};

struct TuneSummary {
  std::vector<TunedKernel> kernels;  // equal ones once
  std::int64_t trials = 0;
  std::map<std::string, std::int64_t> statuses;  // of the trials
  // Seconds of a run of the model with all constructed schedules and with the winners, which
  // Compile takes. 0: they were not compared, as when Tune was stopped or nothing seemed faster.
  double model_constructed_seconds = 0;
  double model_best_seconds = 0;
};

// Measures schedules for the kernels of a model on this machine, in a process of its own
// (tcc-worker), and records them. Errors: Compile's; kUsage for an unknown searcher, no budget or
// both; kBadInput for a database that cannot be written; kMissing where the target's kernels do not
// run here or there is no worker; kBudget or kCancelled where the end came before any kernel ran.
TCC_EXPORT Result<TuneSummary> Tune(const std::string& path, const TuneOptions& options);
TCC_EXPORT Result<TuneSummary> Tune(std::span<const std::uint8_t> model,
                                    const TuneOptions& options);

TCC_API_END
}  // namespace tcc
