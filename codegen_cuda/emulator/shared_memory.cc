#include "codegen_cuda/emulator/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/check.h"

namespace tcc::emulator {
namespace {

// As dynamic shared memory begins on a device.
constexpr int64_t kAlignment = 1024;

int64_t RoundUp(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

SharedMemory::SharedMemory(int64_t dynamic_bytes)
    : dynamic_bytes_(dynamic_bytes),
      used_bytes_(RoundUp(dynamic_bytes, kAlignment)),
      memory_(used_bytes_ + kStaticBytes + kAlignment),
      cells_(used_bytes_ + kStaticBytes) {
  const auto address = reinterpret_cast<uintptr_t>(memory_.data());
  begin_ = memory_.data() + (RoundUp(static_cast<int64_t>(address), kAlignment) - address);
}

void SharedMemory::Reset() {
  NextEpoch();
  std::fill(begin_, begin_ + used_bytes_, kPoison);
  for (int64_t i = 0; i < used_bytes_; ++i) cells_[i].copier = -1;
}

std::optional<std::string> SharedMemory::Place(int id, int64_t offset, int64_t bytes,
                                               std::byte** place) {
  if (offset >= 0) {
    if (bytes < 0 || offset > dynamic_bytes_ - bytes) {
      return fmt::format("takes bytes {} to {} of the {} of dynamic shared memory", offset,
                         offset + bytes, dynamic_bytes_);
    }
    *place = begin_ + offset;
    return std::nullopt;
  }
  auto known = std::find_if(static_arrays_.begin(), static_arrays_.end(),
                            [&](const StaticArray& array) { return array.id == id; });
  if (known == static_arrays_.end()) {
    const int64_t begin = RoundUp(used_bytes_, 16);
    const int64_t first = RoundUp(dynamic_bytes_, kAlignment);
    if (bytes < 0 || begin + bytes - first > kStaticBytes) {
      return fmt::format("makes {} bytes of static shared memory; expected at most {}",
                         begin + bytes - first, kStaticBytes);
    }
    std::fill(begin_ + used_bytes_, begin_ + begin + bytes, kPoison);
    used_bytes_ = begin + bytes;
    static_arrays_.push_back({id, begin, bytes});
    known = static_arrays_.end() - 1;
  }
  if (known->bytes != bytes) {
    return fmt::format("has {} bytes here, {} in another thread", bytes, known->bytes);
  }
  *place = begin_ + known->begin;
  return std::nullopt;
}

std::optional<std::string> SharedMemory::Note(Cell& cell, const Touch& now, bool write) const {
  auto races = [&](const Touch& before) {
    return before.epoch == epoch_ && before.thread != now.thread && !(before.atomic && now.atomic);
  };
  auto complaint = [&](const Touch& before, const char* did) {
    return fmt::format("races with thread {}, which {} it in line {} since the last barrier",
                       before.thread, did, before.line);
  };
  if (races(cell.write)) return complaint(cell.write, "wrote");
  if (write) {
    for (const Touch& read : cell.reads) {
      if (races(read)) return complaint(read, "read");
    }
    cell.write = now;
  } else if (cell.reads[0].epoch != epoch_ || cell.reads[0].thread == now.thread) {
    cell.reads[0] = now;
  } else {
    cell.reads[1] = now;
  }
  return std::nullopt;
}

std::optional<std::string> SharedMemory::Access(int thread, const void* address, int bytes,
                                                char kind, int line) {
  const int64_t first = static_cast<const std::byte*>(address) - begin_;
  TCC_CHECK(first >= 0 && first + bytes <= used_bytes_);
  const Touch now = {epoch_, line, static_cast<int16_t>(thread), kind == 'a'};
  for (int64_t i = first; i < first + bytes; ++i) {
    Cell& cell = cells_[i];
    if (cell.copier >= 0) {
      return fmt::format(
          "touches what an asynchronous copy of thread {} may still write: not "
          "waited for",
          cell.copier);
    }
    if (auto complaint = Note(cell, now, kind != 'r')) return complaint;
  }
  return std::nullopt;
}

std::optional<std::string> SharedMemory::BeginCopy(int thread, const void* address, int bytes,
                                                   int line) {
  if (auto complaint = Access(thread, address, bytes, 'w', line)) return complaint;
  const int64_t first = static_cast<const std::byte*>(address) - begin_;
  for (int64_t i = first; i < first + bytes; ++i) {
    cells_[i].copier = static_cast<int16_t>(thread);
    // Until the wait ends it, nothing of it has arrived.
    begin_[i] = kPoison;
  }
  return std::nullopt;
}

std::optional<std::string> SharedMemory::EndCopy(int thread, const void* address, int bytes,
                                                 int line) {
  const int64_t first = static_cast<const std::byte*>(address) - begin_;
  for (int64_t i = first; i < first + bytes; ++i) cells_[i].copier = -1;
  return Access(thread, address, bytes, 'w', line);
}

}  // namespace tcc::emulator
