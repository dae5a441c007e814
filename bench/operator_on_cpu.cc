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

}  // namespace

Status MeasureOnCpu(const CompiledOperator& compiled, const OperatorOptions& options,
                    OperatorResult& result) {
  auto pool = std::make_shared<ThreadPool>(ThreadPoolOptions{.threads = options.threads});
  LoadOptions load;
  load.pool = pool;
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(compiled.artefact, load));
  TCC_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, OutputsOf(compiled.artefact));
  Executor executor(module);
  bool last = IsChannelsLast(compiled.op);
  std::vector<Tensor> inputs = last ? ToChannelsLast(compiled.inputs) : compiled.inputs;
  Status failure;
  double operations = 0;
  std::vector<uint8_t> from(options.quick ? 64 : kCopiedBytes, 1), to(from.size());
  std::vector<std::function<void()>> contestants = {
      [&] { operations = RunFmaLoop(*pool); },
      [&] {
        auto pieces = static_cast<int64_t>(pool->threads());
        auto piece = static_cast<int64_t>(from.size()) / pieces;
        pool->ParallelFor(pieces, [&](int64_t begin, int64_t end) {
          std::memcpy(to.data() + begin * piece, from.data() + begin * piece,
                      static_cast<size_t>((end - begin) * piece));
        });
      },
      [&] { failure.Update(executor.RunInto(inputs, outputs)); }};
  auto check = [&](const std::function<void()>& run) -> StatusOr<double> {
    for (Tensor& output : outputs) std::ranges::fill(MutableBytes(output), uint8_t{0xff});
    run();
    TCC_RETURN_IF_ERROR(failure);
    TCC_ASSIGN_OR_RETURN(
        OperatorCheck checked,
        CheckOperator(compiled.op, compiled.inputs, compiled.constants,
                      last ? FromChannelsLast(outputs) : outputs, compiled.numeric));
    return checked.error;
  };
  TCC_ASSIGN_OR_RETURN(result.error, check(contestants[2]));
  for (const OperatorPeer& peer : OperatorPeers()) {
    if (!options.Wants(peer.name)) continue;
    if (compiled.numeric != NumericMode::kStrict) {
      result.notes.push_back(fmt::format("{}: left out of mode {}: it is asked for strict results",
                                         peer.name, RowOf(compiled.numeric).name));
      continue;
    }
    std::function<void()> run =
        peer.make(compiled.op, inputs, compiled.constants, outputs[0], options.threads);
    if (!run) continue;
    StatusOr<double> error = check(run);
    if (!error.ok()) {
      result.notes.push_back(fmt::format("{}: {}", peer.name, Message(error.status())));
      continue;
    }
    result.peers.push_back({std::string(peer.name), "its own choice", "strict", 0, *error});
    contestants.push_back(std::move(run));
  }
  std::vector<double> seconds = LeastSeconds(contestants, options.rounds);
  TCC_RETURN_IF_ERROR(failure);
  result.microseconds = seconds[2] * 1e6;
  for (size_t i = 0; i < result.peers.size(); ++i) {
    result.peers[i].microseconds = seconds[i + 3] * 1e6;
  }
  // Rounded operands are multiplied in float32 too.
  double fma_gflops = operations / seconds[0] * 1e-9;
  ApplyCeiling({.gflops = fma_gflops,
                .gbytes = 2 * static_cast<double>(from.size()) / seconds[1] * 1e-9,
                .fma_gflops = fma_gflops},
               result);
  return OkStatus();
}

}  // namespace tcc
