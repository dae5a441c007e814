#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/host_interface.h"

namespace tcc::emulator {

// A detector of races between blocks: it records which block wrote each element of the buffers that
// a launch may write. The blocks of a launch run in any order and at the same time, so no block may
// read or write an element that another block writes in the same launch, unless both update it
// atomically. A read before another block's write is found when the blocks run in reverse order.
class BlockRaces {
 public:
  // Watches the parameters that are outputs. `arguments` holds one per parameter.
  BlockRaces(const TccKernel& kernel, std::span<const TccArgument> arguments);

  // The functions below return a complaint about an access by block number `block`, or nullopt. The
  // bytes are whole elements of one buffer.
  std::optional<std::string> Write(int64_t block, const void* address, int64_t bytes, bool atomic);
  std::optional<std::string> Read(int64_t block, const void* address, int64_t bytes);

 private:
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
};

}  // namespace tcc::emulator
