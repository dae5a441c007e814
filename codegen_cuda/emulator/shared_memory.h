#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/host_interface.h"

namespace tcc::emulator {

// What is not initialised holds these bytes: NaN as a float of any width, -1 as an integer.
inline constexpr std::byte kPoison{0xff};

// The shared memory of one block, and for each byte who touched it since the last barrier of all
// threads. Two accesses race when they are between the same two barriers, by different threads,
// one of them a write, and not both atomic. Two readers are remembered, so no race is missed.
// Words of 4 bytes are followed as wholes until one is touched in part.
//
// Dynamic shared memory comes first, then the static arrays in the order in which they are met.
class SharedMemory {
 public:
  // What a block may have without opting in (CUDA C Programming Guide, table of compute
  // capabilities), which holds for static arrays.
  static constexpr int64_t kStaticBytes = int64_t{48} << 10;

  explicit SharedMemory(int64_t dynamic_bytes);

  // A block begins: poisons, forgets pending copies.
  void Reset();

  // All threads of the block have met.
  void NextEpoch() { ++epoch_; }

  // The functions below give what is wrong, or where the array lies.

  // offset < 0: a static array, the same place for each `id`.
  std::optional<std::string> Place(int id, int64_t offset, int64_t bytes, std::byte** place);

  // kind as in host_interface.h.
  std::optional<std::string> Access(int thread, const void* address, int bytes, char kind,
                                    int line);

  // From its issue to its wait an asynchronous copy may write at any time.
  std::optional<std::string> BeginCopy(int thread, const void* address, int bytes, int line);
  std::optional<std::string> EndCopy(int thread, const void* address, int bytes, int line);

 private:
  struct Touch {
    uint32_t epoch = 0;
    int32_t line = 0;
    int16_t thread = 0;
    bool atomic = false;
  };
  struct Cell {
    Touch write;
    Touch reads[2];
    // Who has a copy under way to here, or -1.
    int16_t copier = -1;
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
  // Notes the touch; whom it races with, or null.
  const Touch* Note(Cell& cell, const Touch& now, bool write) const;

  int64_t dynamic_bytes_;
  int64_t used_bytes_;
  uint32_t epoch_ = 1;
  std::vector<StaticArray> static_arrays_;
  std::vector<std::byte> memory_;
  std::vector<Cell> words_;
  std::vector<Cell> bytes_;     // of words that are followed by byte
  std::vector<uint8_t> split_;  // which words those are
  std::byte* begin_;
};

}  // namespace tcc::emulator
