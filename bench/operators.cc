#include "bench/operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "bench/cpu/peers.h"
#include "bench/gpu/gpu_peers.h"
#include "bench/gpu/mma_peaks.h"
#include "bench/operator_report.h"
#include "bench/operator_run.h"
#include "bench/operator_suite.h"
#include "bench/write_text.h"
#include "runtime/executor/usable_cpus.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

Status ExpectPeers(const OperatorSuiteOptions& options, const Target& target) {
  std::vector<std::string_view> known;
  if (target.kind == TargetKind::kGpu) {
    for (const GpuPeer& peer : GpuPeers()) known.push_back(peer.name);
  } else {
    for (const OperatorPeer& peer : OperatorPeers()) known.push_back(peer.name);
  }
  for (const std::string& name : options.peers) {
    if (name == "none" || std::ranges::find(known, name) != known.end()) continue;
    return UsageError("no peer '{}' for {}; there are none, {}", name, target.name,
                      fmt::join(known, ", "));
  }
  return OkStatus();
}

// A run of the operators of a suite on a target.
class SuiteRun {
 public:
  SuiteRun(const OperatorSuiteOptions& options, Target target, NumericMode numeric)
      : options_(options), target_(std::move(target)) {
    each_.target = target_;
    each_.gpu = GpuProfileOf(target_);
    each_.numeric = numeric;
    each_.code = options_.text ? GpuCode::kCudaText : GpuCode::kCubin;
    each_.compile_threads = UsableCpus();
    each_.threads = options_.threads;
    each_.peers = options_.peers;
    each_.rounds = options_.rounds;
    each_.quick = options_.quick;
  }

  // Opens the device and measures what it reaches.
  Status Open() {
    if (options_.compile_only) return CompileCalibration();
    if (target_.kind != TargetKind::kGpu) return OkStatus();
    TCC_ASSIGN_OR_RETURN(ceiling_, CalibrateGpu(Calibration()));
    TCC_ASSIGN_OR_RETURN(bench_, GpuBench::Open());
    const CudaDeviceInfo& device = bench_->device();
    each_.gpu = GpuProfileOf({device.sm, device.name, device.multiprocessors, device.l2_bytes});
    fmt::print(stderr, "{}: {:.0f} GFLOP/s, {:.0f} GB/s\n", Describe(device), ceiling_.fma_gflops,
               ceiling_.copy_gbytes);
    if (each_.numeric != NumericMode::kStrict) {
      Ceiling ceiling = CeilingOf(each_.numeric);
      fmt::print(stderr, "{}: {:.0f} GFLOP/s\n", ceiling.instructions, ceiling.gflops);
    }
    return OkStatus();
  }

  OperatorResult Measure(const BenchOperator& op) const {
    OperatorResult result;
    result.name = op.name;
    result.target = target_.name;
    result.numeric = RowOf(each_.numeric).name;
    Status status = TryMeasure(op, result);
    if (!status.ok()) result.failure = Message(status);
    return result;
  }

 private:
  CalibrationOptions Calibration() const {
    return {target_, each_.code, options_.quick, {MmaOf(each_.numeric).type}};
  }

  // Compiles the calibration kernels, so that the cache contains them, too.
  Status CompileCalibration() const {
    if (target_.kind != TargetKind::kGpu) return OkStatus();
    return CalibrationProgram(Calibration()).status();
  }

  Status TryMeasure(const BenchOperator& op, OperatorResult& result) const {
    TCC_ASSIGN_OR_RETURN(CompiledOperator compiled, CompileOperator(op, each_));
    result = ResultOf(compiled, each_);
    if (options_.compile_only) return OkStatus();
    if (bench_ == nullptr) return MeasureOnCpu(compiled, each_, result);
    TCC_RETURN_IF_ERROR(MeasureOnGpu(compiled, each_, *bench_, result));
    ApplyCeiling(CeilingOf(compiled.numeric), result);
    return OkStatus();
  }

