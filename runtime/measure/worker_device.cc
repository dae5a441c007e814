#include "runtime/measure/worker_device.h"

#include "runtime/cuda/cuda_program.h"
#include "support/target_api.h"

namespace tcc {

std::string DescribeGpu(const ReadyMessage& ready) {
  if (ready.gpu->sm == 0) {
    return fmt::format("{} ({}), {} compute units, {} MiB of cache", ready.device,
                       ready.gpu->driver, ready.gpu->multiprocessors, ready.gpu->l2_bytes >> 20);
  }
  return fmt::format("{}, sm_{}, {} multiprocessors, {} MiB of L2", ready.device, ready.gpu->sm,
                     ready.gpu->multiprocessors, ready.gpu->l2_bytes >> 20);
}

std::string LockedDevice(const ReadyMessage& ready) {
  if (!ready.gpu || ready.gpu->on_host) return "cpu";
  return ready.gpu->sm == 0 ? "opencl-" + ready.device : "cuda-" + ready.gpu->bus;
}

Status ExpectRuns(const Target& target, const ReadyMessage& ready) {
  if (IsOpenCl(target) && ready.gpu->sm == 0) return OkStatus();
  const CudaImageChoice choice = ChooseImage(static_cast<int>(ready.gpu->sm), target.sm,
                                             HasSuffix(target.name), /*has_ptx=*/false);
  if (choice == CudaImageChoice::kCode) return OkStatus();
  return Missing("kernels for '{}' do not run on {} (sm_{})", target.name, ready.device,
                 ready.gpu->sm);
}

}  // namespace tcc
