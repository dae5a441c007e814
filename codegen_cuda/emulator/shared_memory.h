#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/host_interface.h"
#include "support/target.h"

namespace tcc::emulator {

// The bytes of uninitialised memory: NaN as a float of any width, -1 as an integer.
inline constexpr std::byte kPoison{0xff};

// The shared memory of one block, and for each byte the threads that accessed it since the last
// barrier. Two accesses race if they lie between the same two barriers, are by different threads,
// include a write, and are not both atomic. Two readers are remembered, so no race is missed. A
// word of 4 bytes is tracked as a whole until it is accessed in part.
//
// Dynamic shared memory comes first, then the static arrays in the order in which they are met.
class SharedMemory {
 public:
  // The limit of static arrays.
  static constexpr int64_t kStaticBytes = kCudaLimits.default_shared_bytes;

  explicit SharedMemory(int64_t dynamic_bytes);

  // Begins a block: poisons the memory and forgets pending copies.
  void Reset();

  // Notes that a barrier was passed.
  void NextEpoch() { ++epoch_; }
  // Returns the number of the time between two barriers.
  uint32_t epoch() const { return epoch_; }

  // Converts between a byte and its address as a descriptor counts it.
  int64_t AddressOf(const void* byte) const { return static_cast<const std::byte*>(byte) - begin_; }
  const std::byte* At(int64_t address) const { return begin_ + address; }

  // Notes that a thread makes its writes so far visible to the asynchronous proxy.
  void ProxyFence(int thread);

  // The functions below return a complaint, or nullopt.

  // Finds the place of an array. offset < 0: a static array, at the same place for each call with
  // `id`.
  std::optional<std::string> Place(int id, int64_t offset, int64_t bytes, std::byte** place);

  // Notes an access; `kind` as in host_interface.h.
  std::optional<std::string> Access(int thread, const void* address, int bytes, char kind,
                                    int line);

  // Notes a read through the asynchronous proxy by a product of warp group `group`: each byte's
  // writer must have passed a proxy fence and then a barrier.
  std::optional<std::string> ProxyRead(int group, const void* address, int bytes, int line);

  // Begins and ends an asynchronous copy, which may write at any time between its issue and its
  // wait.
  std::optional<std::string> BeginCopy(int thread, const void* address, int bytes, int line);
  std::optional<std::string> EndCopy(int thread, const void* address, int bytes, int line);
  // Ends a copy that is not a write of any thread to those that waited for it.
  void EndBox(const void* address, int bytes);

 private:
  struct Touch {
    uint32_t epoch = 0;
    int32_t line = 0;
    int16_t thread = 0;  // -1 - g for a product of group g
    bool atomic = false;
  };
  struct Cell {
    Touch write;
    Touch reads[2];
    // The thread that has a copy in flight to this cell, or -1.
    int16_t copier = -1;
    // The proxy fences that the last writer had passed before, or -1 if the block wrote nothing.
    int32_t fences = -1;
  };
  // The proxy fences that a thread has passed.
  struct Fences {
    int32_t count = 0;
    int32_t before = 0;  // the count when epoch `last` began
    uint32_t last = 0;   // the epoch of the last one
  };
  struct StaticArray {
    int id;
    int64_t begin;
    int64_t bytes;
  };

  // Calls `visit` for each cell of the bytes until one gives a complaint.
  template <typename Visit>
  std::optional<std::string> ForCells(int64_t first, int bytes, Visit visit);
  void SetCopier(int64_t first, int bytes, int copier);
  // Notes an access, and returns the one that it races with, or null.
  const Touch* Note(Cell& cell, const Touch& now, bool write) const;
  // Does the same, and returns a complaint.
  std::optional<std::string> Visit(Cell& cell, const Touch& now, bool write) const;

  int64_t dynamic_bytes_;
  int64_t used_bytes_;
  uint32_t epoch_ = 1;
  std::vector<StaticArray> static_arrays_;
  std::vector<std::byte> memory_;
  std::vector<Cell> words_;
  std::vector<Cell> bytes_;     // the cells of words that are tracked by byte
  std::vector<uint8_t> split_;  // whether a word is tracked by byte
  std::vector<Fences> fences_;  // by thread
  std::byte* begin_;
};

}  // namespace tcc::emulator
