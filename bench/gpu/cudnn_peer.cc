// cuDNN: convolutions, with bias and Relu fused, in both layouts, Relu and layer normalization by
// its backend interface, where every engine configuration that one of its heuristics names and that
// rounds no more than the numeric mode does is a candidate; the rest is in cudnn_functions.cc.

#include <algorithm>
#include <array>
#include <memory>

#include "bench/gpu/cudnn_functions.h"
#include "bench/gpu/cudnn_operations.h"
#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

using namespace cudnn;

constexpr HeuristicMode kModes[] = {kModeA, kModeB, kModeFallback};
// The most configurations of one heuristic in one layout; engines that are compiled when they are
// first used take seconds.
constexpr int64_t kMaxConfigs = 40;
constexpr int64_t kMaxWorkspaceBytes = int64_t{4} << 30;

// The workspace that all plans of an operator share, since they run one after another.
struct Workspace {
  int64_t bytes = 0;
  CudaMemory memory;  // once all plans are known
};

// An engine and its settings, ready to run.
struct Plan {
  SharedGraph graph;
  Descriptor config, plan;
  std::shared_ptr<const Workspace> workspace;
};

// The number and the numerical notes of an engine.
struct EngineFacts {
  int64_t index = -1;
  std::vector<int> notes;

  bool Has(int note) const { return std::ranges::count(notes, note) > 0; }
  // Returns whether it computes as float32 does, in whatever order.
  bool IsStrict() const {
    return !Has(kTensorCore) && !Has(kDownConvertInputs) && !Has(kReducedPrecisionReduction);
  }
  // Returns the arithmetic for float32 operands; sums stay float32. cuDNN does not tell what
  // operands are rounded to, but engines that convert them down do so to 16 bits, and tensor cores
  // multiply others as tf32.
  std::string_view Numeric() const {
    if (Has(kDownConvertInputs)) return "operands converted down";
    return Has(kTensorCore) ? "tf32" : "strict";
  }
  std::string Text(bool channels_last) const {
    std::string text = fmt::format("engine {}, {}", index, channels_last ? "NHWC" : "NCHW");
    bool winograd = Has(kWinograd) || Has(kWinograd4x4) || Has(kWinograd6x6) || Has(kWinograd13x13);
    if (winograd) text += ", Winograd";
    if (Has(kFft)) text += ", FFT";
    return text;
  }
};

StatusOr<EngineFacts> FactsOf(const Session& session, const Descriptor& config) {
  Descriptor engine(session, kEngine, "an engine");
  void* handle = engine.get();
  TCC_RETURN_IF_ERROR(
      config.Get(kConfigEngine, kTypeDescriptor, 1, static_cast<void*>(&handle)).status());
  EngineFacts facts;
  TCC_RETURN_IF_ERROR(engine.Get(kEngineIndex, kTypeInt64, 1, &facts.index).status());
  std::array<int, kNoteCount> notes{};
  TCC_ASSIGN_OR_RETURN(int64_t count,
                       engine.Get(kEngineNotes, kTypeNumericalNote, kNoteCount, notes.data()));
  facts.notes.assign(notes.begin(), notes.begin() + std::min(count, kNoteCount));
  return facts;
}

StatusOr<std::vector<Descriptor>> ConfigsOf(const Session& session, const OperationGraph& graph,
                                            HeuristicMode mode) {
  Descriptor heuristic(session, kEngineHeuristic, "a heuristic");
  heuristic.Set(kHeuristicMode, kTypeHeuristicMode, static_cast<int>(mode))
      .Set(kHeuristicGraph, graph.graph);
  TCC_RETURN_IF_ERROR(heuristic.Finalize());
  TCC_ASSIGN_OR_RETURN(int64_t count,
                       heuristic.Get(kHeuristicResults, kTypeDescriptor, 0, nullptr));
  count = std::min(count, kMaxConfigs);
  std::vector<Descriptor> configs;
  std::vector<void*> handles;
  for (int64_t i = 0; i < count; ++i) {
    configs.emplace_back(session, kEngineConfig, "an engine configuration");
    handles.push_back(configs.back().get());
  }
  if (count == 0) return configs;
  TCC_ASSIGN_OR_RETURN(int64_t found, heuristic.Get(kHeuristicResults, kTypeDescriptor, count,
                                                    static_cast<void*>(handles.data())));
  configs.erase(configs.begin() + std::min(found, count), configs.end());
  return configs;
}

