#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tcc::emulator {

// What a block wrote to global memory, so that it can be undone and the block run again in another
// order of its threads, which must write the same.
class WriteLog {
 public:
  // Before a write of up to 16 bytes. The name, index and line are kept for messages. An atomic
  // update depends on the order by nature (float sums round): it is undone, not compared.
  void Add(void* address, int bytes, bool atomic, const char* name, long long index, int line);

  // After the run: what the addresses hold now.
  struct Written {
    std::byte* address;
    int bytes;
    bool atomic;
    std::array<std::byte, 16> value;
    const char* name;
    long long index;
    int line;
  };
  std::vector<Written> Results() const;

  // Restores what was there before the first write.
  void Undo() const;
  void Clear() { entries_.clear(); }

 private:
  // `value` is what was there before.
  std::vector<Written> entries_;
};

// Of `results` one that memory does not hold now, or null.
const WriteLog::Written* FirstDifference(const std::vector<WriteLog::Written>& results);

// Puts them into memory.
void Redo(const std::vector<WriteLog::Written>& results);

}  // namespace tcc::emulator
