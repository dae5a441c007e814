// cuDNN: convolutions, with bias and Relu fused, in both layouts, and Relu. Every engine
// configuration that one of its heuristics names and that computes in float32 is a candidate.

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "bench/gpu/cudnn_descriptor.h"
#include "bench/gpu/gpu_peers.h"

namespace tcc {
namespace {

using namespace cudnn;

constexpr HeuristicMode kModes[] = {kModeA, kModeB, kModeFallback};
// Of a heuristic in one layout; engines that are compiled when they are first used take seconds.
constexpr int64_t kMostConfigs = 40;
constexpr int64_t kMostWorkspaceBytes = int64_t{4} << 30;
constexpr int64_t kAlignment = 16;
constexpr int64_t kX = 1, kW = 2, kBias = 3, kY = 4, kConvolved = 5, kBiased = 6;  // tensors' ids

using Image = std::array<int64_t, 4>;

Image StridesOf(const Image& dims, bool channels_last) {
  auto [n, c, h, w] = dims;
  if (channels_last) return {h * w * c, 1, w * c, c};
  return {c * h * w, h * w, w, 1};
}

// The pieces of an operation graph. Descriptors refer to each other and live together.
struct OperationGraph {
  std::vector<Descriptor> parts;
  Descriptor graph;
};

class GraphBuilding {
 public:
  GraphBuilding(const Session& session, bool channels_last)
      : session_(session), channels_last_(channels_last) {}

  // Virtual ones are not stored.
  StatusOr<void*> Tensor(int64_t id, const Image& dims) {
    Image strides = StridesOf(dims, channels_last_);
    bool is_virtual = id == kConvolved || id == kBiased;
    Descriptor tensor(session_, kTensor, "a tensor");
    tensor.Set(kTensorDataType, kTypeDataType, kFloat)
        .Set(kTensorDimensions, std::span<const int64_t>(dims))
        .Set(kTensorStrides, std::span<const int64_t>(strides))
        .Set(kTensorId, kTypeInt64, id)
        .Set(kTensorAlignment, kTypeInt64, kAlignment)
        .Set(kTensorIsVirtual, kTypeBoolean, is_virtual);
    return Keep(std::move(tensor));
  }

  Status Convolve(const WindowShape& window, void* x, void* w, void* y) {
    const int64_t two = 2;
    const int64_t ones[] = {1, 1}, strides[] = {window.stride, window.stride};
    const int64_t before[] = {window.top, window.left}, after[] = {window.bottom, window.right};
    Descriptor convolution(session_, kConvolution, "a convolution");
    convolution.Set(kConvolutionPrecision, kTypeDataType, kFloat)
        .Set(kConvolutionMode, kTypeConvolutionMode, kCrossCorrelation)
        .Set(kConvolutionDilations, std::span<const int64_t>(ones))
        .Set(kConvolutionStrides, std::span<const int64_t>(strides))
        .Set(kConvolutionPrePaddings, std::span<const int64_t>(before))
        .Set(kConvolutionPostPaddings, std::span<const int64_t>(after))
        .Set(kConvolutionSpatialDims, kTypeInt64, two);
    TCC_ASSIGN_OR_RETURN(void* desc, Keep(std::move(convolution)));
    Descriptor forward(session_, kOperationConvolutionForward, "an operation");
    forward.Set(kForwardConvolution, kTypeDescriptor, desc)
        .Set(kForwardX, kTypeDescriptor, x)
        .Set(kForwardW, kTypeDescriptor, w)
        .Set(kForwardY, kTypeDescriptor, y)
        .Set(kForwardAlpha, kTypeFloat, 1.0F)
        .Set(kForwardBeta, kTypeFloat, 0.0F);
    return Add(std::move(forward));
  }

  // y = mode(x), or mode(x, b) where `b` is not null.
  Status Pointwise(int mode, void* x, void* b, void* y) {
    Descriptor pointwise(session_, kPointwise, "a pointwise function");
    pointwise.Set(kPointwiseMode, kTypePointwiseMode, mode)
        .Set(kPointwisePrecision, kTypeDataType, kFloat);
    TCC_ASSIGN_OR_RETURN(void* desc, Keep(std::move(pointwise)));
    Descriptor operation(session_, kOperationPointwise, "an operation");
    operation.Set(kPointwiseDescriptor, kTypeDescriptor, desc).Set(kPointwiseX, kTypeDescriptor, x);
    if (b != nullptr) operation.Set(kPointwiseB, kTypeDescriptor, b);
    operation.Set(kPointwiseY, kTypeDescriptor, y);
    return Add(std::move(operation));
  }

  StatusOr<std::shared_ptr<const OperationGraph>> Finish() {
    Descriptor graph(session_, kOperationGraph, "an operation graph");
    graph.Set(kGraphHandle, kTypeHandle, session_.handle())
        .Set(kGraphOperations, kTypeDescriptor, std::span<void* const>(operations_));
    TCC_RETURN_IF_ERROR(graph.Finalize());
    return std::make_shared<const OperationGraph>(
        OperationGraph{std::move(parts_), std::move(graph)});
  }

 private:
  StatusOr<void*> Keep(Descriptor descriptor) {
    TCC_RETURN_IF_ERROR(descriptor.Finalize());
    parts_.push_back(std::move(descriptor));
    return parts_.back().get();
  }
  Status Add(Descriptor operation) {
    TCC_ASSIGN_OR_RETURN(void* kept, Keep(std::move(operation)));
    operations_.push_back(kept);
    return OkStatus();
  }