StatusOr<std::shared_ptr<const Plan>> PlanOf(const Session& session,
                                             const std::shared_ptr<Workspace>& workspace,
                                             SharedGraph graph, Descriptor config) {
  Descriptor plan(session, kExecutionPlan, "a plan");
  plan.Set(kPlanHandle, kTypeHandle, session.handle()).Set(kPlanConfig, config);
  TCC_RETURN_IF_ERROR(plan.Finalize());
  int64_t bytes = 0;
  TCC_RETURN_IF_ERROR(plan.Get(kPlanWorkspaceBytes, kTypeInt64, 1, &bytes).status());
  if (bytes > kMaxWorkspaceBytes) return absl::ResourceExhaustedError("a workspace is too large");
  workspace->bytes = std::max(workspace->bytes, bytes);
  return std::make_shared<const Plan>(
      Plan{std::move(graph), std::move(config), std::move(plan), workspace});
}

Status Execute(const Session& session, const Plan& plan, const GpuOperands& operands) {
  std::vector<int64_t> ids = {kX, kY};
  std::vector<void*> pointers = {operands.inputs[0], operands.outputs[0]};
  for (size_t i = 0; i < operands.constants.size(); ++i) {
    ids.push_back(i == 0 ? kW : kBias);
    pointers.push_back(operands.constants[i]);
  }
  float epsilon = plan.graph->epsilon.value_or(0);
  if (plan.graph->epsilon) {
    ids.push_back(kEpsilon);
    pointers.push_back(&epsilon);
  }
  Descriptor pack(session, kVariantPack, "a variant pack");
  pack.Set(kPackIds, std::span<const int64_t>(ids))
      .Set(kPackPointers, kTypePointer, std::span<void* const>(pointers))
      .Set(kPackWorkspace, kTypePointer, static_cast<void*>(plan.workspace->memory.data()));
  TCC_RETURN_IF_ERROR(pack.Finalize());
  return session.Expect(session.library().execute(session.handle(), plan.plan.get(), pack.get()),
                        "cudnnBackendExecute", "a plan");
}

// An operator as a graph of cuDNN's, and which engines may compute it.
struct Problem {
  SharedGraph graph;
  Storage storage = {};
  DType stored = kFloat32;  // the same type as storage.operands
  bool strictly = true;
  std::string numeric = {};  // of all its engines; "": each has its own

  bool Allows(const EngineFacts& engine) const {
    return strictly ? engine.IsStrict() : !engine.Has(kReducedPrecisionReduction);
  }
};

// Adds the engines of all heuristics that can compute the problem. Fails only if every heuristic
// does.
Status AddCandidates(const Session& session, const std::shared_ptr<Workspace>& workspace,
                     const Problem& problem, std::vector<GpuCandidate>& candidates) {
  Status failed;
  bool any = false;
  for (HeuristicMode mode : kModes) {
    StatusOr<std::vector<Descriptor>> configs = ConfigsOf(session, *problem.graph, mode);
    if (!configs.ok()) {
      failed = configs.status();
      continue;
    }
    any = true;
    for (Descriptor& config : *configs) {
      StatusOr<EngineFacts> facts = FactsOf(session, config);
      if (!facts.ok() || !problem.Allows(*facts)) continue;
      StatusOr<std::shared_ptr<const Plan>> plan =
          PlanOf(session, workspace, problem.graph, std::move(config));
      if (!plan.ok()) continue;
      bool last = problem.storage.channels_last;
      candidates.push_back(
          {.algorithm = facts->Text(last),
           .numeric = problem.numeric.empty() ? std::string(facts->Numeric()) : problem.numeric,
           .stored = problem.stored,
           .channels_last = last,
           .enqueue = [&session, plan = *plan](const GpuOperands& operands) {
             return Execute(session, *plan, operands);
           }});
    }
  }
  return any ? OkStatus() : failed;
}

