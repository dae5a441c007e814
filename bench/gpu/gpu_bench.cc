#include "bench/gpu/gpu_bench.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/cuda_device.h"

namespace tcc {
namespace {

constexpr int kMostLaunches = 4096;
constexpr int kTries = 3;
constexpr char kWhat[] = "timing";

}  // namespace

struct GpuBench::Contestant {
  GpuWork work;
  int launches = 0;
  CudaGraphExec graph = {};  // empty: it cannot be captured
  std::vector<double> microseconds = {};
};

StatusOr<std::unique_ptr<GpuBench>> GpuBench::Open() {
  std::unique_ptr<GpuBench> bench(new GpuBench);
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  TCC_ASSIGN_OR_RETURN(int ordinal, ChosenCudaOrdinal());
  TCC_ASSIGN_OR_RETURN(bench->context_, CudaContext::Open(driver, ordinal));
  bench->scope_ = std::make_unique<CudaScope>(*bench->context_);
  TCC_RETURN_IF_ERROR(bench->scope_->status());
  CudaStreamHandle stream = nullptr;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver, "making a stream", cuStreamCreate, &stream, kCudaStreamNonBlocking));
  bench->stream_ = {bench->context_, stream};
  for (CudaEvent* event : {&bench->start_, &bench->end_}) {
    CudaEventHandle handle = nullptr;
    TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, "making an event", cuEventCreate, &handle, 0));
    *event = {bench->context_, handle};
  }
  return bench;
}

GpuBench::~GpuBench() {
  if (stream_) (void)Finish();
}

Status GpuBench::Finish() const {
  return TCC_CUDA_CALL(driver(), kWhat, cuStreamSynchronize, stream_.get());
}

StatusOr<CudaMemory> GpuBench::Allocate(int64_t bytes, std::string_view what) const {
  return CudaMemory::Allocate(context_, bytes, what);
}

// The copy returns when the driver has taken the bytes over, and our stream does not wait for the
// default stream, in which they arrive.
Status GpuBench::CopyToDevice(uint8_t* to, std::span<const uint8_t> from) const {
  if (from.empty()) return OkStatus();
  constexpr char kCopy[] = "uploading an operand";
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver(), kCopy, cuMemcpyHtoD_v2, AddressOf(to), from.data(), from.size()));
  return TCC_CUDA_CALL(driver(), kCopy, cuStreamSynchronize, nullptr);
}

StatusOr<CudaMemory> GpuBench::Upload(std::span<const uint8_t> bytes, std::string_view what) const {
  TCC_ASSIGN_OR_RETURN(CudaMemory memory, Allocate(std::ssize(bytes), what));
  TCC_RETURN_IF_ERROR(CopyToDevice(memory.data(), bytes));
  return memory;
}

Status GpuBench::Poison(uint8_t* memory, int64_t bytes) const {
  return CopyToDevice(memory, std::vector<uint8_t>(static_cast<size_t>(bytes), 0xff));
}

Status GpuBench::Download(std::span<uint8_t> to, const uint8_t* from) const {
  if (to.empty()) return OkStatus();
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), "downloading a result", cuMemcpyDtoHAsync_v2,
                                    to.data(), AddressOf(from), to.size(), stream_.get()));
  return Finish();
}

StatusOr<double> GpuBench::SecondsOf(const std::function<Status()>& work) const {
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), kWhat, cuEventRecord, start_.get(), stream_.get()));
  TCC_RETURN_IF_ERROR(work());
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), kWhat, cuEventRecord, end_.get(), stream_.get()));
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), kWhat, cuEventSynchronize, end_.get()));
  float milliseconds = 0;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver(), kWhat, cuEventElapsedTime, &milliseconds, start_.get(), end_.get()));
  return milliseconds / 1e3;
}

