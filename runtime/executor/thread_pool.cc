#include "runtime/executor/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/executor/usable_cpus.h"
#include "support/device_profile.h"
#include "support/threads.h"

namespace tcc {
namespace {

constexpr size_t kMaxThreads = 1024;
// Parts into which a thread cuts its share: small enough to even out, large enough to be cheap.
constexpr int64_t kChunksPerShare = 8;
// Looks between two glances at the clock, and before a waiting caller yields its CPU.
constexpr int kLooksPerGlance = 32;
constexpr int kLooksBeforeYield = 2000;

// True on a thread that is running a body, of whichever pool.
thread_local bool t_inside = false;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A thread's share of the loop: [next, end) is not taken yet.
struct alignas(kCacheLineBytes) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
  int64_t chunk = 1;
};

// The loop's state in one word: how many workers are in it (low half), whether more may join, and
// its number, so that a worker never joins a loop twice.
constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kJoinedMask = kOpen - 1;
constexpr int kNumberShift = 32;

// Failure only costs speed: the thread then goes where the system puts it.
void Pin(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
}

}  // namespace

struct ThreadPool::State {
  explicit State(const ThreadPoolOptions& options) : spin(options.spin_microseconds) {
    std::vector<int> cpus = AllowedCpus();
    const auto usable = static_cast<size_t>(UsableCpus());
    const size_t wanted = options.threads > 0 ? static_cast<size_t>(options.threads) : usable;
    shares = std::vector<Share>(std::min(wanted, kMaxThreads));
    workers.reserve(shares.size());
    while (threads < shares.size()) {
      std::optional<std::thread> worker = StartThread([this, self = threads] { Work(self); });
      if (!worker) break;
      workers.push_back(*std::move(worker));
      ++threads;
    }
    if (threads != cpus.size() || usable != cpus.size()) return;
    cpu_of_thread = std::move(cpus);
    for (size_t i = 0; i < workers.size(); ++i) Pin(workers[i], cpu_of_thread[i + 1]);
  }

  ~State() {
    {
      std::lock_guard lock(sleep_mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  // The system may have put the caller where a worker is pinned: those two would take turns while
  // another CPU idles. The worker goes there.
  void MakeRoomForCaller() {
    if (cpu_of_thread.empty()) return;
    int cpu = sched_getcpu();
    if (cpu == cpu_of_thread[0]) return;
    auto taken = std::ranges::find(cpu_of_thread, cpu);
    if (taken == cpu_of_thread.end()) return;
    std::swap(cpu_of_thread[0], *taken);
    Pin(workers[static_cast<size_t>(taken - cpu_of_thread.begin()) - 1], *taken);
  }

  // Opens the loop to the workers, takes part, and waits for those that joined.
  void Run(int64_t count, Body loop_body, void* loop_closure) {
    body = loop_body;
    closure = loop_closure;
    DealShares(count);
    MakeRoomForCaller();
    uint64_t number = (word.load(std::memory_order_relaxed) >> kNumberShift) + 1;
    word.store(number << kNumberShift | kOpen);
    // Sequentially consistent with the sleeper's own order: it counts itself, then looks at `word`.
    if (sleepers.load() > 0) {
      {
        std::lock_guard lock(sleep_mutex);
      }
      wake.notify_all();
    }
    TakeAll(0);
    word.fetch_and(~kOpen);
    for (int looks = 0; (word.load(std::memory_order_acquire) & kJoinedMask) != 0; ++looks) {
      Pause();
      if (looks > kLooksBeforeYield) std::this_thread::yield();
    }
  }

  void DealShares(int64_t count) {
    const auto parts = static_cast<int64_t>(threads);
    int64_t begin = 0;
    for (int64_t i = 0; i < parts; ++i) {
      Share& share = shares[static_cast<size_t>(i)];
      int64_t size = count / parts + (i < count % parts ? 1 : 0);
      share.chunk = std::max<int64_t>(1, size / kChunksPerShare);
      share.end = begin + size;
      share.next.store(begin, std::memory_order_relaxed);
      begin += size;
    }
  }

  void TakeAll(size_t self) {
    t_inside = true;
    for (size_t i = 0; i < threads; ++i) {
      Share& share = shares[(self + i) % threads];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        int64_t begin = share.next.fetch_add(share.chunk, std::memory_order_relaxed);
        if (begin >= share.end) break;
        RunRange(self, begin, std::min(begin + share.chunk, share.end));
      }
    }
    t_inside = false;
  }

  void RunRange(size_t self, int64_t begin, int64_t end) {
    if (!observer) return body(closure, begin, end);
    auto start = std::chrono::steady_clock::now();
    body(closure, begin, end);
    observer({static_cast<int>(self), begin, end, start, std::chrono::steady_clock::now()});
  }

  bool MayJoin(uint64_t seen, uint64_t current) const {
    return (current & kOpen) != 0 && current >> kNumberShift != seen;
  }

  // Joins a loop that is open and has another number than `seen`, if there is one.
  bool TryWork(size_t self, uint64_t& seen) {
    uint64_t current = word.load(std::memory_order_acquire);
    while (MayJoin(seen, current)) {
      if (!word.compare_exchange_weak(current, current + 1, std::memory_order_acq_rel)) continue;
      seen = current >> kNumberShift;
      TakeAll(self);
      word.fetch_sub(1, std::memory_order_release);
      return true;
    }
    return false;
  }

  // False once the pool ends.
  bool Sleep(uint64_t seen) {
    std::unique_lock lock(sleep_mutex);
    sleepers.fetch_add(1);
    wake.wait(lock, [&] { return stop || MayJoin(seen, word.load()); });
    sleepers.fetch_sub(1);
    return !stop;
  }

  void Work(size_t self) {
    using Clock = std::chrono::steady_clock;
    uint64_t seen = 0;
    Clock::time_point idle_since = Clock::now();
    for (int looks = 1;; ++looks) {
      if (TryWork(self, seen)) {
        idle_since = Clock::now();
        continue;
      }
      Pause();
      if (looks % kLooksPerGlance != 0 || Clock::now() - idle_since < spin) continue;
      if (!Sleep(seen)) return;
      idle_since = Clock::now();
    }
  }

  const std::chrono::microseconds spin;
  std::mutex busy;  // held by the thread whose loop runs
  // The loop: written while `word` is closed and nobody is in it.
  Body body = nullptr;
  void* closure = nullptr;
  LoopObserver observer;
  std::vector<Share> shares;  // by thread, with room for all; the caller's is the first
  size_t threads = 1;         // that there are; before the first loop
  // By thread where workers are pinned: their CPUs, and the one that they leave to the caller.
  std::vector<int> cpu_of_thread;
  alignas(kCacheLineBytes) std::atomic<uint64_t> word{0};
  alignas(kCacheLineBytes) std::atomic<int> sleepers{0};
  std::mutex sleep_mutex;
  std::condition_variable wake;
  bool stop = false;  // guarded by sleep_mutex
  std::vector<std::thread> workers;
};

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : state_([options] { return std::make_unique<State>(options); }) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
  return static_cast<int>(state_.Get().threads);
}

void ThreadPool::ParallelFor(int64_t count, Body body, void* closure) {
  if (count <= 0) return;
  if (count == 1 || t_inside) return body(closure, 0, count);
  State& state = state_.Get();
  std::unique_lock lock(state.busy, std::defer_lock);
  if (state.threads == 1 || !lock.try_lock()) return body(closure, 0, count);
  state.Run(count, body, closure);
}

void ThreadPool::set_observer(LoopObserver observer) {
  state_.Get().observer = std::move(observer);
}

}  // namespace tcc
