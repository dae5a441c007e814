#include "codegen_cuda/emulator/driver.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>

#include "codegen_cuda/emulator/driver_calls.h"
#include "codegen_cuda/emulator/driver_machine.h"
#include "support/target_api.h"

namespace tcc::emulator {
namespace {

enum CallIndex : int {
#define TCC_CALL_INDEX(name, parameters, names) kIndex_##name,
  TCC_CUDA_CALLS(TCC_CALL_INDEX)
#undef TCC_CALL_INDEX
};

constexpr const char* kNames[] = {
#define TCC_CALL_NAME(name, parameters, names) #name,
    TCC_CUDA_CALLS(TCC_CALL_NAME)
#undef TCC_CALL_NAME
};

// The calls that free something, or end a capture, even when they report a failure.
constexpr CallIndex kGivesBack[] = {
    kIndex_cuDevicePrimaryCtxRelease_v2,
    kIndex_cuCtxPopCurrent_v2,
    kIndex_cuModuleUnload,
    kIndex_cuMemFree_v2,
    kIndex_cuMemFreeAsync,
    kIndex_cuMemPoolDestroy,
    kIndex_cuMemFreeHost,
    kIndex_cuStreamDestroy_v2,
    kIndex_cuStreamEndCapture,
    kIndex_cuGraphExecDestroy,
    kIndex_cuGraphDestroy,
    kIndex_cuEventDestroy_v2,
};
constexpr CallIndex kAboutErrors[] = {kIndex_cuGetErrorName, kIndex_cuGetErrorString};

constexpr bool Contains(std::span<const CallIndex> list, CallIndex call) {
  return std::ranges::find(list, call) != list.end();
}

// Records a call, and returns the failure that it must report, or kCudaSuccess.
CudaResult Note(CallIndex call) {
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  const auto number = static_cast<int64_t>(machine.calls.size());
  machine.calls.emplace_back(kNames[call]);
  CudaResult error = machine.stuck;
  NamedFault& named = machine.named_fault;
  if (named.call == kNames[call]) {
    const int64_t nth = ++named.calls;
    if (nth == named.first || (named.and_later && nth > named.first)) {
      error = named.error;
      if (named.sticky) machine.stuck = error;
    }
  }
  if (number == machine.fault.call) {
    error = machine.fault.error;
    if (machine.fault.sticky) machine.stuck = error;
  }
  return error == kCudaSuccess ? error : Fail(error, "");
}

template <auto kFunction, CallIndex kCall>
struct Entry;
template <typename... Parameters, CudaResult (*kFunction)(Parameters...), CallIndex kCall>
struct Entry<kFunction, kCall> {
  static CudaResult Call(Parameters... parameters) {
    if constexpr (Contains(kAboutErrors, kCall)) {
      return kFunction(parameters...);
    } else {
      const CudaResult fault = Note(kCall);
      if (fault != kCudaSuccess && !Contains(kGivesBack, kCall)) return fault;
      const CudaResult result = kFunction(parameters...);
      return fault != kCudaSuccess ? fault : result;
    }
  }
};

}  // namespace

CudaDriver EmulatedDriver() {
  CudaDriver driver{.takes_notes = true};
#define TCC_FILL_IN(name, parameters, names) \
  driver.name = &Entry<&calls::name, kIndex_##name>::Call;
  TCC_CUDA_CALLS(TCC_FILL_IN)
#undef TCC_FILL_IN
  return driver;
}

Status InjectDriverFault(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ':');
  NamedFault fault;
  bool good = text.empty() || words.size() == 3 || (words.size() == 4 && words[3] == "sticky");
  if (good && !text.empty()) {
    std::string nth = words[1];
    fault.call = words[0];
    fault.and_later = nth.ends_with("+");
    if (fault.and_later) nth.pop_back();
    fault.sticky = words.size() == 4;
    good = std::ranges::find(kNames, std::string_view(fault.call)) != std::end(kNames) &&
           absl::SimpleAtoi(nth, &fault.first) && fault.first > 0 &&
           absl::SimpleAtoi(words[2], &fault.error);
  }
  if (!good) {
    return UsageError("a fault of the driver is '{}'; expected CALL:NTH[+]:ERROR[:sticky]", text);
  }
  Machine& machine = TheMachine();
  std::lock_guard lock(machine.mutex);
  machine.named_fault = std::move(fault);
  return OkStatus();
}

StatusOr<std::vector<Target>> EmulatedTargets() {
  const char* variable = std::getenv("TCC_EMULATED_SM");
  const std::string only = variable != nullptr ? variable : "";
  std::vector<Target> targets;
  std::vector<int> known;
  for (const Target& target : AllTargets()) {
    if (!IsCuda(target)) continue;
    known.push_back(target.sm);
    if (only.empty() || only == std::to_string(target.sm)) targets.push_back(target);
  }
  if (!targets.empty()) return targets;
  return Missing("TCC_EMULATED_SM is '{}'; expected one of {}", only, fmt::join(known, ", "));
}

int EmulatedOrdinal(int sm) {
  const StatusOr<std::vector<Target>> targets = EmulatedTargets();
  if (!targets.ok()) return -1;
  auto found = std::ranges::find(*targets, sm, &Target::sm);
  return found == targets->end() ? -1 : static_cast<int>(found - targets->begin());
}

}  // namespace tcc::emulator
