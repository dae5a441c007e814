#pragma once

#include <array>
#include <vector>

#include "runtime/executor/device.h"
#include "runtime/executor/frame.h"
#include "runtime/opencl/opencl_program.h"

namespace tcc {

// An in-order queue with its memory. Transfers to and from the host are done when they return;
// recorded work is enqueued anew each time.
class OpenClQueue final : public DeviceQueue {
 public:
  static StatusOr<std::unique_ptr<OpenClQueue>> Make(std::shared_ptr<const OpenClProgram> program);
  // Waits for what is enqueued.
  ~OpenClQueue() override;

  StatusOr<uint8_t*> Reserve(size_t slot, int64_t bytes, std::string_view what) override;
  void UseStream(void* stream) override;
  Status CheckStream(void* stream) override;
  Status CheckNotCaptured(void* stream) override;
  Status CheckMemory(const void* memory, std::string_view what) override;
  Status Upload(uint8_t* to, std::span<const uint8_t> from) override;
  Status Download(std::span<uint8_t> to, const uint8_t* from) override;
  Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) override;
  StatusOr<int64_t> WorkspaceBytes(size_t kernel,
                                   std::span<const int64_t> shape_args) const override;
  Status ReserveWorkspace(int64_t bytes) override;
  Status Launch(size_t kernel, const LaunchArguments& arguments) override;
  StatusOr<double> TimedLaunch(size_t kernel, const LaunchArguments& arguments) override;
  Status DoRecorded(size_t recording, const std::function<Status()>& work) override;
  void Forget(size_t recording) override;
  Status Finish() override;
  void Abandon() override;

 private:
  explicit OpenClQueue(std::shared_ptr<const OpenClProgram> program)
      : program_(std::move(program)) {}

  const std::shared_ptr<const OpenClContext>& context() const { return program_->context(); }
  const OpenClDriver& driver() const { return context()->driver(); }
  const OpenClMemory& memory() const { return *program_->memory(); }
  OpenClQueueHandle stream() const { return is_timed_ ? timed_stream_.get() : stream_.get(); }
  Status CopyApart(uint8_t* to, const uint8_t* from, int64_t bytes);
  Status Replace(OpenClBlock& block, int64_t bytes, std::string_view what);
  Status GrowTickets(int64_t count);
  Status PlaceWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes);
  StatusOr<BufferPlace> PlaceOf(const GpuArgument& argument,
                                const LaunchArguments& arguments) const;
  Status Pass(OpenClKernelHandle kernel, const GpuLaunch& launch, const LaunchArguments& arguments);
  Status Enqueue(size_t kernel, const LaunchArguments& arguments);
  Status Enqueue(const GpuLaunch& launch, OpenClKernelHandle kernel,
                 const LaunchArguments& arguments);
  Status AwaitLaunches() const;
  StatusOr<double> SecondsOfLaunches() const;

  std::shared_ptr<const OpenClProgram> program_;
  std::vector<std::vector<OpenClKernel>> kernels_;
  std::vector<OpenClBlock> slots_;
  OpenClBlock scratch_;  // the current kernel's workspaces, or an overlapping copy's temporary
  // A counter for each block along x of the largest launch that has tickets, zero between launches.
  OpenClBlock tickets_;
  OpenClStream stream_;
  OpenClStream timed_stream_;  // made when it is first used: taking time slows some drivers down
  bool is_timed_ = false;
  // The launches that were not waited for, which say whether they failed, and their kernels.
  struct Launched {
    OpenClEvent event;
    const GpuLaunch* launch;
  };
  std::vector<Launched> launched_;
  std::vector<BufferPlace> workspaces_;  // the current kernel's
};

}  // namespace tcc
