// CUPTI as far as runtime/cupti/cupti_api.h goes. It does not look at any kernel: a flush hands out
// a record for each name in TCC_FAKE_KERNELS (separated by commas), number i from 10 us * i on and
// for i + 1 us, last one first, as the real one does not sort them either.

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cupti/cupti_api.h"

namespace {

using namespace tcc::cupti;

BufferRequested requested = nullptr;
BufferCompleted completed = nullptr;
bool enabled = false;
size_t next = 0;
std::vector<std::string> names;

std::vector<std::string> NamesOf(const char* text) {
  std::vector<std::string> found;
  std::string list = text == nullptr ? "" : text;
  for (size_t begin = 0; begin < list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    found.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return found;
}

}  // namespace

extern "C" {

int cuptiActivityRegisterCallbacks(BufferRequested request, BufferCompleted complete) {
  requested = request;
  completed = complete;
  return 0;
}
int cuptiActivityEnable(int kind) {
  if (std::getenv("TCC_FAKE_CUPTI_REFUSES") != nullptr) return 15;
  enabled = kind == kConcurrentKernel;
  return enabled ? 0 : 1;
}
int cuptiActivityDisable(int) {
  enabled = false;
  return 0;
}
int cuptiActivityFlushAll(uint32_t flag) {
  if (flag != kFlushForced || !enabled) return 1;
  names = NamesOf(std::getenv("TCC_FAKE_KERNELS"));
  uint8_t* buffer = nullptr;
  size_t bytes = 0, most = 0;
  requested(&buffer, &bytes, &most);
  auto* records = reinterpret_cast<KernelRecord*>(buffer);
  if (bytes < names.size() * sizeof(KernelRecord)) return 1;
  std::memset(buffer, 0, bytes);
  for (size_t i = 0; i < names.size(); ++i) {
    KernelRecord& record = records[names.size() - 1 - i];
    record.kind = kConcurrentKernel;
    record.start = 5'000'000 + 10'000 * i;
    record.end = record.start + 1000 * (i + 1);
    record.name = names[i].c_str();
  }
  next = 0;
  completed(nullptr, 0, buffer, bytes, names.size() * sizeof(KernelRecord));
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, void** record) {
  if ((next + 1) * sizeof(KernelRecord) > valid_bytes) return kMaxLimitReached;
  *record = buffer + next++ * sizeof(KernelRecord);
  return 0;
}
int cuptiGetResultString(int result, const char** text) {
  *text = result == 15 ? "NO_PERMISSION" : "?";
  return 0;
}

}  // extern "C"
