#pragma once

#include <memory>
#include <utility>

#include "runtime/opencl/opencl_driver.h"
#include "support/status.h"

namespace tcc {

// A context of one device. The destructor releases it. It may be used from several threads at once.
class OpenClContext {
 public:
  // Unavailable if the device has an OpenCL before 1.2.
  static StatusOr<std::shared_ptr<const OpenClContext>> Open(const OpenClDriver& driver,
                                                             int ordinal);
  OpenClContext(const OpenClContext&) = delete;
  OpenClContext& operator=(const OpenClContext&) = delete;
  ~OpenClContext();

  const OpenClDriver& driver() const { return driver_; }
  const OpenClDeviceInfo& device() const { return device_; }
  OpenClContextHandle handle() const { return handle_; }

 private:
  OpenClContext(const OpenClDriver& driver, OpenClDeviceInfo device, OpenClContextHandle handle)
      : driver_(driver), device_(std::move(device)), handle_(handle) {}

  OpenClDriver driver_;
  OpenClDeviceInfo device_;
  OpenClContextHandle handle_;
};

// An object that the driver made in a context and that `Release` gives back. Drivers keep what work
// that is enqueued still uses until that is done. Errors of the release are dropped: errors
// of earlier work have been reported where it was waited for.
template <typename Handle, OpenClResult (*OpenClDriver::*Release)(Handle)>
class OpenClOwned {
 public:
  OpenClOwned() = default;
  OpenClOwned(std::shared_ptr<const OpenClContext> context, Handle handle)
      : context_(std::move(context)), handle_(handle) {}
  OpenClOwned(OpenClOwned&& other) noexcept
      : context_(std::move(other.context_)), handle_(std::exchange(other.handle_, nullptr)) {}
  OpenClOwned& operator=(OpenClOwned&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~OpenClOwned() {
    if (context_ != nullptr) (context_->driver().*Release)(handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return context_ != nullptr; }

 private:
  std::shared_ptr<const OpenClContext> context_;
  Handle handle_ = nullptr;
};

using OpenClOwnedBuffer = OpenClOwned<OpenClBuffer, &OpenClDriver::clReleaseMemObject>;
using OpenClModule = OpenClOwned<OpenClProgramHandle, &OpenClDriver::clReleaseProgram>;
using OpenClKernel = OpenClOwned<OpenClKernelHandle, &OpenClDriver::clReleaseKernel>;
using OpenClStream = OpenClOwned<OpenClQueueHandle, &OpenClDriver::clReleaseCommandQueue>;
using OpenClEvent = OpenClOwned<OpenClEventHandle, &OpenClDriver::clReleaseEvent>;

// Makes an in-order queue with these properties (kOpenClProfiling, 0).
StatusOr<OpenClStream> MakeOpenClStream(const std::shared_ptr<const OpenClContext>& context,
                                        OpenClFlags properties);

}  // namespace tcc
