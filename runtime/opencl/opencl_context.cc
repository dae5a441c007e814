#include "runtime/opencl/opencl_context.h"

#include <cstdio>

namespace tcc {
namespace {

// Devices that do not say which version they have are taken to be new enough.
bool IsBefore12(const std::string& version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return false;
  return major < 1 || (major == 1 && minor < 2);
}

}  // namespace

StatusOr<std::shared_ptr<const OpenClContext>> OpenClContext::Open(const OpenClDriver& driver,
                                                                   int ordinal) {
  TCC_ASSIGN_OR_RETURN(OpenClDeviceInfo device, FindOpenClDevice(driver, ordinal));
  if (IsBefore12(device.version)) {
    return Missing("{} is too old; expected OpenCL 1.2 or newer", Describe(device));
  }
  const intptr_t properties[] = {kOpenClContextPlatform,
                                 reinterpret_cast<intptr_t>(device.platform), 0};
  TCC_ASSIGN_OR_RETURN(OpenClContextHandle handle,
                       TCC_OPENCL_MAKE(driver, "opening " + Describe(device), clCreateContext,
                                       properties, 1, &device.handle, nullptr, nullptr));
  return std::shared_ptr<const OpenClContext>(new OpenClContext(driver, std::move(device), handle));
}

OpenClContext::~OpenClContext() {
  driver_.clReleaseContext(handle_);
}

StatusOr<OpenClStream> MakeOpenClStream(const std::shared_ptr<const OpenClContext>& context,
                                        OpenClFlags properties) {
  TCC_ASSIGN_OR_RETURN(OpenClQueueHandle handle,
                       TCC_OPENCL_MAKE(context->driver(), "making a queue", clCreateCommandQueue,
                                       context->handle(), context->device().handle, properties));
  return OpenClStream(context, handle);
}

}  // namespace tcc
