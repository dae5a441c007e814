#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/host_interface.h"

namespace tcc::emulator {

// Who wrote the elements of the buffers that a launch may write. The blocks of a launch run in any
// order and at once: what one has written no other may read or write in the same launch, unless
// both update it atomically. A read before another block's write is seen as a read after it when
// the blocks run the other way round.
class BlockRaces {
 public:
  // Of the parameters that are outputs. `arguments` holds one for each parameter.
  BlockRaces(const TccKernel& kernel, std::span<const TccArgument> arguments);

  // The functions below give what is wrong about an access by block number `block`, or nothing.
  // The bytes are whole elements of one buffer.
  std::optional<std::string> Write(int64_t block, const void* address, int64_t bytes, bool atomic);
  std::optional<std::string> Read(int64_t block, const void* address, int64_t bytes);

 private:
  // By whom an element was written last; block + 1, or 0.
  struct Writer {
    uint32_t block_after = 0;
    bool atomic = false;
  };
  struct Output {
    uintptr_t begin = 0;
    int64_t element_bytes = 1;
    std::vector<Writer> writers;  // by element
  };
  // Empty for what is no output.
  std::span<Writer> Find(const void* address, int64_t bytes);

  std::vector<Output> outputs_;
};

}  // namespace tcc::emulator
