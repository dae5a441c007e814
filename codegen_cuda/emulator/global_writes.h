#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen_cuda/emulator/host_interface.h"

namespace tcc::emulator {

// A detector of races between blocks: it records which block wrote each element of the buffers that
// a launch may write. The blocks of a launch run in any order and at the same time, so no block may
// read or write an element that another block writes in the same launch, unless both update it
// atomically. A read before another block's write is found when the blocks run in reverse order.
//
// Threads of the block that takes a tile's last ticket may, behind a fence, read what the blocks
// wrote that took the tile's other tickets.
class BlockRaces {
 public:
  // Watches the parameters that are outputs. `arguments` holds one per parameter.
  BlockRaces(const TccKernel& kernel, std::span<const TccArgument> arguments);

  // The functions below return a complaint about an access by block number `block`, or nullopt. The
  // bytes are whole elements of one buffer.
  std::optional<std::string> Write(int64_t block, const void* address, int64_t bytes, bool atomic);
  std::optional<std::string> Read(int64_t block, const void* address, int64_t bytes,
                                  bool fenced_ticket);

  // Forgets the ticket of a block that runs again.
  void ReturnTicket(int64_t block) { tickets_.erase(block); }
  void TakeTicket(int64_t block, const void* tile, bool last) { tickets_[block] = {tile, last}; }
  bool HoldsLastTicket(int64_t block) const;

 private:
  struct Ticket {
    const void* tile;
    bool last;
  };
  bool AreOfOneTile(int64_t block, int64_t other) const;

  // The last block that wrote an element, plus 1; 0 if none did.
  struct Writer {
    uint32_t block_after = 0;
    bool atomic = false;
  };
  struct Output {
    uintptr_t begin = 0;
    int64_t element_bytes = 1;
    std::vector<Writer> writers;  // one per element
  };
  // Returns the writers of the bytes; empty if they are in no output.
  std::span<Writer> Find(const void* address, int64_t bytes);

  std::vector<Output> outputs_;
  std::unordered_map<int64_t, Ticket> tickets_;  // by block
};

// A log of a block's writes to global memory, so that they can be undone and the block can run
// again in another order of its threads, which must write the same.
class WriteLog {
 public:
  // Logs a write of up to 16 bytes; call it before the write. The name, index and line are kept for
  // messages. The result of an atomic update depends on the order (float sums round), so it is
  // undone but not compared.
  void Add(void* address, int bytes, bool atomic, const char* name, long long index, int line);

  // A write to an address, with the bytes there.
  struct Written {
    std::byte* address;
    int bytes;
    bool atomic;
    std::array<std::byte, 16> value;
    const char* name;
    long long index;
    int line;
  };
  // Returns the writes with what their addresses hold now; call it after the run.
  std::vector<Written> Results() const;

  // Restores the bytes from before the first write.
  void Undo() const;
  void Clear() { entries_.clear(); }

 private:
  // The logged writes; `value` holds the bytes from before.
  std::vector<Written> entries_;
};

// Returns the first of `results` that memory does not hold now, or null.
const WriteLog::Written* FirstDifference(const std::vector<WriteLog::Written>& results);

// Writes `results` to memory again.
void Redo(const std::vector<WriteLog::Written>& results);

}  // namespace tcc::emulator
