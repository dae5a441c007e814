#pragma once

#include <array>
#include <vector>

#include "runtime/cuda/cuda_pool.h"
#include "runtime/cuda/cuda_program.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/executor/device.h"
#include "runtime/executor/frame.h"

namespace tcc {

// A queue of one stream, with its memory and the graphs of recorded work.
class CudaQueue final : public DeviceQueue {
 public:
  static StatusOr<std::unique_ptr<CudaQueue>> Make(std::shared_ptr<const CudaProgram> program);
  // Waits for its own stream, so that no kernel there runs on memory that is freed. Expects work in
  // a caller's stream to have ended.
  ~CudaQueue() override;

  StatusOr<uint8_t*> Reserve(size_t slot, int64_t bytes, std::string_view what) override;
  void UseStream(void* stream) override {
    caller_stream_ = static_cast<CudaStreamHandle>(stream);
    after_kernel_ = false;
  }
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
  explicit CudaQueue(std::shared_ptr<const CudaProgram> program) : program_(std::move(program)) {}

  const std::shared_ptr<const CudaContext>& context() const { return program_->context(); }
  const CudaDriver& driver() const { return context()->driver(); }
  CudaStreamHandle stream() const { return caller_stream_ ? caller_stream_ : stream_.get(); }
  Status Wait(std::string_view what);
  StatusOr<CudaGraphExec> Record(const std::function<Status()>& work);
  Status EnqueueDownload(std::span<uint8_t> to, const uint8_t* from);
  Status CopyApart(uint8_t* to, const uint8_t* from, int64_t bytes);
  Status Replace(CudaMemory& memory, int64_t bytes, std::string_view what);
  Status GrowScratch(int64_t bytes);
  Status GrowTickets(int64_t count);
  Status PlaceWorkspaces(const GpuKernel& kernel, std::span<const int64_t> shapes);
  void Pass(uint64_t value, const CudaArgumentNote& note);
  void Pass(const void* buffer, CudaArgumentNote note);
  Status PassMap(const GpuLaunch& launch, uint32_t index, const LaunchArguments& arguments);
  Status PassAll(const GpuLaunch& launch, const LaunchArguments& arguments);
  Status Enqueue(size_t kernel, const LaunchArguments& arguments);
  Status Enqueue(const GpuLaunch& launch, CudaFunctionHandle function,
                 const LaunchArguments& arguments);
  Status EnqueueDependent(const GpuLaunch& launch, CudaFunctionHandle function,
                          const std::array<unsigned, 3>& grid, void** notes);

  std::shared_ptr<const CudaProgram> program_;
  std::vector<CudaMemory> slots_;
  CudaMemory scratch_;  // the current kernel's workspaces, or an overlapping copy's temporary
  // A counter for each block along x of the largest launch that has tickets, zero between launches.
  CudaMemory tickets_;
  // The staged uploads, and the staged downloads with their destinations.
  struct Arrival {
    std::span<uint8_t> to;
    const uint8_t* staged;
  };
  CudaStaging staging_;
  std::vector<Arrival> arrivals_;
  CudaStream stream_;
  CudaStreamHandle caller_stream_ = nullptr;
  CudaStopwatch stopwatch_;
  std::vector<CudaGraphExec> graphs_;  // by recording; none where nothing is recorded
  bool recording_ = false;
  // Whether what this queue enqueued last, since a stream was chosen, is a kernel.
  bool after_kernel_ = false;
  // The arguments of the current kernel, kept to save their allocation.
  std::vector<BufferPlace> workspaces_;
  std::vector<const uint8_t*> passed_;
  std::vector<uint64_t> values_;  // 0 for a tensor map
  std::vector<CudaTensorMap> maps_;
  std::vector<void*> value_places_;
  std::vector<CudaArgumentNote> notes_;
};

}  // namespace tcc
