#include "tests/codegen_cuda/on_device/run_on_device.h"

#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "codegen_cuda/text/gpu_kernel.h"
#include "ir/interpret/interpreter.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_queue.h"
#include "runtime/executor/module.h"
#include "support/environment.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"

namespace tcc {
namespace {

StatusOr<GpuImage> ImageOf(const std::string& text, const Target& target, GpuCode code) {
  if (code == GpuCode::kCudaText) return GpuImage{.code = {text.begin(), text.end()}};
  CudaPrograms programs(target, {.cache_folder = CacheFolder()});
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const Cubin> cubin, programs.Compile(text));
  GpuImage image{.code = cubin->image};
  if (!HasSuffix(target.name)) image.ptx.assign(cubin->ptx.begin(), cubin->ptx.end());
  return image;
}

StatusOr<Module> Load(const Function& lowered, const CudaSource& source, const Target& target,
                      GpuCode code) {
  GpuProgram program{.sm = target.sm, .code = code, .images = {}, .kernels = {}};
  TCC_ASSIGN_OR_RETURN(program.images.emplace_back(), ImageOf(source.text, target, code));
  program.kernels = {GpuKernelOf(lowered, source.plans[0], 0)};
  Artefact artefact;
  artefact.target = target.name;
  artefact.device = "cuda";
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  artefact.metadata.kernels.push_back({lowered.name, {}, 0});
  return Module::FromArtefact(std::move(artefact));
}

Status RunLowered(const Function& lowered, const Target& target, GpuCode code,
                  std::vector<Tensor>& operands) {
  TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda({&lowered, 1}, target));
  TCC_ASSIGN_OR_RETURN(Module module, Load(lowered, source, target, code));
  TCC_ASSIGN_OR_RETURN(
      std::unique_ptr<CudaQueue> queue,
      CudaQueue::Make(std::static_pointer_cast<const CudaProgram>(module.kernels().module)));
  std::vector<void*> buffers;
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::span<const uint8_t> content = operands[i].bytes;
    TCC_ASSIGN_OR_RETURN(uint8_t* memory, queue->Reserve(i, std::ssize(content), "an operand"));
    std::vector<uint8_t> poison(content.size(), 0xff);
    bool written = IsWritten(source.plans[0], i);
    TCC_RETURN_IF_ERROR(queue->Upload(memory, written ? poison : content));
    TCC_RETURN_IF_ERROR(queue->Finish());
    buffers.push_back(memory);
    bytes.push_back(std::ssize(content));
  }
  TCC_RETURN_IF_ERROR(queue->Launch(0, {buffers, bytes, {}}));
  for (size_t i = 0; i < operands.size(); ++i) {
    Tensor result = MakeZeroTensor(operands[i].dtype, operands[i].shape);
    TCC_RETURN_IF_ERROR(
        queue->Download(MutableBytes(result), static_cast<const uint8_t*>(buffers[i])));
    TCC_RETURN_IF_ERROR(queue->Finish());
    operands[i] = std::move(result);
  }
  return OkStatus();
}

}  // namespace

Status RunOnDevice(const Function& fn, const Target& target, GpuCode code,
                   std::vector<Tensor>& arguments) {
  return RunParts(fn, arguments, [&](const Function& main, std::vector<Tensor>& operands) {
    return Annotate(RunLowered(main, target, code, operands), "on the device");
  });
}

Status CompileForDevice(const Function& fn, const Target& target, std::vector<Tensor>& arguments) {
  return RunParts(fn, arguments, [&](const Function& main, std::vector<Tensor>& operands) {
    TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda({&main, 1}, target));
    TCC_RETURN_IF_ERROR(ImageOf(source.text, target, GpuCode::kCubin).status());
    return Interpret(main, operands).status();
  });
}

StatusOr<Target> TargetOfDevice() {
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  TCC_ASSIGN_OR_RETURN(int ordinal, ChosenCudaOrdinal());
  TCC_ASSIGN_OR_RETURN(CudaDeviceInfo device, FindCudaDevice(driver, ordinal));
  return TargetOf(device);
}

}  // namespace tcc
