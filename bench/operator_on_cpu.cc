#include <algorithm>
#include <cstring>

#include "bench/cpu/interleaved_timing.h"
#include "bench/cpu/peers.h"
#include "bench/operator/operator.h"
#include "bench/operator/operator_check.h"
#include "bench/operator_run.h"
#include "runtime/cpu/cpu_rates.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

// Larger than the caches that this is run on.
constexpr size_t kCopiedBytes = size_t{128} << 20;

// The contestants that are timed in turn: what the machine can do, the operator, then its peers.
constexpr size_t kFma = 0;
constexpr size_t kCopy = 1;
constexpr size_t kOperator = 2;
constexpr size_t kFirstPeer = 3;

// An operator's kernels, loaded, and its buffers.
class LoadedOperator {
 public:
  static StatusOr<std::unique_ptr<LoadedOperator>> Load(const CompiledOperator& compiled,
                                                        const std::shared_ptr<ThreadPool>& pool) {
    LoadOptions load;
    load.pool = pool;
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(compiled.artefact, load));
    TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, OutputsOf(compiled.artefact));
    return std::unique_ptr<LoadedOperator>(
        new LoadedOperator(compiled, std::move(module), std::move(outputs)));
  }

  // Runs the kernels; status() tells the first failure.
  void Run() { status_.Update(executor_.RunInto(inputs_, outputs_)); }
  const Status& status() const { return status_; }

  // Returns the run of a peer on the same buffers, or null if the peer has none.
  std::function<void()> RunOf(const OperatorPeer& peer, int threads) {
    return peer.make(compiled_.op, inputs_, compiled_.constants, outputs_[0], threads);
  }
  // Returns the error of the results that `run` leaves. Fails if they are wrong.
  StatusOr<double> Check(const std::function<void()>& run);

 private:
  LoadedOperator(const CompiledOperator& compiled, Module module, std::vector<Tensor> outputs)
      : compiled_(compiled),
        channels_last_(IsChannelsLast(compiled.op)),
        module_(std::move(module)),
        inputs_(channels_last_ ? ToChannelsLast(compiled.inputs) : compiled.inputs),
        outputs_(std::move(outputs)),
        executor_(module_) {}

  const CompiledOperator& compiled_;
  bool channels_last_;
  Module module_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  Executor executor_;
  Status status_;
};

StatusOr<double> LoadedOperator::Check(const std::function<void()>& run) {
  for (Tensor& output : outputs_) std::ranges::fill(MutableBytes(output), uint8_t{0xff});
  run();
  TCC_RETURN_IF_ERROR(status_);
  TCC_ASSIGN_OR_RETURN(
      OperatorCheck checked,
      CheckOperator(compiled_.op, compiled_.inputs, compiled_.constants,
                    channels_last_ ? FromChannelsLast(outputs_) : outputs_, compiled_.numeric));
  return checked.error;
}

// Copies on all threads, in equal pieces.
void CopyOnThreads(ThreadPool& pool, const std::vector<uint8_t>& from, std::vector<uint8_t>& to) {
  auto pieces = static_cast<int64_t>(pool.threads());
  auto piece = static_cast<int64_t>(from.size()) / pieces;
  pool.ParallelFor(pieces, [&](int64_t begin, int64_t end) {
    std::memcpy(to.data() + begin * piece, from.data() + begin * piece,
                static_cast<size_t>((end - begin) * piece));
  });
}

// Adds the peers whose results are right, and notes why others are left out.
void AddPeers(const CompiledOperator& compiled, const OperatorOptions& options,
              LoadedOperator& loaded, std::vector<std::function<void()>>& contestants,
              OperatorResult& result) {
  for (const OperatorPeer& peer : OperatorPeers()) {
    if (!options.Wants(peer.name)) continue;
    if (compiled.numeric != NumericMode::kStrict) {
      result.notes.push_back(fmt::format("{}: left out of mode {}: it is asked for strict results",
                                         peer.name, RowOf(compiled.numeric).name));
      continue;
    }
    std::function<void()> run = loaded.RunOf(peer, options.threads);
    if (!run) continue;
    StatusOr<double> error = loaded.Check(run);
    if (!error.ok()) {
      result.notes.push_back(fmt::format("{}: {}", peer.name, Message(error.status())));
      continue;
    }
    result.peers.push_back({std::string(peer.name), "its own choice", "strict", 0, *error});
    contestants.push_back(std::move(run));
  }
}

}  // namespace

Status MeasureOnCpu(const CompiledOperator& compiled, const OperatorOptions& options,
                    OperatorResult& result) {
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = options.threads});
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<LoadedOperator> loaded,
                       LoadedOperator::Load(compiled, pool));
  double operations = 0;
  std::vector<uint8_t> from(options.quick ? 64 : kCopiedBytes, 1), to(from.size());
  std::vector<std::function<void()>> contestants(kFirstPeer);
  contestants[kFma] = [&] { operations = RunFmaLoop(*pool); };
  contestants[kCopy] = [&] { CopyOnThreads(*pool, from, to); };
  contestants[kOperator] = [&] { loaded->Run(); };
  TCC_ASSIGN_OR_RETURN(result.error, loaded->Check(contestants[kOperator]));
  AddPeers(compiled, options, *loaded, contestants, result);
  std::vector<double> seconds = LeastSeconds(contestants, options.rounds);
  TCC_RETURN_IF_ERROR(loaded->status());
  result.microseconds = seconds[kOperator] * 1e6;
  for (size_t i = 0; i < result.peers.size(); ++i) {
    result.peers[i].microseconds = seconds[kFirstPeer + i] * 1e6;
  }
  // Rounded operands are multiplied in float32 too.
  double fma_gflops = operations / seconds[kFma] * 1e-9;
  ApplyCeiling({.gflops = fma_gflops,
                .gbytes = 2 * static_cast<double>(from.size()) / seconds[kCopy] * 1e-9,
                .fma_gflops = fma_gflops},
               result);
  return OkStatus();
}

}  // namespace tcc
