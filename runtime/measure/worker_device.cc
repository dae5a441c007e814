#include "runtime/measure/worker_device.h"

#include "runtime/cuda/cuda_program.h"

namespace tcc {

std::string DescribeGpu(const ReadyMessage& ready) {
  return fmt::format("{}, sm_{}, {} multiprocessors, {} MiB of L2", ready.device, ready.gpu->sm,
                     ready.gpu->multiprocessors, ready.gpu->l2_bytes >> 20);
}

Status ExpectRuns(const Target& target, const ReadyMessage& ready) {
  const CudaImageChoice choice = ChooseImage(static_cast<int>(ready.gpu->sm), target.sm,
                                             HasSuffix(target.name), /*has_ptx=*/false);
  if (choice == CudaImageChoice::kCode) return OkStatus();
  return Missing("kernels for '{}' do not run on {} (sm_{})", target.name, ready.device,
                 ready.gpu->sm);
}

}  // namespace tcc
