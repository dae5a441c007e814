#include "codegen_cuda/emulator/write_log.h"

#include <cstring>

namespace tcc::emulator {

void WriteLog::Add(void* address, int bytes, bool atomic, const char* name, long long index,
                   int line) {
  Written& entry = entries_.emplace_back();
  entry = {static_cast<std::byte*>(address), bytes, atomic, {}, name, index, line};
  memcpy(entry.value.data(), address, bytes);
}

std::vector<WriteLog::Written> WriteLog::Results() const {
  std::vector<Written> results = entries_;
  for (Written& entry : results) memcpy(entry.value.data(), entry.address, entry.bytes);
  return results;
}

void WriteLog::Undo() const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    memcpy(entry->address, entry->value.data(), entry->bytes);
  }
}

const WriteLog::Written* FirstDifference(const std::vector<WriteLog::Written>& results) {
  for (const WriteLog::Written& entry : results) {
    if (!entry.atomic && memcmp(entry.address, entry.value.data(), entry.bytes) != 0) {
      return &entry;
    }
  }
  return nullptr;
}

void Redo(const std::vector<WriteLog::Written>& results) {
  for (const WriteLog::Written& entry : results) {
    memcpy(entry.address, entry.value.data(), entry.bytes);
  }
}

}  // namespace tcc::emulator
