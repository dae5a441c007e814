#include "codegen_cuda/emulator/shared_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/check.h"
#include "support/integer_division.h"

namespace tcc::emulator {
namespace {

// The alignment of dynamic shared memory on a device.
constexpr int64_t kAlignment = 1024;
constexpr int64_t kWordBytes = 4;

std::string ReaderOrWriter(int thread) {
  return thread >= 0 ? fmt::format("thread {}", thread)
                     : fmt::format("a product of warp group {}", -1 - thread);
}

}  // namespace

SharedMemory::SharedMemory(int64_t dynamic_bytes)
    : dynamic_bytes_(dynamic_bytes),
      used_bytes_(RoundUp(dynamic_bytes, kAlignment)),
      memory_(used_bytes_ + kStaticBytes + kAlignment),
      words_((used_bytes_ + kStaticBytes) / kWordBytes),
      bytes_(used_bytes_ + kStaticBytes),
      split_(words_.size()),
      fences_(kCudaLimits.max_threads) {
  const auto address = reinterpret_cast<uintptr_t>(memory_.data());
  begin_ = memory_.data() + (RoundUp(static_cast<int64_t>(address), kAlignment) - address);
}

void SharedMemory::Reset() {
  NextEpoch();
  std::fill(begin_, begin_ + used_bytes_, kPoison);
  const int64_t words = CeilDivision(used_bytes_, kWordBytes);
  for (int64_t word = 0; word < words; ++word) words_[word].copier = words_[word].fences = -1;
  std::fill(split_.begin(), split_.begin() + words, 0);
  std::ranges::fill(fences_, Fences());
}

void SharedMemory::ProxyFence(int thread) {
  Fences& fences = fences_[thread];
  if (fences.last != epoch_) {
    fences.before = fences.count;
    fences.last = epoch_;
  }
  ++fences.count;
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
  auto known = std::ranges::find_if(static_arrays_,
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

template <typename Visit>
std::optional<std::string> SharedMemory::ForCells(int64_t first, int bytes, Visit visit) {
  const int64_t end = first + bytes;
  for (int64_t i = first; i < end;) {
    const int64_t word = i / kWordBytes;
    const bool whole = i % kWordBytes == 0 && end - i >= kWordBytes;
    if (split_[word] == 0 && !whole) {
      split_[word] = 1;
      std::fill_n(bytes_.begin() + word * kWordBytes, kWordBytes, words_[word]);
    }
    const bool by_byte = split_[word] != 0;
    Cell& cell = by_byte ? bytes_[i] : words_[word];
    if (std::optional<std::string> complaint = visit(cell)) return complaint;
    i += by_byte ? 1 : kWordBytes;
  }
  return std::nullopt;
}

const SharedMemory::Touch* SharedMemory::Note(Cell& cell, const Touch& now, bool write) const {
  auto races = [&](const Touch& before) {
    return before.epoch == epoch_ && before.thread != now.thread && !(before.atomic && now.atomic);
  };
  if (races(cell.write)) return &cell.write;
  if (write) {
    for (const Touch& read : cell.reads) {
      if (races(read)) return &read;
    }
    cell.write = now;
    cell.fences = fences_[now.thread].count;
  } else if (cell.reads[0].epoch != epoch_ || cell.reads[0].thread == now.thread) {
    cell.reads[0] = now;
  } else {
    cell.reads[1] = now;
  }
  return nullptr;
}

std::optional<std::string> SharedMemory::Visit(Cell& cell, const Touch& now, bool write) const {
  if (cell.copier >= 0) {
    return fmt::format(
        "touches what an asynchronous copy of thread {} may still write: not "
        "waited for",
        cell.copier);
  }
  const Touch* other = Note(cell, now, write);
  if (other == nullptr) return std::nullopt;
  return fmt::format("races with {}, which {} it in line {} since the last barrier",
                     ReaderOrWriter(other->thread), other == &cell.write ? "wrote" : "read",
                     other->line);
}

std::optional<std::string> SharedMemory::Access(int thread, const void* address, int bytes,
                                                char kind, int line) {
  const int64_t first = static_cast<const std::byte*>(address) - begin_;
  TCC_CHECK(first >= 0 && first + bytes <= used_bytes_);
  const Touch now = {epoch_, line, static_cast<int16_t>(thread), kind == 'a'};
  return ForCells(first, bytes, [&](Cell& cell) { return Visit(cell, now, kind != 'r'); });
}

std::optional<std::string> SharedMemory::ProxyRead(int group, const void* address, int bytes,
                                                   int line) {
  const Touch now = {epoch_, line, static_cast<int16_t>(-1 - group), false};
  return ForCells(AddressOf(address), bytes, [&](Cell& cell) -> std::optional<std::string> {
    if (auto complaint = Visit(cell, now, false)) return complaint;
    if (cell.fences < 0) return std::nullopt;
    const Fences& fences = fences_[cell.write.thread];
    const int32_t passed = fences.last == epoch_ ? fences.before : fences.count;
    if (passed > cell.fences) return std::nullopt;
    return fmt::format(
        "was written by thread {} in line {} without a proxy fence between that and the last "
        "barrier",
        cell.write.thread, cell.write.line);
  });
}

void SharedMemory::SetCopier(int64_t first, int bytes, int copier) {
  ForCells(first, bytes, [&](Cell& cell) -> std::optional<std::string> {
    cell.copier = static_cast<int16_t>(copier);
    return std::nullopt;
  });
}

std::optional<std::string> SharedMemory::BeginCopy(int thread, const void* address, int bytes,
                                                   int line) {
  if (auto complaint = Access(thread, address, bytes, 'w', line)) return complaint;
  const int64_t first = static_cast<const std::byte*>(address) - begin_;
  SetCopier(first, bytes, thread);
  // No byte of the copy arrives before its wait.
  std::fill_n(begin_ + first, bytes, kPoison);
  return std::nullopt;
}

std::optional<std::string> SharedMemory::EndCopy(int thread, const void* address, int bytes,
                                                 int line) {
  SetCopier(static_cast<const std::byte*>(address) - begin_, bytes, -1);
  return Access(thread, address, bytes, 'w', line);
}

void SharedMemory::EndBox(const void* address, int bytes) {
  ForCells(static_cast<const std::byte*>(address) - begin_, bytes,
           [](Cell& cell) -> std::optional<std::string> {
             cell.copier = -1;
             cell.write = {};
             return std::nullopt;
           });
}

}  // namespace tcc::emulator
