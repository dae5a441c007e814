#pragma once

// The embedding API of tcc: compiles a network, loads the result and runs it.
//
//   tcc::Result<tcc::Artefact> artefact = tcc::Compile("model.onnx");
//   tcc::Result<tcc::Module> module = tcc::Module::Load(*artefact);
//   tcc::Status status = module->Run({tcc::In("x", x)}, {tcc::Out("y", y)});
//
// A Session runs an ONNX model at any shape and compiles when it has to, for trials and tests. Tune
// searches for faster schedules by measuring; a compilation takes them from a database.
//
// docs/embedding.md is the guide and explains how versions relate to the ABI.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tcc_runtime.h"

namespace tcc {
TCC_API_BEGIN

// The progress of a compilation's stage that counts items.
struct Progress {
  std::string_view stage;
  std::int64_t done = 0;
  std::int64_t total = 0;
};

enum class LogLevel { kInfo, kWarning };

// The sizes that a free dimension may have, and the one that kernels are made for: any may come,
// this one is the fastest. What is left out is chosen: docs/sizes.md.
struct DimRange {
  std::optional<std::int64_t> low = {};
  std::optional<std::int64_t> high = {};
  std::optional<std::int64_t> usual = {};
};

struct CompileOptions {
  std::string target = "native";                  // or x86-64-v3, sm_86, ... like tcc compile
  std::map<std::string, std::int64_t> dims = {};  // values of dimensions by name
  std::map<std::string, DimRange> ranges = {};    // of dimensions that stay free, by name
  // The whole shapes of inputs. -1 leaves a dimension as the model has it; where the model has no
  // shape, it stays free.
  std::map<std::string, std::vector<std::int64_t>> shapes = {};
  // The sizes to compile for, each values of the same dimensions by name: {{"N", 1}}, {{"N", 4}}.
  // The artefact takes inputs of each of them and refuses others; docs/sizes.md. Empty: the one
  // size that the model and the options above give.
  std::vector<std::map<std::string, std::int64_t>> at = {};
  // The inputs that become constants. An input without a shape has the declared one, whose free
  // dimensions come from `dims` and `shapes`.
  std::vector<Input> binds = {};
  int threads = 0;  // like ThreadPool's
  // The type that f32 contractions round their operands to: strict (no rounding), 3xtf32, tf32,
  // bf16, fp16; docs/numeric.md describes the effect of each.
  std::string numeric = "strict";
  // The folder of a model's external tensor files; "": the model's own folder.
  std::string external_data_folder = {};
  bool follow_links = false;  // symbolic links to such files, as download caches have
  // The schedules, as text, by the kernel's name; Kernels lists both. Other kernels get their
  // default. Compile fails, with a message that says so, on an illegal step and on a name that no
  // kernel has.
  std::map<std::string, std::string> schedules = {};
  // The file of measurements that Tune or tcc tune has made; it is only read. Kernels without a
  // schedule above get the best one that was measured on a CPU like this one, or on `device`. "":
  // no file.
  std::string database = {};
  // A part of the name of the device in the database whose measurements count. "": this CPU; for a
  // GPU target the GPU with measurements of the most kernels.
  std::string device = {};
  // Whether the artefact keeps notes of how it was made, for tcc inspect --kernel and tcc check
  // --layers (docs/artefact.md); a run needs none.
  bool notes = true;
  bool winograd = true;  // whether convolutions may go by Winograd's transforms
  // The hooks are called from the compiler's threads, one at a time.
  std::function<void(const Progress&)> progress = {};
  std::function<void(LogLevel, std::string_view)> logger = {};
  // A stop request ends Compile with kCancelled within a kernel's compile time.
  std::stop_token cancellation = {};
};

// A handle to a compiled network, to be saved or loaded.
class TCC_EXPORT Artefact {
 public:
  // Writes the file atomically.
  Status Save(const std::string& path) const;
  // Returns the file's content; throws std::bad_alloc where memory is short.
  std::vector<std::uint8_t> Bytes() const;

