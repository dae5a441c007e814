#include "tests/codegen_cuda/on_device/run_on_device.h"

#include "codegen_cuda/text/gpu_kernel.h"
#include "ir/interpret/interpreter.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"
#include "tests/codegen_cuda/on_device/run_kernel.h"

namespace tcc {
namespace {

Status RunLowered(const Function& lowered, const Target& target, GpuCode code,
                  std::vector<Tensor>& operands) {
  TCC_ASSIGN_OR_RETURN(CudaSource source, EmitCuda({&lowered, 1}, target));
  TCC_ASSIGN_OR_RETURN(GpuImage image, ImageOf(source.text, target, code));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (IsWritten(source.plans[0], i)) operands[i] = Poisoned(operands[i].dtype, operands[i].shape);
  }
  return RunKernel(image, GpuKernelOf(lowered, source.plans[0], 0), target, code, operands);
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

}  // namespace tcc
