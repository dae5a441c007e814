#include "runtime/accelerator/vdla_device.h"

#include <utility>

#include "runtime/cpu/cpu_device.h"
#include "runtime/vdla/vdla_image.h"
#include "runtime/vdla/vdla_machine.h"

namespace tcc {
namespace {

// A kernel: the accelerator's program with its cycles, or the number of the CPU's kernel.
struct Entry {
  std::optional<VdlaProgram> program;
  int64_t cycles = 0;
  size_t host = 0;
};

struct Module {
  LoadedKernels host;
  std::vector<Entry> entries;
};

class VdlaDevice final : public Device {
 public:
  explicit VdlaDevice(std::shared_ptr<ThreadPool> pool) : cpu_(MakeCpuDevice(std::move(pool))) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    const std::vector<KernelInfo>& kernels = artefact.metadata.kernels;
    TCC_ASSIGN_OR_RETURN(VdlaImage image, ParseVdlaImage(artefact.kernels.bytes, VdlaConfig()));
    if (image.programs.size() != kernels.size()) {
      return InvalidInput("vdla image has {} kernels; the artefact has {}", image.programs.size(),
                          kernels.size());
    }
    auto module = std::make_shared<Module>();
    Artefact host;
    host.metadata.cpu_features = artefact.metadata.cpu_features;
    for (size_t k = 0; k < kernels.size(); ++k) {
      Entry& entry = module->entries.emplace_back();
      entry.program = std::move(image.programs[k]);
      entry.host = host.metadata.kernels.size();
      if (!entry.program) {
        host.metadata.kernels.push_back(kernels[k]);
        continue;
      }
      const StatusOr<VdlaCounts> counts = TimeVdla(*entry.program, VdlaConfig());
      TCC_RETURN_IF_ERROR(Annotate(counts.status(), "kernel '" + kernels[k].name + "'"));
      entry.cycles = counts->cycles;
    }
    host.kernels = OwnBytes(std::move(image.host));
    TCC_ASSIGN_OR_RETURN(module->host, cpu_->LoadKernels(host));
    LoadedKernels loaded;
    for (const Entry& entry : module->entries) loaded.entries.push_back(&entry);
    loaded.module = std::move(module);
    return loaded;
  }

  int64_t TensorAlignment(DType dtype) const override { return cpu_->TensorAlignment(dtype); }

  std::optional<double> SimulatedSeconds(const LoadedKernels& kernels,
                                         size_t kernel) const override {
    const Entry& entry = static_cast<const Module*>(kernels.module.get())->entries[kernel];
    if (!entry.program) return std::nullopt;
    return static_cast<double>(entry.cycles) / VdlaConfig().hertz;
  }

  Status Launch(const LoadedKernels& kernels, size_t kernel,
                const LaunchArguments& arguments) const override {
    const auto& module = *static_cast<const Module*>(kernels.module.get());
    const Entry& entry = module.entries[kernel];
    if (!entry.program) return cpu_->Launch(module.host, entry.host, arguments);
    if (entry.program->buffers != arguments.buffers.size()) {
      return InvalidInput("a kernel of the accelerator takes {} buffers; it is called with {}",
                          entry.program->buffers, arguments.buffers.size());
    }
    std::vector<std::span<uint8_t>> operands;
    for (size_t b = 0; b < arguments.buffers.size(); ++b) {
      operands.emplace_back(static_cast<uint8_t*>(arguments.buffers[b]),
                            static_cast<size_t>(arguments.bytes[b]));
    }
    return RunVdla(*entry.program, VdlaConfig(), operands).status();
  }

 private:
  std::shared_ptr<const Device> cpu_;
};

}  // namespace

std::shared_ptr<const Device> MakeVdlaDevice(std::shared_ptr<ThreadPool> pool) {
  return std::make_shared<const VdlaDevice>(std::move(pool));
}

}  // namespace tcc
