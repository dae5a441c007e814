#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/host_interface.h"
#include "codegen_cuda/emulator/shared_memory.h"

namespace tcc::emulator {

// The copies of boxes (GpuTensorMap) to the shared memory of one block, and the barriers that they
// arrive at (mbarrier). A barrier's phase ends when one thread has said how many bytes it expects
// and boxes of just that many bytes have been copied. Nothing is copied before some thread waits
// for the phase's end; until a thread has waited itself, or a barrier of the block has followed
// another one's wait, it may not touch the box. No box may be copied over another one before such a
// barrier, for a thread may still read it.
//
// The functions return a complaint, or nullopt.
class BoxCopies {
 public:
  explicit BoxCopies(SharedMemory& shared) : shared_(shared) {}

  // Forgets all barriers and boxes.
  void Reset();
  // Notes that a barrier of the block was passed.
  void NextEpoch() { delivered_.clear(); }

  // Says why a box of the map cannot be copied to `to`, where `room` bytes are the array's.
  static std::optional<std::string> Misfit(const TccMap& map, int rank, const void* to,
                                           int64_t room);

  std::optional<std::string> Init(const void* barrier);
  std::optional<std::string> Expect(const void* barrier, int64_t bytes);
  std::optional<std::string> Copy(int thread, void* to, const TccMap& map, const int* first,
                                  const void* barrier, int line);
  // Sets `over` to whether the phase of that parity is over for the thread; it ends the phase that
  // runs if it can end.
  std::optional<std::string> Wait(int thread, const void* barrier, unsigned parity, bool* over);
  // Returns whether the phase that runs at a barrier can end, so that its waiters go on.
  bool CanEnd(const void* barrier) const;

  // Checks that no box is on its way when the block ends.
  std::optional<std::string> Unfinished() const;

  // Checks that the thread may touch these bytes of shared memory.
  std::optional<std::string> Access(int thread, const void* address, int bytes) const;

 private:
  struct Box {
    std::byte* to;
    TccMap map;
    int first[5];
  };
  struct Barrier {
    const void* address;
    unsigned parity = 0;  // of the phase that runs
    std::optional<int64_t> expected = {};
    std::vector<Box> boxes = {};
  };
  // A box that has been copied since the last barrier of the block.
  struct Delivered {
    const std::byte* begin;
    const std::byte* end;
    const void* barrier;
    std::bitset<kCudaLimits.max_threads> waited;  // by thread

    // Whether any of the bytes is of this box.
    bool Holds(const void* address, int bytes) const {
      const auto* at = static_cast<const std::byte*>(address);
      return at < end && at + bytes > begin;
    }
  };

  Barrier* Find(const void* address);
  const Barrier* Find(const void* address) const;

  SharedMemory& shared_;
  std::vector<Barrier> barriers_;
  std::vector<Delivered> delivered_;
};

}  // namespace tcc::emulator
