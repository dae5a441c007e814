#include "codegen_cuda/emulator/box_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace tcc::emulator {
namespace {

// The alignment of a box in shared memory.
constexpr uintptr_t kBoxAlignment = 128;
// A swizzle XORs address bits from kChunkBit on with those from kRowBit on.
constexpr int kChunkBit = 4;
constexpr int kRowBit = 7;

int64_t BytesOf(const TccMap& map) {
  int64_t bytes = map.element_bytes;
  for (int i = 0; i < map.rank; ++i) bytes *= map.box[i];
  return bytes;
}

// Returns where the hardware puts the byte at `address` of a box in its own order.
std::byte* Swizzled(std::byte* address, int bits) {
  const auto place = std::bit_cast<uintptr_t>(address);
  const uintptr_t row = place >> kRowBit & ((uintptr_t{1} << bits) - 1);
  return std::bit_cast<std::byte*>(place ^ row << kChunkBit);
}

// Rounds a float to tf32, halves to even; keeps NaN and infinities.
void RoundToTf32(std::byte* element) {
  constexpr uint32_t kExponent = 0x7f800000, kDropped = 13;
  uint32_t bits = 0;
  std::memcpy(&bits, element, sizeof(bits));
  if ((bits & kExponent) == kExponent) return;
  const uint32_t half = (1u << (kDropped - 1)) - 1 + (bits >> kDropped & 1);
  bits = (bits + half) >> kDropped << kDropped;
  std::memcpy(element, &bits, sizeof(bits));
}

// Copies one box, element by element.
void CopyBox(std::byte* to, const TccMap& map, const int* first) {
  int64_t at[5] = {};  // the element within the box
  const int64_t count = BytesOf(map) / map.element_bytes;
  for (int64_t n = 0; n < count; ++n) {
    std::byte* place = Swizzled(to + n * map.element_bytes, map.swizzle);
    std::memset(place, 0, map.element_bytes);
    bool inside = true;
    uint64_t offset = 0;
    for (int i = 0; i < map.rank; ++i) {
      const int64_t index = first[i] + at[i];
      inside = inside && index >= 0 && static_cast<uint64_t>(index) < map.extents[i];
      offset += static_cast<uint64_t>(index) * map.byte_strides[i];
    }
    if (inside) std::memcpy(place, map.data + offset, map.element_bytes);
    if (map.rounds_to_tf32) RoundToTf32(place);
    for (int i = 0; i < map.rank && ++at[i] == map.box[i]; ++i) at[i] = 0;
  }
}

}  // namespace

void BoxCopies::Reset() {
  barriers_.clear();
  delivered_.clear();
}

const BoxCopies::Barrier* BoxCopies::Find(const void* address) const {
  auto found = std::ranges::find(barriers_, address, &Barrier::address);
  return found == barriers_.end() ? nullptr : &*found;
}

BoxCopies::Barrier* BoxCopies::Find(const void* address) {
  return const_cast<Barrier*>(std::as_const(*this).Find(address));
}

std::optional<std::string> BoxCopies::Misfit(const TccMap& map, int rank, const void* to,
                                             int64_t room) {
  if (rank != map.rank) {
    return fmt::format("gets a box with {} coordinates; the rank of its map is {}", rank, map.rank);
  }
  if (std::bit_cast<uintptr_t>(to) % kBoxAlignment != 0) {
    return fmt::format("gets a box although it does not lie at a multiple of {} bytes",
                       kBoxAlignment);
  }
  if (BytesOf(map) <= room) return std::nullopt;
  return fmt::format("gets a box of {} bytes; its array has {} from there on", BytesOf(map), room);
}

std::optional<std::string> BoxCopies::Init(const void* barrier) {
  if (Find(barrier) != nullptr) return "is a barrier of boxes already";
  barriers_.push_back({.address = barrier});
  return std::nullopt;
}

std::optional<std::string> BoxCopies::Expect(const void* address, int64_t bytes) {
  Barrier* barrier = Find(address);
  if (barrier == nullptr) return "is not a barrier of boxes";
  if (barrier->expected) return "expects bytes already in the phase that runs";
  barrier->expected = bytes;
  return std::nullopt;
}

std::optional<std::string> BoxCopies::Copy(int thread, void* to, const TccMap& map,
                                           const int* first, const void* address, int line) {
  Barrier* barrier = Find(address);
  if (barrier == nullptr) return "gets a box that arrives at no barrier of boxes";
  const int64_t bytes = BytesOf(map);
  const bool is_read = std::ranges::any_of(
      delivered_, [&](const Delivered& box) { return box.Holds(to, static_cast<int>(bytes)); });
  if (is_read) return "gets a box although no barrier of the block has followed the one there";
  if (auto complaint = shared_.BeginCopy(thread, to, static_cast<int>(bytes), line)) {
    return complaint;
  }
  Box box{static_cast<std::byte*>(to), map, {}};
  std::copy_n(first, map.rank, box.first);
  barrier->boxes.push_back(box);
  return std::nullopt;
}

bool BoxCopies::CanEnd(const void* address) const {
  const Barrier* barrier = Find(address);
  if (barrier == nullptr || !barrier->expected) return false;
  int64_t bytes = 0;
  for (const Box& box : barrier->boxes) bytes += BytesOf(box.map);
  return bytes >= *barrier->expected;
}

std::optional<std::string> BoxCopies::Wait(int thread, const void* address, unsigned parity,
                                           bool* over) {
  Barrier* barrier = Find(address);
  if (barrier == nullptr) return "is not a barrier of boxes";
  if (barrier->parity == parity && CanEnd(address)) {
    int64_t bytes = 0;
    for (const Box& box : barrier->boxes) {
      bytes += BytesOf(box.map);
      shared_.EndBox(box.to, static_cast<int>(BytesOf(box.map)));
      CopyBox(box.to, box.map, box.first);
      delivered_.push_back({box.to, box.to + BytesOf(box.map), address, {}});
    }
    if (bytes != *barrier->expected) {
      return fmt::format("got boxes of {} bytes; expected were {}", bytes, *barrier->expected);
    }
    *barrier = {.address = address, .parity = parity ^ 1};
  }
  *over = barrier->parity != parity;
  for (Delivered& box : delivered_) {
    if (*over && box.barrier == address) box.waited.set(static_cast<size_t>(thread));
  }
  return std::nullopt;
}

std::optional<std::string> BoxCopies::Unfinished() const {
  const bool any =
      std::ranges::any_of(barriers_, [](const Barrier& barrier) { return !barrier.boxes.empty(); });
  if (!any) return std::nullopt;
  return "the block ends while boxes are on their way: no thread has waited for them";
}

std::optional<std::string> BoxCopies::Access(int thread, const void* address, int bytes) const {
  for (const Delivered& box : delivered_) {
    if (box.Holds(address, bytes) && !box.waited[static_cast<size_t>(thread)]) {
      return "is of a box that the thread has not waited for";
    }
  }
  return std::nullopt;
}

}  // namespace tcc::emulator
