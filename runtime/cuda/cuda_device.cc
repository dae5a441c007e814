#include "runtime/cuda/cuda_device.h"

#include <optional>

#include "runtime/cuda/cuda_program.h"
#include "runtime/cuda/cuda_queue.h"
#include "support/check.h"
#include "support/environment.h"
#include "support/target_api.h"

namespace tcc {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(std::optional<CudaDriver> driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    CudaDriver driver;
    if (driver_) {
      driver = *driver_;
    } else {
      TCC_ASSIGN_OR_RETURN(driver, OpenCudaDriver());
    }
    int ordinal = ordinal_;
    if (ordinal == -1) {
      TCC_ASSIGN_OR_RETURN(ordinal, ChosenCudaOrdinal());
    }
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const CudaContext> context,
                         CudaContext::Open(driver, ordinal));
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const CudaProgram> program,
                         CudaProgram::Load(std::move(context), artefact));
    LoadedKernels loaded;
    loaded.weights = program->weights();
    loaded.ordinal = ordinal;
    loaded.gpu = program->context()->device().name;
    loaded.module = std::move(program);
    return loaded;
  }

  Status Launch(const LoadedKernels&, size_t, const LaunchArguments&) const override {
    TCC_CHECK(false) << "kernels of a CUDA device are launched by its queue";
    __builtin_unreachable();
  }

  StatusOr<std::unique_ptr<DeviceQueue>> MakeQueue(const LoadedKernels& kernels) const override {
    return CudaQueue::Make(std::static_pointer_cast<const CudaProgram>(kernels.module));
  }

 private:
  std::optional<CudaDriver> driver_;
  int ordinal_;
};

}  // namespace

StatusOr<int> ChosenCudaOrdinal() {
  return DeviceNumber("TCC_CUDA_DEVICE");
}

StatusOr<Target> TargetOf(const CudaDeviceInfo& device) {
  const Target* with_code = nullptr;
  const Target* with_ptx = nullptr;
  for (const Target& target : AllTargets()) {
    if (!IsCuda(target)) continue;
    const bool has_suffix = HasSuffix(target.name);
    const CudaImageChoice choice = ChooseImage(device.sm, target.sm, has_suffix, !has_suffix);
    if (choice == CudaImageChoice::kNone) continue;
    const Target*& best = choice == CudaImageChoice::kCode ? with_code : with_ptx;
    if (best == nullptr || best->sm < target.sm) best = &target;
  }
  if (with_code != nullptr) return *with_code;
  if (with_ptx != nullptr) return *with_ptx;
  return Missing("no target has code for {}", Describe(device));
}

std::shared_ptr<const Device> MakeCudaDevice(int ordinal) {
  return std::make_shared<CudaDevice>(std::nullopt, ordinal);
}

std::shared_ptr<const Device> MakeCudaDevice(const CudaDriver& driver, int ordinal) {
  return std::make_shared<CudaDevice>(driver, ordinal);
}

}  // namespace tcc
