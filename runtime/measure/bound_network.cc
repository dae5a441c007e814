#include "runtime/measure/bound_network.h"

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "runtime/artefact/memory_plan.h"
#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "runtime/measure/kernel_operands.h"
#include "runtime/measure/loaded_candidate.h"
#include "support/integer_division.h"
#include "support/stopwatch.h"

namespace tcc {
namespace {

// Memory for what is prepared, out of large pieces that have huge pages as the weights of an
// artefact have (runtime/executor/module.h): kernels that stream weights miss the TLB as
// often, or as seldom, as they will in the network that is shipped.
class PreparedMemory {
 public:
  // Zeroed memory at a multiple of kArenaAlignment, until this ends.
  StatusOr<uint8_t*> Take(int64_t bytes) {
    bytes = RoundUp(bytes, kArenaAlignment);
    if (bytes > left_) {
      int64_t piece = std::max(bytes, kPiece);
      TCC_ASSIGN_OR_RETURN(pieces_.emplace_back(), AllocateMemory(piece, "prepared constants"));
      next_ = pieces_.back().get();
      left_ = piece;
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

 private:
  static constexpr int64_t kPiece = int64_t{32} << 20;
  std::vector<std::shared_ptr<uint8_t>> pieces_;
  uint8_t* next_ = nullptr;
  int64_t left_ = 0;
};

// A candidate in its slot, and what it has prepared, by the constants of each call.
struct Bound {
  std::optional<LoadedCandidate> candidate;
  struct Prepared {
    std::vector<uint8_t*> memory;
    std::vector<int64_t> bytes;
    bool filled = false;
  };
  std::map<std::vector<void*>, Prepared> prepared;
};

struct KernelSlots {
  std::vector<OperandRole> roles;
  Bound bound[2];
};

}  // namespace

// Launches what is bound to a kernel, and sums up what that takes.
class BindingDevice final : public Device {
 public:
  explicit BindingDevice(std::vector<std::vector<OperandRole>> roles) : kernels_(roles.size()) {
    for (size_t k = 0; k < roles.size(); ++k) kernels_[k].roles = std::move(roles[k]);
  }

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    LoadedKernels kernels;
    kernels.entries.resize(artefact.metadata.kernels.size());
    return kernels;
  }

  Status Launch(const LoadedKernels&, size_t kernel,
                const LaunchArguments& arguments) const override {
    KernelSlots& slots = kernels_[kernel];
    Bound& bound = slots.bound[choice_[kernel]];
    if (!bound.candidate) return InvalidInput("kernel {} has no candidate", kernel);
    Bound::Prepared& prepared = bound.prepared[ConstantsOf(slots.roles, arguments.buffers)];
    if (!prepared.filled) TCC_RETURN_IF_ERROR(Prepare(*bound.candidate, arguments, prepared));
    const KernelCall& call = bound.candidate->calls.back();
    std::vector<void*> buffers = BuffersOf(call, arguments.buffers, prepared.memory);
    Stopwatch stopwatch;
    TCC_RETURN_IF_ERROR(LaunchCall(*bound.candidate, call, buffers));
    run_.kernel_seconds[kernel] += stopwatch.Seconds();
    return OkStatus();
  }

  KernelSlots& slots(size_t kernel) const { return kernels_[kernel]; }

  void BeginRun(std::span<const uint8_t> slots) const {
    choice_.assign(slots.begin(), slots.end());
    run_ = {.kernel_seconds = std::vector<double>(kernels_.size(), 0)};
    preparing_seconds_ = 0;
  }
  NetworkRun EndRun(double seconds) const {
    run_.seconds = seconds - preparing_seconds_;
    return run_;
  }

