#pragma once

#include <vector>

#include "runtime/cuda_program.h"
#include "runtime/device.h"

namespace tcc {

// One stream, its memory, and the graph of what was recorded last.
class CudaQueue final : public DeviceQueue {
 public:
  static StatusOr<std::unique_ptr<DeviceQueue>> Make(std::shared_ptr<const CudaProgram> program);
  // Waits, so that no kernel runs on memory that is given back.
  ~CudaQueue() override;

  StatusOr<uint8_t*> Reserve(size_t slot, int64_t bytes, std::string_view what) override;
  Status Upload(uint8_t* to, std::span<const uint8_t> from) override;
  Status Download(std::span<uint8_t> to, const uint8_t* from) override;
  Status Copy(uint8_t* to, const uint8_t* from, int64_t bytes) override;
  Status Launch(size_t kernel, const LaunchArguments& arguments) override;
  StatusOr<double> TimedLaunch(size_t kernel, const LaunchArguments& arguments) override;
  Status Record(const std::function<Status()>& work) override;
  Status Replay() override;
  Status Finish() override;

 private:
  explicit CudaQueue(std::shared_ptr<const CudaProgram> program) : program_(std::move(program)) {}

  const std::shared_ptr<const CudaContext>& context() const { return program_->context(); }
  const CudaDriver& driver() const { return context()->driver(); }
  Status Wait(std::string_view what);
  Status CopyApart(uint8_t* to, const uint8_t* from, int64_t bytes);
  Status GrowScratch(int64_t bytes);
  Status PlaceWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes);
  Status Enqueue(size_t kernel, const LaunchArguments& arguments);
  Status Enqueue(const GpuLaunch& launch, CudaFunctionHandle function,
                 const LaunchArguments& arguments);
  StatusOr<CudaGraph> Capture(const std::function<Status()>& work);
  Status MakeEvents();

  std::shared_ptr<const CudaProgram> program_;
  std::vector<CudaMemory> slots_;
  CudaMemory scratch_;  // the workspaces of the kernel at hand, or a copy's middle
  CudaStream stream_;
  CudaEvent start_, end_;
  CudaGraphExec graph_;
  bool recording_ = false;
  // Of the kernel at hand, kept to save their allocation.
  std::vector<uint8_t*> workspaces_;
  std::vector<uint64_t> values_;
  std::vector<void*> value_places_;
};

}  // namespace tcc