 private:
  friend class Module;
  friend Result<Artefact> Compile(const std::string&, const CompileOptions&);
  friend Result<Artefact> Compile(std::span<const std::uint8_t>, const CompileOptions&);
  struct State;
  explicit Artefact(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Compiles an ONNX file. The same model and options give the same artefact for any number of
// threads. With a database this also needs the same content of it and the same number of usable
// CPUs.
TCC_EXPORT Result<Artefact> Compile(const std::string& path, const CompileOptions& options = {});
// Compiles an ONNX file's content, which is not needed afterwards.
TCC_EXPORT Result<Artefact> Compile(std::span<const std::uint8_t> model,
                                    const CompileOptions& options = {});

// A tensor in memory of its own, dense and row-major.
struct OwnedTensor {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::shared_ptr<void> data;  // at a multiple of kAlignment
  std::size_t bytes = 0;
};

// The artefacts that a Session makes.
enum class SessionSizes {
  kAny,   // one for all sizes first, and for each size that it refuses one more
  kEach,  // one for each size, which is the fastest
};

// A handle to an ONNX model that runs at any shape. A run compiles for all sizes, and for the
// values (of at most 4 KiB) of inputs that decide shapes, unless the same was compiled before.
// Where the model needs numbers, or the result refuses the inputs, it compiles for their sizes. The
// last 8 results stay in memory, and all of them in files of the folder $TCC_CACHE_DIR/session, or
// tcc/session in that of $XDG_CACHE_HOME or ~/.cache. The least recently used files go when they
// take more than $TCC_CACHE_BYTES (8 GiB).
//
// A new size may cost a compilation. Runs may come from several threads; one compiles at a time.
class TCC_EXPORT Session {
 public:
  // Imports the model. `options` hold for every run; their hooks are called from Run, and a stop
  // request ends the compilation under way and all later ones with kCancelled.
  static Result<Session> Open(const std::string& path, const CompileOptions& options = {},
                              const LoadOptions& load = {},
                              SessionSizes sizes = SessionSizes::kAny);

  const std::vector<TensorInfo>& inputs() const;

  // Returns the outputs in the model's order. kBadInput, naming the input, where one is missing or
  // does not fit, and where the model's file has changed; else errors of Compile, which say for
  // which sizes it was, and of Module::Run.
  Result<std::vector<OwnedTensor>> Run(std::span<const Input> inputs) const;
  Result<std::vector<OwnedTensor>> Run(std::initializer_list<Input> inputs) const {
    return Run(std::span(inputs.begin(), inputs.size()));
  }

 private:
  struct State;
  explicit Session(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// A kernel of a network: what it computes, and how. docs/text_format.md and docs/schedules.md
// explain how to read the texts.
struct Kernel {
  std::string name;
  std::vector<std::string> nodes;  // all nodes of the model that share it
  // The kernel before any schedule step, as equivalent functions. A schedule is for the first one
  // unless it says "variant N".
  std::vector<std::string> variants;
  std::string schedule;  // from the options or their database, else the target's default
  std::string rules;     // the sketch rules that made the default; "" where options had one
};

// Lists the kernels that Compile would make, without making them, so that a caller can write
// schedules for them: its own rules read `variants` and put text into CompileOptions::schedules. On
// a GPU, Compile may replace a default schedule whose machine code spills registers or uses local
// memory, or that the compiler refuses; it never replaces a given one. Errors: Compile's.
TCC_EXPORT Result<std::vector<Kernel>> Kernels(const std::string& path,
                                               const CompileOptions& options = {});
TCC_EXPORT Result<std::vector<Kernel>> Kernels(std::span<const std::uint8_t> model,
                                               const CompileOptions& options = {});

// A candidate that Tune has measured. Seconds of a kernel are per call.
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
  // The options of Compile; `schedules` and `database` are ignored. After a stop request Tune
  // returns soon, with what was measured and recorded so far.
  CompileOptions compile = {};
  // The file that measurements are kept in; Tune creates it if it is missing. A candidate that the
  // file has for this machine is not measured again.
  std::string database = {};
  // The budget, exactly one of the two: time, or new candidates to measure over all kernels.
  double seconds = 0;
  std::int64_t trials = 0;
  std::string searcher = "auto";  // or random, evolutionary, ... like tcc tune
  std::uint64_t seed = 0;
  int threads = 0;              // that kernels run on; like ThreadPool's
  int device = -1;              // the GPU to measure on; like LoadOptions::device
  std::string policy = "auto";  // where candidates are timed: warm, in-place, ... like tcc tune
  std::string cost_model = {};  // the file of a cost model; "": formulas are used
  // A command of the shell that runs `tcc-worker --stdio` on the machine to measure on. "": that of
  // TCC_WORKER_COMMAND, else this machine.
  std::string worker = {};
  // The hook is called from the thread that called Tune.
  std::function<void(const TuneProgress&)> progress = {};
};

// A kernel that was tuned. Seconds are per call, 0 where the kernel was not measured.
struct TunedKernel {
  std::string name;
  double runs = 0;                 // calls per run of the model
  double constructed_seconds = 0;  // by the schedule of a compilation without a database
  double best_seconds = 0;
  std::string best_searcher;  // that proposed the best candidate
  std::int64_t trials = 0;    // in this run
  std::string problem;        // what kept it from being tuned; "": nothing
};

struct TuneSummary {
  std::vector<TunedKernel> kernels;  // equal kernels once
  std::int64_t trials = 0;
  std::map<std::string, std::int64_t> statuses;  // the trials by status
  // The seconds of a run of the model with all constructed schedules, and with the winners, which
  // Compile takes. 0: not compared, e.g. because Tune was stopped or nothing seemed faster.
  double model_constructed_seconds = 0;
  double model_best_seconds = 0;
};

// Measures schedules for the kernels of a model on this machine, in a separate process
// (tcc-worker), and records them. Errors: Compile's; kUsage for an unknown searcher, no budget or
// both; kBadInput for a database that cannot be written; kMissing where the target's kernels do not
// run here or there is no worker; kBudget or kCancelled where the end came before any kernel was
// measured.
TCC_EXPORT Result<TuneSummary> Tune(const std::string& path, const TuneOptions& options);
TCC_EXPORT Result<TuneSummary> Tune(std::span<const std::uint8_t> model,
                                    const TuneOptions& options);

TCC_API_END
}  // namespace tcc