  Ceiling CeilingOf(NumericMode numeric) const {
    Ceiling ceiling{.gflops = ceiling_.GflopsOf(numeric),
                    .gbytes = ceiling_.copy_gbytes,
                    .fma_gflops = ceiling_.fma_gflops};
    if (numeric == NumericMode::kStrict) return ceiling;
    MmaOfMode mma = MmaOf(numeric);
    ceiling.instructions = fmt::format("{} mma", mma.type);
    if (mma.products > 1) ceiling.instructions += fmt::format(" / {}", mma.products);
    return ceiling;
  }

  const OperatorSuiteOptions& options_;
  Target target_;
  OperatorOptions each_;
  GpuCeiling ceiling_;
  std::unique_ptr<GpuBench> bench_;  // null where kernels run on the CPU
};

// Prints each note once: a library that is missing is missing for every operator.
void PrintNotes(const std::vector<OperatorResult>& results) {
  std::vector<std::string> seen;
  for (const OperatorResult& result : results) {
    for (const std::string& note : result.notes) {
      if (std::ranges::find(seen, note) != seen.end()) continue;
      seen.push_back(note);
      fmt::print(stderr, "{}: {}\n", result.name, note);
    }
  }
}

// Writes the results to the files, or to stdout where none is named.
Status WriteResults(const OperatorSuiteOptions& options,
                    const std::vector<OperatorResult>& results) {
  if (options.markdown) TCC_RETURN_IF_ERROR(WriteText(MarkdownTable(results), *options.markdown));
  if (options.json) TCC_RETURN_IF_ERROR(WriteText(JsonText(results), *options.json));
  return OkStatus();
}

// Returns the result of an operator before it is measured, which stays in the files if the
// measurement never ends.
OperatorResult Unfinished(const BenchOperator& op, const Target& target, NumericMode numeric) {
  OperatorResult result;
  result.name = op.name;
  result.target = target.name;
  result.numeric = RowOf(numeric).name;
  result.failure = "not finished";
  return result;
}

}  // namespace

Status RunOperatorSuite(const OperatorSuiteOptions& options) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(options.target));
  TCC_ASSIGN_OR_RETURN(NumericMode numeric, FindNumericMode(options.numeric));
  TCC_RETURN_IF_ERROR(ExpectMode(target, numeric));
  TCC_RETURN_IF_ERROR(ExpectPeers(options, target));
  std::vector<BenchOperator> suite = OperatorSuite(options.suite);
  if (!options.kernel.empty()) {
    std::erase_if(suite, [&](const BenchOperator& op) { return op.name != options.kernel; });
    if (suite.empty()) {
      return UsageError("no operator '{}' in suite '{}'", options.kernel, options.suite);
    }
  }
  SuiteRun run(options, target, numeric);
  TCC_RETURN_IF_ERROR(run.Open());
  OperatorSuiteOptions files = options;  // only outputs to files get rows as they come
  for (auto* path : {&files.json, &files.markdown}) {
    if (*path == "") path->reset();
  }
  std::vector<OperatorResult> results;
  Stopwatch stopwatch;
  for (const BenchOperator& op : suite) {
    if (options.seconds > 0 && stopwatch.Seconds() > options.seconds) break;
    results.push_back(Unfinished(op, target, numeric));
    TCC_RETURN_IF_ERROR(WriteResults(files, results));
    results.back() = run.Measure(op);
    fmt::print(stderr, "{}\n", ProgressLine(results.back()));
    for (const std::string& warning : results.back().warnings) {
      fmt::print(stderr, "tcc-bench: warning: {}: {}\n", op.name, warning);
    }
  }
  PrintNotes(results);
  TCC_RETURN_IF_ERROR(WriteResults(options, results));
  auto failed = std::ranges::count_if(results, [](const auto& r) { return !r.failure.empty(); });
  fmt::print(stderr, "{} of {} operators {}, {} failed, {} left out for time\n",
             std::ssize(results) - failed, suite.size(),
             options.compile_only ? "compiled" : "measured", failed, suite.size() - results.size());
  if (failed > 0) return absl::DataLossError(fmt::format("{} operators failed", failed));
  return OkStatus();
}

}  // namespace tcc
