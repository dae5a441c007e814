#include "tests/codegen_cuda/on_device/run_kernel.h"

#include <algorithm>

#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_queue.h"
#include "runtime/executor/module.h"
#include "support/environment.h"

namespace tcc {
namespace {

StatusOr<Module> Load(const GpuImage& image, const GpuKernel& kernel, const Target& target,
                      GpuCode code) {
  GpuProgram program{.sm = target.sm, .code = code, .images = {image}, .kernels = {kernel}};
  Artefact artefact;
  artefact.target = target.name;
  artefact.device = "cuda";
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  artefact.metadata.kernels.push_back({kernel.launches[0].symbol, {}, 0});
  return Module::FromArtefact(std::move(artefact));
}

}  // namespace

StatusOr<GpuImage> ImageOf(const std::string& text, const Target& target, GpuCode code) {
  if (code == GpuCode::kCudaText) return GpuImage{.code = {text.begin(), text.end()}};
  CudaPrograms programs(target, {.cache_folder = CacheFolder()});
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const Cubin> cubin, programs.Compile(text));
  GpuImage image{.code = cubin->image};
  if (!HasSuffix(target.name)) image.ptx.assign(cubin->ptx.begin(), cubin->ptx.end());
  return image;
}

Tensor Poisoned(DType dtype, std::vector<int64_t> shape) {
  Tensor tensor = MakeZeroTensor(dtype, std::move(shape));
  std::ranges::fill(MutableBytes(tensor), uint8_t{0xff});
  return tensor;
}

Status RunKernel(const GpuImage& image, const GpuKernel& kernel, const Target& target, GpuCode code,
                 std::vector<Tensor>& buffers) {
  TCC_ASSIGN_OR_RETURN(Module module, Load(image, kernel, target, code));
  TCC_ASSIGN_OR_RETURN(
      std::unique_ptr<CudaQueue> queue,
      CudaQueue::Make(std::static_pointer_cast<const CudaProgram>(module.kernels().module)));
  std::vector<void*> places;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::span<const uint8_t> content = buffers[i].bytes;
    TCC_ASSIGN_OR_RETURN(uint8_t* memory, queue->Reserve(i, std::ssize(content), "an operand"));
    TCC_RETURN_IF_ERROR(queue->Upload(memory, content));
    TCC_RETURN_IF_ERROR(queue->Finish());
    places.push_back(memory);
    bytes.push_back(std::ssize(content));
  }
  TCC_RETURN_IF_ERROR(queue->Launch(0, {places, bytes, {}}));
  for (size_t i = 0; i < buffers.size(); ++i) {
    Tensor result = MakeZeroTensor(buffers[i].dtype, buffers[i].shape);
    TCC_RETURN_IF_ERROR(
        queue->Download(MutableBytes(result), static_cast<const uint8_t*>(places[i])));
    TCC_RETURN_IF_ERROR(queue->Finish());
    buffers[i] = std::move(result);
  }
  return OkStatus();
}

StatusOr<std::shared_ptr<const CudaContext>> OpenDevice() {
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  TCC_ASSIGN_OR_RETURN(int ordinal, ChosenCudaOrdinal());
  return CudaContext::Open(driver, ordinal);
}

StatusOr<Target> TargetOfDevice() {
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  TCC_ASSIGN_OR_RETURN(int ordinal, ChosenCudaOrdinal());
  TCC_ASSIGN_OR_RETURN(CudaDeviceInfo device, FindCudaDevice(driver, ordinal));
  return TargetOf(device);
}

}  // namespace tcc
