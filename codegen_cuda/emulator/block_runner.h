#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen_cuda/emulator/box_copies.h"
#include "codegen_cuda/emulator/fiber.h"
#include "codegen_cuda/emulator/global_writes.h"
#include "codegen_cuda/emulator/group_products.h"
#include "codegen_cuda/emulator/host_interface.h"
#include "codegen_cuda/emulator/shared_memory.h"
#include "support/status.h"
#include "support/target.h"

namespace tcc::emulator {

// The order in which the threads of a block take turns between two barriers. A correct kernel
// computes the same in all orders.
enum class ThreadOrder { kForward, kReverse, kShuffled };

inline constexpr std::array kThreadOrders = {ThreadOrder::kForward, ThreadOrder::kReverse,
                                             ThreadOrder::kShuffled};

std::string_view Name(ThreadOrder order);

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  int64_t Count() const { return int64_t{x} * y * z; }
};

// Returns index number `linear` within `dims`, x fastest.
Dim3 IndexIn(int64_t linear, const Dim3& dims);

// The runner of one launch's blocks, one at a time. Each thread is a fiber that runs until it waits
// for others or ends. The runner serves the kernel's calls (host_interface.h) meanwhile.
class BlockRunner {
 public:
  static constexpr int kWarp = Target::kWarp;

  // `host` is the interface that the kernel's text sees. `kernel`, and `arguments` with one per
  // parameter, must outlive the runner. `dependent` is that of LaunchOptions.
  BlockRunner(const FiberStacks& stacks, TccHost& host, const TccKernel& kernel,
              std::span<const TccArgument> arguments, Dim3 threads, int64_t dynamic_shared_bytes,
              bool dependent);

  // Runs block `block`, which is number `linear` of the grid, on the present contents of memory. An
  // error's message begins with the thread and names the line of the text as "line N"; memory then
  // holds whatever was written so far.
  Status Run(Dim3 block, int64_t linear, ThreadOrder order);

  // Returns the writes of the last Run to global memory.
  const WriteLog& writes() const { return writes_; }

 private:
  enum class State { kReady, kAtBarrier, kInWarp, kInGroup, kAtBoxes, kEnded };
  struct Copy {
    void* to;
    const void* from;  // null: zeros
    unsigned bytes;
    TccWhere where;
  };
  struct Thread {
    BlockRunner* runner = nullptr;
    int linear = 0;
    Dim3 index;
    Fiber fiber;
    State state = State::kEnded;
    bool early = false;  // whether it has yet to wait for the launch before
    // The operation that the thread waits in: a barrier, one of its warp or group, or boxes at
    // `boxes`.
    const char* operation = nullptr;
    int line = 0;
    const void* boxes = nullptr;
    // The last write to global memory that no fence follows yet; its name is null without one.
    TccWhere unfenced = {};
    bool fenced_ticket = false;  // whether a fence followed the block's ticket
    // The asynchronous copies by group; the last group is still open.
    std::vector<std::vector<Copy>> copies;
  };
  // The threads that wait for each other, and where the first of them waits.
  struct Meeting {
    int arrived = 0;
    int first = 0;
    const char* operation = nullptr;
    int line = 0;
  };
  // A warp. Its slots alternate, so that a lane may write its next value while others still read
  // the last one.
  struct Warp {
    Meeting meeting;
    int turn = 0;
    std::array<std::array<unsigned char, kWarp * kTccSlot>, 2> slots;
  };

  static void Enter(void* thread);
  static TccHost Calls();

  // The entry points that the kernel calls on the running thread.
  static void* SharedArray(int id, long long offset, long long bytes, TccWhere where);
  static void SharedAccess(void* address, unsigned bytes, char kind, TccWhere where);
  static void GlobalWrite(void* address, unsigned bytes, char kind, TccWhere where);
  static void GlobalRead(const void* address, unsigned bytes, TccWhere where);
  static void TooEarly(TccWhere where);
  static void OutOfBounds(long long elements, long long count, TccWhere where);
  static void Misaligned(const void* address, unsigned bytes, TccWhere where);
  static void BarrierCall(int line);
  static bool BarrierOr(bool vote, int line);
  static void Fence();
  static void TakeTicket(const void* ticket, bool last, TccWhere where);
  static const unsigned char* ExchangeCall(const char* operation, const void* value, unsigned bytes,
                                           int line);
  static void AsyncCopy(void* to, const void* from, unsigned bytes, TccWhere where);
  static void AsyncCommit();
  static void AsyncWait(int pending);
  static unsigned SharedAddress(const void* address);
  static void ProxyFence();
  static void GroupFence();
  static void GroupProduct(const TccProduct* product);
  static void GroupCommit();
  static void GroupWait(int pending, int line);
  static void GroupResults(void* sums, unsigned bytes, int line);
  static void InitBoxes(const void* barrier, TccWhere where);
  static void ExpectBoxes(const void* barrier, long long bytes, TccWhere where);
  static void CopyBox(void* to, long long room, const TccMap* map, const int* first, int rank,
                      const void* barrier, TccWhere where);
  static void WaitBoxes(const void* barrier, unsigned parity, TccWhere where);

  // The work of the calls above; each may note a failure.
  std::byte* Place(int id, int64_t offset, int64_t bytes, const TccWhere& where);
  void Barrier(int line);
  void CheckFenced(const TccWhere& ticket);
  const unsigned char* Exchange(const char* operation, const void* value, unsigned bytes, int line);
  bool Join(Meeting& meeting, const char* of, const char* operation, int line);
  void IssueProduct(const TccProduct& product);
  void BeginCopy(const Copy& copy);
  void FinishCopies(const std::vector<Copy>& group);
  bool EndsBoxes(const void* barrier, unsigned parity, const TccWhere& where);
  void WakeWaiters(const void* barrier);

  void Wait(State state);
  void Fail(int line, const std::string& what);
  void FailAt(const TccWhere& where, const std::string& what);
  void FailAtIf(const TccWhere& where, const std::optional<std::string>& complaint);
  // Leaves the running thread for good if it has failed. Nothing on its stack is destroyed, so a
  // caller must own no memory.
  void StopIfFailed();

  void StartThreads(Dim3 block);
  Status RunThreads(ThreadOrder order, uint64_t seed);
  Status CheckEnd(const Thread& thread) const;
  Status Deadlock() const;
  int LanesOf(int warp) const;

  const FiberStacks& stacks_;
  TccHost& host_;
  const TccKernel& kernel_;
  std::span<const TccArgument> arguments_;
  Dim3 dims_;
  bool dependent_;
  SharedMemory shared_;
  GroupProducts products_;
  BoxCopies boxes_;
  BlockRaces races_;
  int64_t block_ = 0;
  WriteLog writes_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<Meeting> groups_;
  Meeting barrier_;
  bool vote_ = false, elected_ = false;  // of the threads at a barrier, and at the last one
  Thread* current_ = nullptr;
  Status failure_;
};

}  // namespace tcc::emulator