 private:
  // Fills what the candidate prepares, in the memory of a former candidate's where that suffices.
  Status Prepare(const LoadedCandidate& candidate, const LaunchArguments& arguments,
                 Bound::Prepared& prepared) const {
    Stopwatch stopwatch;
    size_t params = arguments.buffers.size();
    size_t count = candidate.bytes.size() - params;
    // Another candidate may have prepared more: its memory is kept.
    if (prepared.memory.size() < count) {
      prepared.memory.resize(count);
      prepared.bytes.resize(count, -1);
    }
    for (size_t p = 0; p < count; ++p) {
      int64_t bytes = candidate.bytes[params + p];
      if (prepared.bytes[p] >= bytes) continue;
      // Candidates pad by different amounts: room for a little more saves taking it again.
      bytes += bytes / 4;
      TCC_ASSIGN_OR_RETURN(prepared.memory[p], memory_.Take(bytes));
      prepared.bytes[p] = bytes;
    }
    // They begin as zeros, as they do in an artefact: padding is not written.
    for (size_t p = 0; p < count; ++p) {
      std::memset(prepared.memory[p], 0, static_cast<size_t>(candidate.bytes[params + p]));
    }
    for (size_t c = 0; c + 1 < candidate.calls.size(); ++c) {
      const KernelCall& call = candidate.calls[c];
      std::vector<void*> buffers = BuffersOf(call, arguments.buffers, prepared.memory);
      TCC_RETURN_IF_ERROR(LaunchCall(candidate, call, buffers));
    }
    prepared.filled = true;
    if (count > 0) run_.prepared = true;
    preparing_seconds_ += stopwatch.Seconds();
    return OkStatus();
  }

  // The module holds its device as const; one run at a time, in one thread, changes these.
  mutable std::vector<KernelSlots> kernels_;
  mutable PreparedMemory memory_;
  mutable std::vector<uint8_t> choice_;
  mutable NetworkRun run_;
  mutable double preparing_seconds_ = 0;
};

namespace {

StatusOr<std::vector<Tensor>> MakeTensors(std::span<const TensorInfo> infos, const char* what) {
  std::vector<Tensor> tensors;
  for (const TensorInfo& info : infos) {
    std::optional<std::vector<int64_t>> shape = StaticShape(info);
    if (!shape) return Unsupported("{} '{}' has free dimensions", what, info.name);
    TCC_ASSIGN_OR_RETURN(tensors.emplace_back(), AllocateTensor(info.dtype, *shape, info.name));
  }
  return tensors;
}

}  // namespace

StatusOr<std::unique_ptr<BoundNetwork>> BoundNetwork::Create(
    Artefact skeleton, std::vector<std::vector<OperandRole>> roles,
    std::shared_ptr<ThreadPool> pool, uint64_t seed) {
  if (roles.size() != skeleton.metadata.kernels.size()) {
    return InvalidInput("the skeleton has {} kernels; expected {}",
                        skeleton.metadata.kernels.size(), roles.size());
  }
  LoadOptions options{.pool = std::move(pool),
                      .device = std::make_shared<BindingDevice>(std::move(roles))};
  TCC_ASSIGN_OR_RETURN(Module module, Module::FromArtefact(std::move(skeleton), options));
  std::unique_ptr<BoundNetwork> network(new BoundNetwork(module));
  TCC_ASSIGN_OR_RETURN(network->inputs_, MakeTensors(module.metadata().inputs, "input"));
  TCC_ASSIGN_OR_RETURN(network->outputs_, MakeTensors(module.metadata().outputs, "output"));
  for (size_t i = 0; i < network->inputs_.size(); ++i) {
    Tensor& input = network->inputs_[i];
    FillValues(input.dtype, MutableBytes(input), seed + i);
  }
  return network;
}

const BindingDevice& BoundNetwork::device() const {
  return static_cast<const BindingDevice&>(executor_.module().device());
}

size_t BoundNetwork::kernels() const {
  return executor_.module().metadata().kernels.size();
}

Status BoundNetwork::Bind(size_t kernel, size_t slot, std::vector<uint8_t> artefact) {
  if (kernel >= kernels()) return InvalidInput("there is no kernel {}", kernel);
  if (slot > 1) return InvalidInput("there is no slot {}", slot);
  KernelSlots& slots = device().slots(kernel);
  Bound& bound = slots.bound[slot];
  bound.candidate.reset();
  for (auto& [constants, prepared] : bound.prepared) prepared.filled = false;
  TCC_ASSIGN_OR_RETURN(
      LoadedCandidate candidate,
      LoadCandidate(std::move(artefact), slots.roles, {.pool = executor_.module().pool()}));
  bound.candidate = std::move(candidate);
  return OkStatus();
}

StatusOr<NetworkRun> BoundNetwork::Run(std::span<const uint8_t> slots) {
  if (slots.size() != kernels()) {
    return InvalidInput("{} slots are chosen; the network has {} kernels", slots.size(), kernels());
  }
  device().BeginRun(slots);
  Stopwatch stopwatch;
  TCC_RETURN_IF_ERROR(executor_.RunInto(inputs_, outputs_));
  return device().EndRun(stopwatch.Seconds());
}

}  // namespace tcc
