#include "search/candidate/build_candidates.h"

#include "ir/expr/layout.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/simplify.h"
#include "runtime/artefact/artefact.h"
#include "runtime/artefact/artefact_device.h"
#include "runtime/artefact/memory_plan.h"
#include "runtime/cpu/cpu_features.h"
#include "schedule/space/runnable_schedule.h"
#include "support/check.h"
#include "support/integer_division.h"
#include "support/stop.h"
#include "support/stopwatch.h"
#include "support/threads.h"

namespace tcc {
namespace {

// A parameter as callers hold it: one row of all elements that its layout spans.
StatusOr<TensorInfo> OperandInfo(const Buffer& param, size_t index) {
  std::optional<int64_t> elements = AsConstant(Simplify(StoredElements(param)));
  if (!elements) return Unsupported("parameter p{} has a symbolic shape", index);
  return StaticTensor("p" + std::to_string(index), param.dtype(), {*elements});
}

StatusOr<int64_t> BytesOf(const TensorInfo& info) {
  return ByteCount(info.dtype, *StaticShape(info));
}

// Adds the parameters as inputs and outputs, and a buffer for each.
Status AddOperands(const Workload& workload, const Function& tensor, Artefact& artefact) {
  for (size_t i = 0; i < tensor.params.size(); ++i) {
    TCC_ASSIGN_OR_RETURN(TensorInfo info, OperandInfo(tensor.params[i], i));
    TCC_ASSIGN_OR_RETURN(int64_t bytes, BytesOf(info));
    bool is_input = i < workload.inputs;
    std::vector<TensorInfo>& tensors =
        is_input ? artefact.metadata.inputs : artefact.metadata.outputs;
    artefact.plan.buffers.push_back({.kind = is_input ? BufferKind::kInput : BufferKind::kOutput,
                                     .index = static_cast<uint32_t>(tensors.size()),
                                     .offset = 0,
                                     .bytes = bytes});
    tensors.push_back(std::move(info));
  }
  return OkStatus();
}

// Adds a buffer for each prepared constant, the calls that fill them, and the kernel's own.
void AddCalls(const LoweredKernel& kernel, size_t params, Artefact& artefact) {
  Plan& plan = artefact.plan;
  int64_t arena = 0;
  for (const PrepareStages& prepare : kernel.prepare) {
    plan.buffers.push_back({.kind = BufferKind::kArena, .offset = arena, .bytes = prepare.bytes});
    arena += RoundUp(prepare.bytes, kArenaAlignment);
  }
  plan.arena_bytes = arena;
  for (size_t p = 0; p < kernel.prepare.size(); ++p) {
    PlanCall call;
    call.kernel = static_cast<uint32_t>(p);
    for (size_t constant : kernel.prepare[p].constants) {
      call.buffers.push_back(static_cast<BufferId>(constant));
    }
    call.buffers.push_back(static_cast<BufferId>(params + p));
    plan.body.push_back({std::move(call)});
  }
  PlanCall call;
  call.kernel = static_cast<uint32_t>(kernel.prepare.size());
  for (const KernelOperand& operand : kernel.operands) {
    bool prepared = operand.kind == KernelOperand::Kind::kPrepared;
    call.buffers.push_back(static_cast<BufferId>(operand.index + (prepared ? params : 0)));
  }
  plan.body.push_back({std::move(call)});
}

StatusOr<Artefact> ArtefactOf(const Workload& workload, const Function& tensor,
                              const LoweredKernel& kernel, CompiledModule compiled,
                              const Target& target) {
  Artefact artefact;
  artefact.target = target.name;
  artefact.device = ArtefactDevice(target);
  artefact.kernels = OwnBytes(std::move(compiled.image));
  artefact.metadata.model = workload.name;
  for (const Function& fn : ModuleOf(kernel).kernels) {
    artefact.metadata.kernels.push_back({.name = fn.name, .nodes = {}});
  }
  artefact.metadata.kernels.back().flops = static_cast<int64_t>(std::min(workload.flops, 9e18));
  artefact.metadata.cpu_features = RequiredCpuFeatures(target);
  TCC_RETURN_IF_ERROR(AddOperands(workload, tensor, artefact));
  AddCalls(kernel, tensor.params.size(), artefact);
  return artefact;
}

Status RefusalOf(const CompiledModule& compiled) {
  for (const CompiledKernel& kernel : compiled.kernels) TCC_RETURN_IF_ERROR(kernel.refused);
  return OkStatus();
}

std::string FaultOf(const CompiledModule& compiled) {
  for (const CompiledKernel& kernel : compiled.kernels) {
    if (!kernel.fault.empty()) return kernel.fault;
  }
  return "";
}

Status Build(const Workload& workload, const Candidate& candidate, const BuildOptions& options,
             BuiltCandidate& built) {
  TCC_RETURN_IF_ERROR(StopIfRequested(options.stop));
  TCC_CHECK(candidate.schedule.variant < workload.variants.size()) << workload.name;
  const Function& tensor = workload.variants[candidate.schedule.variant];
  PipelineOptions pipeline;
  pipeline.stop = options.stop;
  StatusOr<Function> scheduled = ReplayFor(options.target, tensor, candidate.schedule);
  StatusOr<LoweredKernel> kernel =
      scheduled.ok() ? LowerKernel(*scheduled, pipeline) : scheduled.status();
  built.refused = absl::IsInvalidArgument(kernel.status());
  if (!kernel.ok()) return kernel.status();
  built.lowered_key = LoweredKey(*kernel);
  built.code_size = CodeSizeOf(*kernel);
  const BuildFilter& filter = options.filter;
  built.known = filter.known && filter.known(built.lowered_key);
  if (built.known) return OkStatus();
  if (filter.most_code > 0 && built.code_size > filter.most_code) {
    built.refused = true;
    return InvalidInput("its code has {} statements and expressions; expected at most {}",
                        built.code_size, filter.most_code);
  }
  BackendOptions backend{.threads = 1, .progress = {}, .stop = options.stop};
  TCC_ASSIGN_OR_RETURN(CompiledModule compiled,
                       options.backend->Compile(ModuleOf(*kernel), backend));
  TCC_RETURN_IF_ERROR(RefusalOf(compiled));
  built.fault = FaultOf(compiled);
  TCC_ASSIGN_OR_RETURN(Artefact artefact,
                       ArtefactOf(workload, tensor, *kernel, std::move(compiled), options.target));
  built.artefact = ArtefactBytes(artefact);
  return OkStatus();
}

}  // namespace

int64_t CodeSizeOf(const LoweredKernel& kernel) {
  int64_t size = 0;
  auto add = [&](const Function& fn) {
    PreOrder(fn.body, [&](const Stmt&) { ++size; });
    PreOrderExprs(fn.body, [&](const Expr&) { ++size; });
  };
  for (const PrepareStages& prepare : kernel.prepare) add(prepare.lowered);
  add(kernel.lowered);
  return size;
}

int64_t MostCodeBeside(int64_t default_size, const Target& target) {
  constexpr int64_t kFactor = 2;
  // 16 x 8 sums a thread in unrolled steps of 8 are 73,000. Of a product whose candidates had up to
  // 100,000 each took NVRTC 0.4 s in mean.
  constexpr int64_t kCpuAllowance = 8000, kGpuAllowance = 100'000;
  return kFactor * default_size + (target.kind == TargetKind::kGpu ? kGpuAllowance : kCpuAllowance);
}

LoweredModule ModuleOf(const LoweredKernel& kernel) {
  LoweredModule module;
  for (const PrepareStages& prepare : kernel.prepare) {
    Function fn = prepare.lowered;
    fn.name = "prepare_" + std::to_string(module.kernels.size());
    module.kernels.push_back(std::move(fn));
  }
  module.kernels.push_back(kernel.lowered);
  module.kernels.back().name = "kernel";
  return module;
}

std::vector<BuiltCandidate> BuildCandidates(const Workload& workload,
                                            std::span<const Candidate> candidates,
                                            const BuildOptions& options) {
  std::vector<BuiltCandidate> built(candidates.size());
  auto build = [&](size_t i) {
    Stopwatch stopwatch;
    built[i].status = Build(workload, candidates[i], options, built[i]);
    built[i].build_seconds = stopwatch.Seconds();
    return OkStatus();
  };
  TCC_CHECK(ForEachIndex(candidates.size(), options.threads, build).ok());
  return built;
}

}  // namespace tcc
