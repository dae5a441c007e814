#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tcc::emulator {

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
