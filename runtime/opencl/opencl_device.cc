#include "runtime/opencl/opencl_device.h"

#include <optional>

#include "runtime/opencl/opencl_program.h"
#include "runtime/opencl/opencl_queue.h"
#include "support/check.h"
#include "support/environment.h"

namespace tcc {
namespace {

class OpenClDevice final : public Device {
 public:
  OpenClDevice(std::optional<OpenClDriver> driver, int ordinal)
      : driver_(driver), ordinal_(ordinal) {}

  StatusOr<LoadedKernels> LoadKernels(const Artefact& artefact) const override {
    OpenClDriver driver;
    if (driver_) {
      driver = *driver_;
    } else {
      TCC_ASSIGN_OR_RETURN(driver, OpenOpenClDriver());
    }
    int ordinal = ordinal_;
    if (ordinal == -1) {
      TCC_ASSIGN_OR_RETURN(ordinal, DeviceNumber("TCC_OPENCL_DEVICE"));
    }
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const OpenClContext> context,
                         OpenClContext::Open(driver, ordinal));
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<const OpenClProgram> program,
                         OpenClProgram::Load(std::move(context), artefact));
    LoadedKernels loaded;
    loaded.weights = program->weights();
    loaded.ordinal = ordinal;
    loaded.module = std::move(program);
    return loaded;
  }

  Status Launch(const LoadedKernels&, size_t, const LaunchArguments&) const override {
    TCC_CHECK(false) << "kernels of an OpenCL device are launched by its queue";
    __builtin_unreachable();
  }

  StatusOr<std::unique_ptr<DeviceQueue>> MakeQueue(const LoadedKernels& kernels) const override {
    return OpenClQueue::Make(std::static_pointer_cast<const OpenClProgram>(kernels.module));
  }

 private:
  std::optional<OpenClDriver> driver_;
  int ordinal_;
};

}  // namespace

std::shared_ptr<const Device> MakeOpenClDevice(int ordinal) {
  return std::make_shared<OpenClDevice>(std::nullopt, ordinal);
}

std::shared_ptr<const Device> MakeOpenClDevice(const OpenClDriver& driver, int ordinal) {
  return std::make_shared<OpenClDevice>(driver, ordinal);
}

}  // namespace tcc
