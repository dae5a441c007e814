#include "runtime/cuda/cuda_program.h"

#include <algorithm>
#include <array>
#include <bit>

#include "runtime/cuda/cuda_device.h"
#include "support/environment.h"
#include "support/target.h"
#include "support/wanted_option.h"

namespace tcc {
namespace {

// Loads an image. The error ends with the driver's own log, which says why the image does not load.
StatusOr<CudaModule> LoadImage(const std::shared_ptr<const CudaContext>& context,
                               const std::vector<uint8_t>& code, const std::string& what) {
  // The driver expects text (PTX) to end with a zero.
  std::string image(code.begin(), code.end());
  std::array<char, 4096> log{};
  std::array<int, 2> options = {kCudaErrorLog, kCudaErrorLogBytes};
  std::array<void*, 2> values = {log.data(), std::bit_cast<void*>(log.size() - 1)};
  CudaModuleHandle module = nullptr;
  Status status =
      TCC_CUDA_CALL(context->driver(), what, cuModuleLoadDataEx, &module, image.c_str(),
                    static_cast<unsigned>(options.size()), options.data(), values.data());
  if (!status.ok()) {
    if (log[0] == '\0') return status;
    return Status(status.code(), fmt::format("{}: {}", Message(status), log.data()));
  }
  return CudaModule(context, module);
}

Status CheckShared(const CudaDeviceInfo& device, const GpuLaunch& launch) {
  const int64_t bytes = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  if (bytes <= kCudaLimits.default_shared_bytes || bytes <= device.shared_bytes) return OkStatus();
  return Missing("a block needs {} bytes of shared memory; {} has {}", bytes, Describe(device),
                 device.shared_bytes);
}

Status DoesNotRun(const std::string& target, const CudaDeviceInfo& device) {
  StatusOr<Target> fitting = TargetOf(device);
  Status status =
      Missing("the kernels are for {}; {} does not run them; {}", target, Describe(device),
              fitting.ok() ? "compile for target " + fitting->name : "no target has code for it");
  return fitting.ok() ? WithOption(status, Option::kTarget, fitting->name) : status;
}

// Edges of CUDA graphs say since 12.3 that a kernel waits itself; what captures make of such
// launches before that is not documented.
constexpr int kDriverOfOverlap = 12030;

// Returns whether TCC_CUDA_DEPENDENT_LAUNCH lets launches overlap.
StatusOr<bool> IsOverlapWanted() {
  const std::string text = EnvironmentVariable("TCC_CUDA_DEPENDENT_LAUNCH");
  if (text.empty() || text == "1") return true;
  if (text == "0") return false;
  return UsageError("TCC_CUDA_DEPENDENT_LAUNCH is '{}'; expected 0 or 1", text);
}

bool AnyWaits(const GpuProgram& program) {
  return std::ranges::any_of(program.kernels, [](const GpuKernel& kernel) {
    return std::ranges::any_of(kernel.launches, &GpuLaunch::waits);
  });
}

}  // namespace

bool HasSuffix(const std::string& target) {
  return !target.empty() && (target.back() < '0' || target.back() > '9');
}

CudaImageChoice ChooseImage(int device_sm, int code_sm, bool has_suffix, bool has_ptx) {
  const bool same_generation = device_sm / 10 == code_sm / 10 && device_sm >= code_sm;
  if (has_suffix ? device_sm == code_sm : same_generation) return CudaImageChoice::kCode;
  return has_ptx && device_sm > code_sm ? CudaImageChoice::kPtx : CudaImageChoice::kNone;
}

StatusOr<std::shared_ptr<const CudaProgram>> CudaProgram::Load(
    std::shared_ptr<const CudaContext> context, const Artefact& artefact) {
  std::shared_ptr<CudaProgram> program(new CudaProgram);
  TCC_ASSIGN_OR_RETURN(program->program_, ParseGpuProgram(artefact.kernels.bytes));
  TCC_RETURN_IF_ERROR(VerifyGpuProgram(program->program_, artefact.metadata));
  program->context_ = std::move(context);
  CudaScope scope(*program->context_);
  TCC_RETURN_IF_ERROR(scope.status());
  TCC_ASSIGN_OR_RETURN(program->driver_version_, CudaVersionOf(program->context_->driver()));
  TCC_RETURN_IF_ERROR(program->CheckTensorMaps());
  TCC_RETURN_IF_ERROR(program->LoadImages(artefact.target));
  TCC_RETURN_IF_ERROR(program->FindFunctions());
  TCC_RETURN_IF_ERROR(program->DecideOverlap());
  TCC_RETURN_IF_ERROR(program->UploadWeights(artefact.weights.bytes));
  TCC_ASSIGN_OR_RETURN(program->pool_, CudaPool::Make(program->context_));
  return program;
}

Status CudaProgram::LoadImages(const std::string& target) {
  const CudaDeviceInfo& device = context_->device();
  for (size_t i = 0; i < program_.images.size(); ++i) {
    GpuImage& image = program_.images[i];
    const std::string what = fmt::format("loading image {} of the kernels", i);
    const std::vector<uint8_t>* code = nullptr;
    switch (ChooseImage(device.sm, program_.sm, HasSuffix(target), !image.ptx.empty())) {
      case CudaImageChoice::kCode:
        code = &image.code;
        break;
      case CudaImageChoice::kPtx:
        code = &image.ptx;
        break;
      case CudaImageChoice::kNone:
        return DoesNotRun(target, device);
    }
    TCC_ASSIGN_OR_RETURN(CudaModule module, LoadImage(context_, *code, what));
    modules_.push_back(std::move(module));
    image = {};
  }
  return OkStatus();
}

Status CudaProgram::FindFunctions() {
  const CudaDriver& driver = context_->driver();
  for (const GpuKernel& kernel : program_.kernels) {
    std::vector<CudaFunctionHandle>& functions = functions_.emplace_back();
    for (const GpuLaunch& launch : kernel.launches) {
      const std::string what = fmt::format("kernel '{}'", launch.symbol);
      CudaFunctionHandle function = nullptr;
      TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, what, cuModuleGetFunction, &function,
                                        modules_[launch.image].get(), launch.symbol.c_str()));
      functions.push_back(function);
      TCC_RETURN_IF_ERROR(Annotate(CheckShared(context_->device(), launch), what));
      if (launch.static_shared_bytes + launch.dynamic_shared_bytes <=
          kCudaLimits.default_shared_bytes)
        continue;
      TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(driver, what, cuFuncSetAttribute, function,
                                        kCudaMostDynamicSharedBytes,
                                        static_cast<int>(launch.dynamic_shared_bytes)));
    }
  }
  return OkStatus();
}

