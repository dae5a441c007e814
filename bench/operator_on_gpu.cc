#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "bench/gpu/gpu_bench.h"
#include "bench/gpu/gpu_peers.h"
#include "bench/operator/operator.h"
#include "bench/operator/operator_check.h"
#include "bench/operator_run.h"
#include "runtime/executor/executor.h"

namespace tcc {
namespace {

// The most bytes of an operator that is timed with a warm cache as well: more does not stay in any
// cache.
constexpr double kWarmBytes = 64e6;
// The number of a peer's candidates that are timed in graphs, and the number of blocks for that.
constexpr size_t kFinalists = 4;
constexpr int kFinalBlocks = 3;

// Returns a tensor in device memory, whose bytes the host must not read.
Tensor OnDevice(const Tensor& host, uint8_t* memory) {
  Tensor tensor = host;
  tensor.owner = nullptr;
  tensor.bytes = {memory, host.bytes.size()};
  return tensor;
}

// Returns the same elements, rounded to the type.
Tensor StoredAs(const Tensor& tensor, DType dtype) {
  if (tensor.dtype == dtype) return tensor;
  Tensor stored = MakeZeroTensor(dtype, tensor.shape);
  for (int64_t i = 0; i < *ElementCount(tensor.shape); ++i) {
    SetElement(stored, i, ElementAsDouble(tensor, i));
  }
  return stored;
}

std::vector<Tensor> StoredAs(const std::vector<Tensor>& tensors, DType dtype) {
  std::vector<Tensor> stored;
  for (const Tensor& tensor : tensors) stored.push_back(StoredAs(tensor, dtype));
  return stored;
}

class GpuRun {
 public:
  GpuRun(const CompiledOperator& compiled, const OperatorOptions& options, const GpuBench& bench,
         OperatorResult& result)
      : compiled_(compiled), options_(options), bench_(bench), result_(result) {
    timing_.blocks = options.rounds;
    if (options.quick) {
      timing_ = {.launches = 2, .graph_seconds = 0, .replays = 1, .blocks = options.rounds};
    }
  }

  Status Measure() {
    TCC_ASSIGN_OR_RETURN(outputs_, OutputsOf(compiled_.artefact));
    bool last = IsChannelsLast(compiled_.op);
    inputs_ = last ? ToChannelsLast(compiled_.inputs) : compiled_.inputs;
    TCC_ASSIGN_OR_RETURN(const GpuOperandSets* sets, SetsFor(last, kFloat32));
    TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(compiled_.artefact));
    Executor executor(module);
    executor.set_recording(false);
    CudaWork ours = [&](size_t set) { return Enqueue(executor, (*sets)[set]); };
    TCC_ASSIGN_OR_RETURN(result_.error, Check(ours, *sets, last));
    std::vector<CudaWork> contestants = {ours};
    for (const GpuPeer& peer : GpuPeers()) {
      if (!options_.Wants(peer.name)) continue;
      Status status = AddPeer(peer, contestants);
      if (!status.ok()) result_.notes.push_back(fmt::format("{}: {}", peer.name, Message(status)));
    }
    TCC_ASSIGN_OR_RETURN(std::vector<CudaTime> times,
                         bench_.timer().Time(contestants, sets->size(), timing_));
    result_.microseconds = times[0].median_seconds * 1e6;
    NoteMissingGraph("ours", times[0]);
    for (size_t i = 1; i < times.size(); ++i) {
      PeerTime& peer = result_.peers[i - 1];
      peer.microseconds = times[i].median_seconds * 1e6;
      if (!times[i].graph.ok()) peer.algorithm += ", without a graph";
      NoteMissingGraph(peer.peer, times[i]);
    }
    if (result_.bytes == 0 || result_.bytes > kWarmBytes) return OkStatus();
    TCC_ASSIGN_OR_RETURN(times, bench_.timer().Time({contestants.data(), 1}, 1, timing_));
    result_.warm_microseconds = times[0].median_seconds * 1e6;
    return OkStatus();
  }

 private:
  void NoteMissingGraph(std::string_view whose, const CudaTime& time) {
    if (time.graph.ok()) return;
    result_.notes.push_back(
        fmt::format("{}: timed without a graph: {}", whose, Message(time.graph)));
  }

  struct Sets {
    bool channels_last;
    DType stored;
    GpuOperandSets sets;
  };

