#include "codegen_cuda/nvrtc/cuda_programs.h"

#include <algorithm>
#include <set>

namespace tcc {
namespace {

// NVRTC takes 13 ms per program and 2 ms per small kernel in it (reference: gpu_perf, section 7).
// Large kernels get a program each, so that threads compile them in parallel.
constexpr size_t kSmallKernelBytes = 4096;
constexpr size_t kGroupBytes = 24 * 1024;

}  // namespace

std::vector<std::vector<size_t>> GroupKernels(const std::vector<KernelTextInfo>& kernels) {
  std::vector<std::vector<size_t>> groups;
  std::optional<size_t> open;  // the group that small kernels join
  size_t bytes = 0;
  std::set<std::string> symbols;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelTextInfo& kernel = kernels[i];
    if (kernel.bytes > kSmallKernelBytes) {
      groups.push_back({i});
      continue;
    }
    bool is_known = std::any_of(kernel.symbols.begin(), kernel.symbols.end(),
                                [&](const std::string& name) { return symbols.contains(name); });
    if (!open || bytes + kernel.bytes > kGroupBytes || is_known) {
      open = groups.size();
      groups.emplace_back();
      bytes = 0;
      symbols.clear();
    }
    groups[*open].push_back(i);
    bytes += kernel.bytes;
    symbols.insert(kernel.symbols.begin(), kernel.symbols.end());
  }
  return groups;
}

StatusOr<const Nvrtc*> CudaPrograms::Library() {
  std::lock_guard lock(mutex_);
  if (!nvrtc_) {
    nvrtc_ = Nvrtc::Open();
    compilers_ = cache_.Compilers();
    if (nvrtc_->ok()) cache_.AddCompiler((*nvrtc_)->Identity());
  }
  if (!nvrtc_->ok()) return nvrtc_->status();
  return &**nvrtc_;
}

std::optional<Cubin> CudaPrograms::FindOfAnyCompiler(const std::string& text) const {
  for (const std::string& identity : compilers_) {
    if (std::optional<Cubin> cubin = cache_.Find(Nvrtc::Settings(identity, sm_), text))
      return cubin;
  }
  return std::nullopt;
}

StatusOr<Cubin> CudaPrograms::FindOrCompile(const std::string& text) {
  StatusOr<const Nvrtc*> nvrtc = Library();
  Status status = nvrtc.status();
  if (nvrtc.ok()) {
    std::string settings = Nvrtc::Settings((*nvrtc)->Identity(), sm_);
    if (std::optional<Cubin> cubin = cache_.Find(settings, text)) return *std::move(cubin);
    StatusOr<Cubin> made = (*nvrtc)->Compile(text, sm_);
    if (made.ok()) cache_.Put(text, *made);
    // Success or a refusal of the text is final; other errors may be those of this NVRTC alone.
    if (made.ok() || made.status().code() == absl::StatusCode::kInternal) return made;
    status = made.status();
  }
  if (std::optional<Cubin> cubin = FindOfAnyCompiler(text)) return *std::move(cubin);
  return status;
}

StatusOr<std::shared_ptr<const Cubin>> CudaPrograms::Compile(const std::string& text) {
  Sha256Digest key = Sha256(text);
  {
    std::lock_guard lock(mutex_);
    if (auto known = known_.find(key); known != known_.end()) return known->second;
  }
  TCC_ASSIGN_OR_RETURN(Cubin cubin, FindOrCompile(text));
  auto shared = std::make_shared<const Cubin>(std::move(cubin));
  std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(shared)).first->second;
}

StatusOr<std::string> CudaPrograms::CompileToPtx(const std::string& text) {
  TCC_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Library());
  return nvrtc->CompileToPtx(text, sm_);
}

}  // namespace tcc
