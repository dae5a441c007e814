#include "tests/fuzz/nvrtc_sample.h"

#include "codegen_cuda/nvrtc/nvrtc.h"
#include "support/target_api.h"
#include "tests/codegen_cuda/emulated/emulated_program.h"

namespace tcc {

void NvrtcSample::Add(const Function& scheduled) {
  if (lowered_.size() >= most_) return;
  StatusOr<PreparedFunction> parts = LoweredParts(scheduled);
  if (!parts.ok()) return;
  lowered_.push_back(parts->main);
  lowered_.back().name = fmt::format("sample{}", lowered_.size());
}

void NvrtcSample::Check(FuzzResult& result) const {
  StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) {
    fmt::print("skipped: no text is compiled for a GPU: {}\n", Message(nvrtc.status()));
    return;
  }
  // The compiler's front end takes longer for the prelude than for most kernels.
  constexpr size_t kTogether = 10;
  for (const Target& target : AllTargets()) {
    if (!IsCuda(target)) continue;
    std::vector<Function> fitting;
    for (const Function& fn : lowered_) {
      if (EmitCuda({{fn}}, target).ok()) fitting.push_back(fn);
    }
    if (fitting.empty()) {
      fmt::print(stderr, "{}: none of {} functions has code\n", target.name, lowered_.size());
      result.failed += lowered_.size() == most_ ? 1 : 0;
    }
    for (size_t i = 0; i < fitting.size(); i += kTogether) {
      std::span<const Function> some(&fitting[i], std::min(kTogether, fitting.size() - i));
      StatusOr<Cubin> cubin = nvrtc->Compile(EmitCuda(some, target)->text, target.sm);
      if (!cubin.ok()) fmt::print(stderr, "{}: {}\n", target.name, Message(cubin.status()));
      result.failed += cubin.ok() ? 0 : 1;
      if (cubin.ok()) {
        result.histogram["kernels compiled by NVRTC for " + target.name] +=
            std::ssize(cubin->kernels);
      }
    }
  }
}

}  // namespace tcc