  // Returns the operand sets of a layout and type, and makes them at the first use. All have the
  // same number of sets, enough for the type with the fewest bytes.
  StatusOr<const GpuOperandSets*> SetsFor(bool channels_last, DType stored) {
    for (const Sets& made : sets_) {
      if (made.channels_last == channels_last && made.stored == stored) return &made.sets;
    }
    GpuOperandSets::Tensors tensors = TensorsFor(channels_last, stored);
    if (set_count_ == 0) {
      std::optional<DType> narrow = RowOf(compiled_.numeric).type;
      set_count_ = GpuOperandSets::CountFor(
          TensorsFor(channels_last, IsOperator() ? narrow.value_or(stored) : stored),
          bench_.device());
    }
    TCC_ASSIGN_OR_RETURN(GpuOperandSets made, GpuOperandSets::Make(bench_, tensors, set_count_));
    sets_.push_back({channels_last, stored, std::move(made)});
    return &sets_.back().sets;
  }

  bool IsOperator() const { return !std::holds_alternative<NetworkOp>(compiled_.op.kind); }

  GpuOperandSets::Tensors TensorsFor(bool channels_last, DType stored) const {
    GpuOperandSets::Tensors tensors{compiled_.inputs, compiled_.constants, {}};
    if (channels_last) {
      tensors.inputs = ToChannelsLast(tensors.inputs);
      tensors.constants = ToChannelsLast(tensors.constants);
    }
    // The tensors of networks have any type, and are never stored as another.
    if (stored != kFloat32) {
      tensors.inputs = StoredAs(tensors.inputs, stored);
      tensors.constants = StoredAs(tensors.constants, stored);
    }
    for (const Tensor& output : outputs_) tensors.output_bytes.push_back(std::ssize(output.bytes));
    return tensors;
  }

  Status Enqueue(Executor& executor, const GpuOperands& operands) const {
    std::vector<Tensor> inputs, outputs;
    for (size_t i = 0; i < operands.inputs.size(); ++i) {
      inputs.push_back(OnDevice(inputs_[i], operands.inputs[i]));
    }
    for (size_t i = 0; i < operands.outputs.size(); ++i) {
      outputs.push_back(OnDevice(outputs_[i], operands.outputs[i]));
    }
    return executor.Enqueue(inputs, outputs, bench_.stream());
  }

  // Returns the shape of an output in this layout; the artefact has it in the operator's own
  // layout.
  std::vector<int64_t> ShapeOf(const Tensor& output, bool channels_last) const {
    const std::vector<int64_t>& shape = output.shape;
    bool own = IsChannelsLast(compiled_.op);
    if (shape.size() != 4 || own == channels_last) return shape;
    if (own) return {shape[0], shape[3], shape[1], shape[2]};
    return {shape[0], shape[2], shape[3], shape[1]};
  }