  const Session& session_;
  bool channels_last_;
  std::vector<Descriptor> parts_;
  std::vector<void*> operations_;
};

using SharedGraph = std::shared_ptr<const OperationGraph>;

StatusOr<SharedGraph> GraphOf(const Session& session, const ConvolutionOp& op, bool channels_last) {
  const WindowShape& window = op.window;
  GraphBuilding building(session, channels_last);
  Image out = {window.batch, op.filters, window.OutHeight(), window.OutWidth()};
  TCC_ASSIGN_OR_RETURN(
      void* x, building.Tensor(kX, {window.batch, window.channels, window.height, window.width}));
  TCC_ASSIGN_OR_RETURN(void* w, building.Tensor(kW, {op.filters, window.channels / op.groups,
                                                     window.kernel, window.kernel}));
  TCC_ASSIGN_OR_RETURN(void* y, building.Tensor(kY, out));
  if (!op.bias_relu) {
    TCC_RETURN_IF_ERROR(building.Convolve(window, x, w, y));
    return building.Finish();
  }
  TCC_ASSIGN_OR_RETURN(void* bias, building.Tensor(kBias, {1, op.filters, 1, 1}));
  TCC_ASSIGN_OR_RETURN(void* convolved, building.Tensor(kConvolved, out));
  TCC_ASSIGN_OR_RETURN(void* biased, building.Tensor(kBiased, out));
  TCC_RETURN_IF_ERROR(building.Convolve(window, x, w, convolved));
  TCC_RETURN_IF_ERROR(building.Pointwise(kAdd, convolved, bias, biased));
  TCC_RETURN_IF_ERROR(building.Pointwise(kReluForward, biased, nullptr, y));
  return building.Finish();
}

StatusOr<SharedGraph> GraphOf(const Session& session, const ReluOp& op) {
  Image dims = {1, 1, 1, 1};
  for (size_t i = 0; i < op.shape.size(); ++i) dims[std::min<size_t>(i, 3)] *= op.shape[i];
  GraphBuilding building(session, false);
  TCC_ASSIGN_OR_RETURN(void* x, building.Tensor(kX, dims));
  TCC_ASSIGN_OR_RETURN(void* y, building.Tensor(kY, dims));
  TCC_RETURN_IF_ERROR(building.Pointwise(kReluForward, x, nullptr, y));
  return building.Finish();
}

// One for all plans of an operator: they run one after another.
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

// What an engine is: its number and its notes.
struct EngineFacts {
  int64_t index = -1;
  std::vector<int> notes;

  bool Has(int note) const { return std::ranges::count(notes, note) > 0; }
  // Computes as float32 does, in whatever order.
  bool IsStrict() const {
    return !Has(kTensorCore) && !Has(kDownConvertInputs) && !Has(kReducedPrecisionReduction);
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
  count = std::min(count, kMostConfigs);
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
  if (bytes > kMostWorkspaceBytes) return absl::ResourceExhaustedError("a workspace is too large");
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
  Descriptor pack(session, kVariantPack, "a variant pack");
  pack.Set(kPackIds, std::span<const int64_t>(ids))
      .Set(kPackPointers, kTypePointer, std::span<void* const>(pointers))
      .Set(kPackWorkspace, kTypePointer, static_cast<void*>(plan.workspace->memory.data()));
  TCC_RETURN_IF_ERROR(pack.Finalize());
  return session.Expect(session.library().execute(session.handle(), plan.plan.get(), pack.get()),
                        "cudnnBackendExecute", "a plan");
}

// Engines that cannot do it after all are left out; an error is one of the heuristics of all modes.
Status AddCandidates(const Session& session, const std::shared_ptr<Workspace>& workspace,
                     const SharedGraph& graph, bool channels_last,
                     std::vector<GpuCandidate>& candidates) {
  Status failed;
  bool any = false;
  for (HeuristicMode mode : kModes) {
    StatusOr<std::vector<Descriptor>> configs = ConfigsOf(session, *graph, mode);
    if (!configs.ok()) {
      failed = configs.status();
      continue;
    }
    any = true;
    for (Descriptor& config : *configs) {
      StatusOr<EngineFacts> facts = FactsOf(session, config);
      if (!facts.ok() || !facts->IsStrict()) continue;
      StatusOr<std::shared_ptr<const Plan>> plan =
          PlanOf(session, workspace, graph, std::move(config));
      if (!plan.ok()) continue;
      candidates.push_back({.algorithm = facts->Text(channels_last),
                            .channels_last = channels_last,
                            .enqueue = [&session, plan = *plan](const GpuOperands& operands) {
                              return Execute(session, *plan, operands);
                            }});
    }
  }
  return any ? OkStatus() : failed;
}

}  // namespace

StatusOr<std::vector<GpuCandidate>> CudnnCandidates(const BenchOperator& op,
                                                    const GpuBench& bench) {
  std::vector<GpuCandidate> candidates;
  const auto* convolution = std::get_if<ConvolutionOp>(&op.kind);
  const auto* relu = std::get_if<ReluOp>(&op.kind);
  if (convolution == nullptr && relu == nullptr) return candidates;
  static const StatusOr<Session> session = Session::Open(bench.stream());
  TCC_RETURN_IF_ERROR(session.status());
  auto workspace = std::make_shared<Workspace>();
  for (bool channels_last : {false, true}) {
    if (relu != nullptr && channels_last) continue;
    TCC_ASSIGN_OR_RETURN(SharedGraph graph, relu != nullptr
                                                ? GraphOf(*session, *relu)
                                                : GraphOf(*session, *convolution, channels_last));
    TCC_RETURN_IF_ERROR(AddCandidates(*session, workspace, graph, channels_last, candidates));
  }
  TCC_ASSIGN_OR_RETURN(workspace->memory, bench.Allocate(workspace->bytes, "cuDNN's workspace"));
  return candidates;
}

}  // namespace tcc