StatusOr<double> GpuBench::TimeOnce(const GpuWork& work) const {
  TCC_RETURN_IF_ERROR(work(0));
  TCC_RETURN_IF_ERROR(Finish());
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    TCC_ASSIGN_OR_RETURN(double seconds, SecondsOf([&] { return work(0); }));
    least = std::min(least, seconds);
  }
  return least;
}

StatusOr<CudaGraphExec> GpuBench::Capture(const GpuWork& work, int launches, size_t sets) const {
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver(), kWhat, cuStreamBeginCapture_v2, stream_.get(),
                                    kCudaCaptureThreadLocal));
  Status worked;
  for (int i = 0; i < launches && worked.ok(); ++i) worked = work(static_cast<size_t>(i) % sets);
  CudaGraphHandle handle = nullptr;
  Status ended = TCC_CUDA_CALL(driver(), kWhat, cuStreamEndCapture, stream_.get(), &handle);
  CudaGraph graph;
  if (handle != nullptr) graph = {context_, handle};
  TCC_RETURN_IF_ERROR(worked);
  TCC_RETURN_IF_ERROR(ended);
  CudaGraphExecHandle exec = nullptr;
  TCC_RETURN_IF_ERROR(
      TCC_CUDA_CALL(driver(), kWhat, cuGraphInstantiateWithFlags, &exec, graph.get(), 0));
  return CudaGraphExec(context_, exec);
}

StatusOr<GpuBench::Contestant> GpuBench::Prepare(const GpuWork& work,
                                                 const GpuTimingOptions& options) const {
  TCC_ASSIGN_OR_RETURN(double once, TimeOnce(work));
  double wanted = std::ceil(options.graph_seconds / std::max(once, 1e-9));
  Contestant contestant{.work = work};
  contestant.launches =
      static_cast<int>(std::clamp<double>(wanted, options.launches, kMostLaunches));
  // Every set meets the work once before: memory is there, code is loaded.
  for (size_t set = 1; set < options.sets; ++set) TCC_RETURN_IF_ERROR(work(set));
  TCC_RETURN_IF_ERROR(Finish());
  // Some libraries do what a capture does not allow.
  StatusOr<CudaGraphExec> graph = Capture(work, contestant.launches, options.sets);
  if (graph.ok()) contestant.graph = *std::move(graph);
  return contestant;
}

StatusOr<std::vector<GpuTime>> GpuBench::Time(std::span<const GpuWork> contestants,
                                              const GpuTimingOptions& options) const {
  std::vector<Contestant> prepared;
  for (const GpuWork& work : contestants) {
    TCC_ASSIGN_OR_RETURN(Contestant contestant, Prepare(work, options));
    prepared.push_back(std::move(contestant));
  }
  auto replay = [&](const Contestant& contestant) -> Status {
    if (contestant.graph) {
      return TCC_CUDA_CALL(driver(), kWhat, cuGraphLaunch, contestant.graph.get(), stream_.get());
    }
    for (int i = 0; i < contestant.launches; ++i) {
      TCC_RETURN_IF_ERROR(contestant.work(static_cast<size_t>(i) % options.sets));
    }
    return OkStatus();
  };
  for (int block = 0; block < options.blocks; ++block) {
    for (Contestant& contestant : prepared) {
      TCC_RETURN_IF_ERROR(replay(contestant));
      auto replays = [&]() -> Status {
        Status status;
        for (int i = 0; i < options.replays && status.ok(); ++i) status = replay(contestant);
        return status;
      };
      TCC_ASSIGN_OR_RETURN(double seconds, SecondsOf(replays));
      contestant.microseconds.push_back(seconds * 1e6 / options.replays / contestant.launches);
    }
  }
  std::vector<GpuTime> times;
  for (Contestant& contestant : prepared) {
    std::ranges::sort(contestant.microseconds);
    times.push_back({.median_us = contestant.microseconds[contestant.microseconds.size() / 2],
                     .min_us = contestant.microseconds.front(),
                     .graph = static_cast<bool>(contestant.graph)});
  }
  return times;
}

}  // namespace tcc