  // Runs once on the first set and checks the outputs.
  StatusOr<double> Check(const CudaWork& work, const GpuOperandSets& sets,
                         bool channels_last) const {
    const std::vector<uint8_t*>& places = sets[0].outputs;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      TCC_RETURN_IF_ERROR(bench_.Poison(places[i], std::ssize(outputs_[i].bytes)));
    }
    TCC_RETURN_IF_ERROR(work(0));
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      results.push_back(MakeZeroTensor(outputs_[i].dtype, ShapeOf(outputs_[i], channels_last)));
      TCC_RETURN_IF_ERROR(bench_.Download(MutableBytes(results.back()), places[i]));
    }
    if (channels_last) results = FromChannelsLast(results);
    TCC_ASSIGN_OR_RETURN(OperatorCheck check,
                         CheckOperator(compiled_.op, compiled_.inputs, compiled_.constants, results,
                                       compiled_.numeric));
    return check.error;
  }

  // A candidate that was timed alone.
  struct Attempt {
    const GpuCandidate* candidate;
    const GpuOperandSets* sets;
    CudaWork work;
    double seconds;
  };

  // Returns the candidates that run, fastest first, or the last error if none does.
  StatusOr<std::vector<Attempt>> Try(const std::vector<GpuCandidate>& candidates) {
    std::vector<Attempt> attempts;
    Status last;
    for (const GpuCandidate& candidate : candidates) {
      TCC_ASSIGN_OR_RETURN(const GpuOperandSets* sets,
                           SetsFor(candidate.channels_last, candidate.stored));
      CudaWork work = [sets, enqueue = candidate.enqueue](size_t set) {
        return enqueue((*sets)[set]);
      };
      StatusOr<double> seconds = bench_.timer().TimeOnce(work);
      if (!seconds.ok()) {
        last = Annotate(seconds.status(), candidate.algorithm);
        continue;
      }
      attempts.push_back({&candidate, sets, std::move(work), *seconds});
    }
    if (attempts.empty()) return last;
    std::ranges::stable_sort(attempts, {}, &Attempt::seconds);
    return attempts;
  }

  // Adds a contestant for each type in which the peer's candidates store their operands.
  Status AddPeer(const GpuPeer& peer, std::vector<CudaWork>& contestants) {
    TCC_ASSIGN_OR_RETURN(std::vector<GpuCandidate> candidates,
                         peer.candidates(compiled_.op, compiled_.numeric, bench_));
    std::vector<std::vector<GpuCandidate>> groups;
    for (GpuCandidate& candidate : candidates) {
      auto same = [&](const auto& group) { return group[0].stored == candidate.stored; };
      auto group = std::ranges::find_if(groups, same);
      if (group == groups.end()) group = groups.insert(group, std::vector<GpuCandidate>());
      group->push_back(std::move(candidate));
    }
    Status failed;
    for (const std::vector<GpuCandidate>& group : groups) {
      failed.Update(AddFastest(peer, group, contestants));
    }
    return failed;
  }

  // An attempt that computes the operator, and its error.
  struct Finalist {
    Attempt attempt;
    double error;
  };

  // Returns the first attempts that are right, fastest first, or the error of a wrong one if none
  // is right.
  StatusOr<std::vector<Finalist>> Finalists(std::vector<Attempt> attempts) const {
    std::vector<Finalist> right;
    Status wrong;
    for (Attempt& attempt : attempts) {
      StatusOr<double> error = Check(attempt.work, *attempt.sets, attempt.candidate->channels_last);
      if (!error.ok()) {
        wrong = Annotate(error.status(), attempt.candidate->algorithm);
      } else {
        right.push_back({std::move(attempt), *error});
      }
      if (right.size() == kFinalists) break;
    }
    if (right.empty()) return wrong;
    return right;
  }

  // Returns the fastest finalist. They are timed as contestants are, since a single launch says
  // little about a kernel of some microseconds.
  StatusOr<size_t> FastestOf(const std::vector<Finalist>& finalists) const {
    if (finalists.size() == 1) return 0;
    std::vector<CudaWork> works;
    for (const Finalist& finalist : finalists) works.push_back(finalist.attempt.work);
    CudaTimingOptions timing = timing_;
    timing.blocks = std::min(timing.blocks, kFinalBlocks);
    TCC_ASSIGN_OR_RETURN(std::vector<CudaTime> times,
                         bench_.timer().Time(works, static_cast<size_t>(set_count_), timing));
    return std::ranges::min_element(times, {}, &CudaTime::median_seconds) - times.begin();
  }

  // Makes the fastest of the candidates that compute the operator a contestant.
  Status AddFastest(const GpuPeer& peer, const std::vector<GpuCandidate>& candidates,
                    std::vector<CudaWork>& contestants) {
    TCC_ASSIGN_OR_RETURN(std::vector<Attempt> attempts, Try(candidates));
    const size_t count = attempts.size();
    TCC_ASSIGN_OR_RETURN(std::vector<Finalist> finalists, Finalists(std::move(attempts)));
    TCC_ASSIGN_OR_RETURN(const size_t fastest, FastestOf(finalists));
    auto& [attempt, error] = finalists[fastest];
    result_.peers.push_back({std::string(peer.name),
                             fmt::format("{} (of {})", attempt.candidate->algorithm, count),
                             attempt.candidate->numeric, 0, error});
    contestants.push_back(std::move(attempt.work));
    return OkStatus();
  }

  const CompiledOperator& compiled_;
  const OperatorOptions& options_;
  const GpuBench& bench_;
  OperatorResult& result_;
  CudaTimingOptions timing_;
  std::vector<Tensor> inputs_, outputs_;  // as the artefact lays them out
  std::deque<Sets> sets_;                 // a deque, because others point into it
  int64_t set_count_ = 0;
};

}  // namespace

Status MeasureOnGpu(const CompiledOperator& compiled, const OperatorOptions& options,
                    const GpuBench& bench, OperatorResult& result) {
  return GpuRun(compiled, options, bench, result).Measure();
}

}  // namespace tcc