int TypeOf(DType stored) {
  if (stored == kFloat16) return kHalf;
  return stored == kFloat32 ? kFloat : kBfloat16;
}

// Returns the convolution in both layouts; in modes of 16 bits also on operands that are stored so.
StatusOr<std::vector<Problem>> ConvolutionProblems(const Session& session, const ConvolutionOp& op,
                                                   NumericMode numeric) {
  const NumericModeRow& mode = RowOf(numeric);
  bool strictly = numeric == NumericMode::kStrict || numeric == NumericMode::k3xTf32;
  std::vector<DType> types = {kFloat32};
  if (mode.type) types.push_back(*mode.type);
  std::vector<Problem> problems;
  for (DType stored : types) {
    for (bool last : {false, true}) {
      Problem problem{.graph = {}, .storage = {last, TypeOf(stored)}, .stored = stored};
      problem.strictly = strictly;
      if (stored != kFloat32) problem.numeric = fmt::format("{}, stored so", mode.name);
      TCC_ASSIGN_OR_RETURN(problem.graph, GraphOf(session, op, problem.storage));
      problems.push_back(std::move(problem));
    }
  }
  return problems;
}

// Returns the problems of an operator in the layouts that it has.
StatusOr<std::vector<Problem>> ProblemsOf(const Session& session, const BenchOperator& op,
                                          NumericMode numeric) {
  if (const auto* convolution = std::get_if<ConvolutionOp>(&op.kind)) {
    return ConvolutionProblems(session, *convolution, numeric);
  }
  std::vector<Problem> problems;
  if (const auto* relu = std::get_if<ReluOp>(&op.kind)) {
    TCC_ASSIGN_OR_RETURN(SharedGraph graph, GraphOf(session, *relu));
    problems.push_back({.graph = std::move(graph)});
  }
  if (const auto* norm = std::get_if<LayerNormOp>(&op.kind)) {
    TCC_ASSIGN_OR_RETURN(SharedGraph graph, GraphOf(session, *norm));
    problems.push_back({.graph = std::move(graph)});
  }
  return problems;
}

// Returns the candidates of all problems. If there are none, the error is that of the first problem
// that failed.
StatusOr<std::vector<GpuCandidate>> EngineCandidates(const Session& session,
                                                     const BenchOperator& op, NumericMode numeric,
                                                     const GpuBench& bench) {
  std::vector<GpuCandidate> candidates;
  auto workspace = std::make_shared<Workspace>();
  TCC_ASSIGN_OR_RETURN(std::vector<Problem> problems, ProblemsOf(session, op, numeric));
  Status failed;
  for (const Problem& problem : problems) {
    failed.Update(AddCandidates(session, workspace, problem, candidates));
  }
  if (candidates.empty()) TCC_RETURN_IF_ERROR(failed);
  TCC_ASSIGN_OR_RETURN(workspace->memory, bench.Allocate(workspace->bytes, "cuDNN's workspace"));
  return candidates;
}

bool HasCudnn(const BenchOperator& op) {
  return !std::holds_alternative<MatmulOp>(op.kind) &&
         !std::holds_alternative<AttentionOp>(op.kind) &&
         !std::holds_alternative<NetworkOp>(op.kind);
}

}  // namespace

StatusOr<std::vector<GpuCandidate>> CudnnCandidates(const BenchOperator& op, NumericMode numeric,
                                                    const GpuBench& bench) {
  if (!HasCudnn(op)) return std::vector<GpuCandidate>();
  TCC_ASSIGN_OR_RETURN(const Session* session, SharedSession(bench.stream()));
  if (const auto* pool = std::get_if<AveragePoolOp>(&op.kind)) {
    return PoolingCandidates(*session, *pool);
  }
  if (const auto* softmax = std::get_if<SoftmaxOp>(&op.kind)) {
    return SoftmaxCandidates(*session, *softmax);
  }
  if (const auto* sum = std::get_if<ReduceSumOp>(&op.kind)) {
    return SumCandidates(*session, *sum, bench);
  }
  return EngineCandidates(*session, op, numeric, bench);
}

}  // namespace tcc
