#include "runtime/cupti/cupti_recording.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/cupti/cupti_api.h"
#include "runtime/cupti/cupti_library.h"

namespace tcc {
namespace {

// CUPTI wants multiples of 8 bytes, and large ones.
constexpr size_t kBufferBytes = size_t{1} << 20;

// Its callbacks know nothing of whom they work for.
struct Collected {
  std::mutex mutex;
  cupti::Library library;
  std::vector<KernelActivity> kernels;
};

Collected& TheCollected() {
  static Collected collected;
  return collected;
}

void RequestBuffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void TakeBuffer(CudaContextHandle, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  Collected& collected = TheCollected();
  std::lock_guard lock(collected.mutex);
  void* record = nullptr;
  while (valid_bytes > 0 && collected.library.next_record(buffer, valid_bytes, &record) == 0) {
    const auto& kernel = *static_cast<const cupti::KernelRecord*>(record);
    if (kernel.kind != cupti::kConcurrentKernel || kernel.name == nullptr) continue;
    collected.kernels.push_back({kernel.name, kernel.start, kernel.end});
  }
  std::free(buffer);
}

constexpr Symbol<cupti::Library> kSymbols[] = {
    SymbolFor<&cupti::Library::register_callbacks>("cuptiActivityRegisterCallbacks"),
    SymbolFor<&cupti::Library::enable>("cuptiActivityEnable"),
    SymbolFor<&cupti::Library::disable>("cuptiActivityDisable"),
    SymbolFor<&cupti::Library::flush_all>("cuptiActivityFlushAll"),
    SymbolFor<&cupti::Library::next_record>("cuptiActivityGetNextRecord"),
    SymbolFor<&cupti::Library::result_string>("cuptiGetResultString"),
};

StatusOr<cupti::Library> OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, cupti::OpenSharedLibrary());
  return BindAll(opened, kSymbols, "CUPTI of CUDA 11.4 or newer");
}

Status Expect(const cupti::Library& library, int result, const char* call) {
  if (result == 0) return OkStatus();
  const char* text = nullptr;
  library.result_string(result, &text);
  return Missing("{} fails: {} ({})", call, text != nullptr ? text : "unknown error", result);
}

}  // namespace

StatusOr<std::unique_ptr<CuptiRecording>> CuptiRecording::Start() {
  TCC_ASSIGN_OR_RETURN(cupti::Library library, OpenLibrary());
  Collected& collected = TheCollected();
  {
    std::lock_guard lock(collected.mutex);
    collected.library = library;
    collected.kernels.clear();
  }
  TCC_RETURN_IF_ERROR(Expect(library, library.register_callbacks(RequestBuffer, TakeBuffer),
                             "cuptiActivityRegisterCallbacks"));
  TCC_RETURN_IF_ERROR(
      Expect(library, library.enable(cupti::kConcurrentKernel), "cuptiActivityEnable"));
  std::unique_ptr<CuptiRecording> recording(new CuptiRecording);
  recording->running_ = true;
  return recording;
}

CuptiRecording::~CuptiRecording() {
  if (running_) TheCollected().library.disable(cupti::kConcurrentKernel);
}

StatusOr<std::vector<KernelActivity>> CuptiRecording::Stop() {
  Collected& collected = TheCollected();
  const cupti::Library library = collected.library;
  // Buffers arrive in TakeBuffer while this runs.
  int flushed = library.flush_all(cupti::kFlushForced);
  running_ = false;
  int disabled = library.disable(cupti::kConcurrentKernel);
  TCC_RETURN_IF_ERROR(Expect(library, flushed, "cuptiActivityFlushAll"));
  TCC_RETURN_IF_ERROR(Expect(library, disabled, "cuptiActivityDisable"));
  std::lock_guard lock(collected.mutex);
  std::vector<KernelActivity> kernels = std::exchange(collected.kernels, {});
  std::ranges::stable_sort(kernels, {}, &KernelActivity::start_ns);
  return kernels;
}

}  // namespace tcc
