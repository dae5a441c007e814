#include "runtime/opencl/opencl_device.h"

#include "runtime/opencl/opencl_program.h"
#include "runtime/opencl/opencl_queue.h"
#include "support/check.h"
#include "support/environment.h"

namespace tcc {
namespace {

class OpenClDevice : public Device {
 public:
  explicit OpenClDevice(int ordinal) : ordinal_(ordinal) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    TCC_ASSIGN_OR_RETURN(OpenClDriver driver, OpenOpenClDriver());
    int ordinal = ordinal_;
    if (ordinal == -1) {
      TCC_ASSIGN_OR_RETURN(ordinal, ChosenOpenClOrdinal());
    }
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const OpenClContext> context,
                         OpenClContext::Open(driver, ordinal));
    return Load(std::make_shared<OpenClMemory>(std::move(context)), artefact, CacheFolder());
  }

  Status Launch(const LoadedKernels&, size_t, const LaunchArguments&) const override {
    TCC_CHECK(false) << "kernels of an OpenCL device are launched by its queue";
    __builtin_unreachable();
  }

  StatusOr<std::unique_ptr<DeviceQueue>> MakeQueue(const LoadedKernels& kernels) const override {
    return OpenClQueue::Make(std::static_pointer_cast<const OpenClProgram>(kernels.module));
  }

 protected:
  static StatusOr<LoadedKernels> Load(std::shared_ptr<OpenClMemory> memory,
                                      const Artefact& artefact, const std::string& cache_folder) {
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const OpenClProgram> program,
                         OpenClProgram::Load(std::move(memory), artefact, cache_folder));
    LoadedKernels loaded;
    loaded.weights = program->weights();
    loaded.ordinal = program->context()->device().ordinal;
    loaded.gpu = program->context()->device().name;
    loaded.module = std::move(program);
    return loaded;
  }

 private:
  int ordinal_;
};

class DeviceOverMemory final : public OpenClDevice {
 public:
  explicit DeviceOverMemory(std::shared_ptr<OpenClMemory> memory)
      : OpenClDevice(memory->context()->device().ordinal), memory_(std::move(memory)) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    return Load(memory_, artefact, /*cache_folder=*/"");
  }

 private:
  std::shared_ptr<OpenClMemory> memory_;
};

}  // namespace

std::shared_ptr<const Device> MakeOpenClDevice(int ordinal) {
  return std::make_shared<OpenClDevice>(ordinal);
}

std::shared_ptr<const Device> MakeOpenClDevice(std::shared_ptr<OpenClMemory> memory) {
  return std::make_shared<DeviceOverMemory>(std::move(memory));
}

StatusOr<int> ChosenOpenClOrdinal() {
  return DeviceNumber("TCC_OPENCL_DEVICE");
}

}  // namespace tcc