Status CudaProgram::CheckTensorMaps() const {
  if (context_->driver().cuTensorMapEncodeTiled != nullptr) return OkStatus();
  for (const GpuKernel& kernel : program_.kernels) {
    auto launch = std::ranges::find_if(kernel.launches,
                                       [](const GpuLaunch& each) { return !each.maps.empty(); });
    if (launch == kernel.launches.end()) continue;
    return Missing(
        "kernel '{}' needs a driver for CUDA 12.0 or newer: it has tensor maps; this one "
        "is for {}",
        launch->symbol, CudaVersionText(driver_version_));
  }
  return OkStatus();
}

Status CudaProgram::DecideOverlap() {
  TCC_ASSIGN_OR_RETURN(const bool wanted, IsOverlapWanted());
  overlaps_launches_ = wanted && context_->driver().cuLaunchKernelEx != nullptr &&
                       driver_version_ >= kDriverOfOverlap && AnyWaits(program_);
  return OkStatus();
}

Status CudaProgram::UploadWeights(std::span<const uint8_t> weights) {
  TCC_ASSIGN_OR_RETURN(
      weights_,
      CudaMemory::Allocate(context_, static_cast<int64_t>(weights.size()), "the weights"));
  if (weights.empty()) return OkStatus();
  constexpr char kWhat[] = "uploading the weights";
  TCC_RETURN_IF_ERROR(TCC_CUDA_CALL(context_->driver(), kWhat, cuMemcpyHtoD_v2,
                                    AddressOf(weights_.data()), weights.data(), weights.size()));
  // The copy returns when the driver has taken the bytes over. They arrive in the default stream,
  // for which the executors' streams do not wait.
  return TCC_CUDA_CALL(context_->driver(), kWhat, cuStreamSynchronize, nullptr);
}

}  // namespace tcc
