#include "codegen_cuda/emulator/block_runner.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "support/check.h"
#include "support/integer_division.h"

namespace tcc::emulator {
namespace {

// The runner whose kernel runs on this host thread; several host threads may run one launch each.
thread_local BlockRunner* running = nullptr;

std::string Element(const TccWhere& where) {
  return fmt::format("{}[{}]", where.name, where.index);
}

std::string IndexText(const Dim3& index) {
  return fmt::format("({}, {}, {})", index.x, index.y, index.z);
}

// Returns the threads 0..count in that order; kShuffled depends on the seed.
std::vector<int> Permutation(ThreadOrder order, int count, uint64_t seed) {
  std::vector<int> threads(count);
  std::iota(threads.begin(), threads.end(), 0);
  switch (order) {
    case ThreadOrder::kForward:
      break;
    case ThreadOrder::kReverse:
      std::ranges::reverse(threads);
      break;
    case ThreadOrder::kShuffled: {
      // std::shuffle differs between standard libraries.
      std::mt19937_64 generator(seed);
      for (int i = count - 1; i > 0; --i) std::swap(threads[i], threads[generator() % (i + 1)]);
      break;
    }
  }
  return threads;
}

}  // namespace

std::string_view Name(ThreadOrder order) {
  switch (order) {
    case ThreadOrder::kForward:
      return "forward";
    case ThreadOrder::kReverse:
      return "reverse";
    case ThreadOrder::kShuffled:
      return "shuffled";
  }
  __builtin_unreachable();
}

Dim3 IndexIn(int64_t linear, const Dim3& dims) {
  return {static_cast<uint32_t>(linear % dims.x), static_cast<uint32_t>(linear / dims.x % dims.y),
          static_cast<uint32_t>(linear / dims.x / dims.y)};
}

BlockRunner::BlockRunner(const FiberStacks& stacks, TccHost& host, const TccKernel& kernel,
                         std::span<const TccArgument> arguments, Dim3 threads,
                         int64_t dynamic_shared_bytes, bool dependent)
    : stacks_(stacks),
      host_(host),
      kernel_(kernel),
      arguments_(arguments),
      dims_(threads),
      dependent_(dependent),
      shared_(dynamic_shared_bytes),
      products_(static_cast<int>(threads.Count()), shared_),
      boxes_(shared_),
      races_(kernel, arguments),
      threads_(threads.Count()),
      warps_(CeilDivision(threads.Count(), kWarp)),
      groups_(CeilDivision(threads.Count(), GroupProducts::kThreads)) {
  host_ = Calls();
}

TccHost BlockRunner::Calls() {
  TccHost host = {};
  host.shared_array = &SharedArray;
  host.shared_access = &SharedAccess;
  host.global_write = &GlobalWrite;
  host.global_read = &GlobalRead;
  host.too_early = &TooEarly;
  host.out_of_bounds = &OutOfBounds;
  host.misaligned = &Misaligned;
  host.barrier = &BarrierCall;
  host.barrier_or = &BarrierOr;
  host.fence = &Fence;
  host.take_ticket = &TakeTicket;
  host.exchange = &ExchangeCall;
  host.async_copy = &AsyncCopy;
  host.async_commit = &AsyncCommit;
  host.async_wait = &AsyncWait;
  host.shared_address = &SharedAddress;
  host.proxy_fence = &ProxyFence;
  host.group_fence = &GroupFence;
  host.group_product = &GroupProduct;
  host.group_commit = &GroupCommit;
  host.group_wait = &GroupWait;
  host.group_results = &GroupResults;
  host.init_boxes = &InitBoxes;
  host.expect_boxes = &ExpectBoxes;
  host.copy_box = &CopyBox;
  host.wait_boxes = &WaitBoxes;
  return host;
}

Status BlockRunner::Run(Dim3 block, int64_t linear, ThreadOrder order) {
  block_ = linear;
  races_.ReturnTicket(linear);
  writes_.Clear();
  failure_ = OkStatus();
  shared_.Reset();
  products_.Reset();
  boxes_.Reset();
  StartThreads(block);
  BlockRunner* outer = std::exchange(running, this);
  Status status = RunThreads(order, static_cast<uint64_t>(linear));
  running = outer;
  return status;
}

void BlockRunner::StartThreads(Dim3 block) {
  barrier_ = {};
  std::ranges::fill(groups_, Meeting());
  vote_ = false;
  for (Warp& warp : warps_) {
    warp.meeting = {};
    warp.turn = 0;
    // The slots of lanes that the block does not have hold poison.
    for (auto& slots : warp.slots) slots.fill(static_cast<unsigned char>(kPoison));
  }
  host_.block[0] = block.x;
  host_.block[1] = block.y;
  host_.block[2] = block.z;
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.runner = this;
    thread.linear = static_cast<int>(i);
    thread.index = IndexIn(thread.linear, dims_);
    thread.state = State::kReady;
    thread.unfenced = {};
    thread.fenced_ticket = false;
    thread.early = dependent_;
    thread.copies.assign(1, {});
    thread.fiber.Start(stacks_.Stack(thread.linear), &Enter, &thread);
  }
}

void BlockRunner::Enter(void* argument) {
  Thread& thread = *static_cast<Thread*>(argument);
  thread.runner->kernel_.run(thread.runner->arguments_.data());
  thread.state = State::kEnded;
  thread.fiber.Suspend();
}

Status BlockRunner::RunThreads(ThreadOrder order, uint64_t seed) {
  bool progress = true;
  for (uint64_t pass = 0; progress; ++pass) {
    progress = false;
    for (int i : Permutation(order, static_cast<int>(threads_.size()), seed + pass)) {
      Thread& thread = threads_[i];
      if (thread.state != State::kReady) continue;
      progress = true;
      current_ = &thread;
      host_.thread[0] = thread.index.x;
      host_.thread[1] = thread.index.y;
      host_.thread[2] = thread.index.z;
      host_.linear_thread = thread.linear;
      host_.early = thread.early;
      thread.fiber.Resume();
      if (!failure_.ok()) return failure_;
      thread.early = host_.early;
      if (thread.state == State::kEnded) TCC_RETURN_IF_ERROR(CheckEnd(thread));
    }
  }
  for (const Thread& thread : threads_) {
    if (thread.state != State::kEnded) return Deadlock();
  }
  if (auto complaint = boxes_.Unfinished()) return WrongResult("{}", *complaint);
  return OkStatus();
}

// Checks that a thread that ends has waited for all it must wait for.
Status BlockRunner::CheckEnd(const Thread& thread) const {
  if (thread.early) {
    return WrongResult("thread {} ends without waiting for the launch before",
                       IndexText(thread.index));
  }
  if (auto complaint = products_.End(thread.linear)) {
    return WrongResult("thread {} ends {}", IndexText(thread.index), *complaint);
  }
  return OkStatus();
}

int BlockRunner::LanesOf(int warp) const {
  return std::min(kWarp, static_cast<int>(threads_.size()) - warp * kWarp);
}

// Returns the error of a deadlock: one entry per thing that threads wait for, with its first
// thread.
Status BlockRunner::Deadlock() const {
  struct Group {
    std::string what;
    int first;
    int count;
  };
  std::vector<Group> groups;
  for (const Thread& thread : threads_) {
    std::string what = thread.state == State::kEnded
                           ? "ended"
                           : fmt::format("at {} in line {}", thread.operation, thread.line);
    if (groups.empty() || groups.back().what != what) groups.push_back({what, thread.linear, 0});
    ++groups.back().count;
  }
  std::string text;
  for (size_t i = 0; i < groups.size() && i < 4; ++i) {
    const Group& group = groups[i];
    text += fmt::format("{}threads {} to {} {}", i == 0 ? "" : ", ", group.first,
                        group.first + group.count - 1, group.what);
  }
  if (groups.size() > 4) text += fmt::format(", and {} groups more", groups.size() - 4);
  return WrongResult("deadlock: {}", text);
}

void BlockRunner::Wait(State state) {
  current_->state = state;
  current_->fiber.Suspend();
}

void BlockRunner::Fail(int line, const std::string& what) {
  failure_ = WrongResult("thread {}, line {}: {}", IndexText(current_->index), line, what);
}

void BlockRunner::FailAt(const TccWhere& where, const std::string& what) {
  Fail(where.line, fmt::format("{} {}", Element(where), what));
}

void BlockRunner::FailAtIf(const TccWhere& where, const std::optional<std::string>& complaint) {
  if (complaint) FailAt(where, *complaint);
}

void BlockRunner::StopIfFailed() {
  if (failure_.ok()) return;
  current_->fiber.Suspend();
  TCC_CHECK(false) << "a failed thread was resumed";
}

void* BlockRunner::SharedArray(int id, long long offset, long long bytes, TccWhere where) {
  std::byte* place = running->Place(id, offset, bytes, where);
  running->StopIfFailed();
  return place;
}

std::byte* BlockRunner::Place(int id, int64_t offset, int64_t bytes, const TccWhere& where) {
  std::byte* place = nullptr;
  auto complaint = shared_.Place(id, offset, bytes, &place);
  if (complaint) Fail(where.line, fmt::format("shared array {} {}", where.name, *complaint));
  return place;
}

void BlockRunner::SharedAccess(void* address, unsigned bytes, char kind, TccWhere where) {
  const int thread = running->current_->linear;
  running->FailAtIf(where, running->boxes_.Access(thread, address, static_cast<int>(bytes)));
  running->StopIfFailed();
  if (auto complaint =
          running->shared_.Access(thread, address, static_cast<int>(bytes), kind, where.line)) {
    running->FailAt(where, *complaint);
  }
  running->StopIfFailed();
}

void BlockRunner::GlobalWrite(void* address, unsigned bytes, char kind, TccWhere where) {
  const bool atomic = kind == 'a';
  if (auto complaint = running->races_.Write(running->block_, address, bytes, atomic)) {
    running->FailAt(where, *complaint);
  }
  running->StopIfFailed();
  if (!atomic) running->current_->unfenced = where;
  running->writes_.Add(address, static_cast<int>(bytes), atomic, where.name, where.index,
                       where.line);
}

void BlockRunner::GlobalRead(const void* address, unsigned bytes, TccWhere where) {
  const bool fenced = running->current_->fenced_ticket;
  if (auto complaint = running->races_.Read(running->block_, address, bytes, fenced)) {
    running->FailAt(where, *complaint);
  }
  running->StopIfFailed();
}

void BlockRunner::TooEarly(TccWhere where) {
  running->FailAt(where, "is accessed without waiting for the launch before, which may write it");
  running->StopIfFailed();
}

void BlockRunner::OutOfBounds(long long elements, long long count, TccWhere where) {
  running->FailAt(where, elements == 1
                             ? fmt::format("is outside of its {} elements", count)
                             : fmt::format("and the {} after it are not all within its {} elements",
                                           elements - 1, count));
  running->StopIfFailed();
}

void BlockRunner::Misaligned(const void* address, unsigned bytes, TccWhere where) {
  running->FailAt(where, fmt::format("is misaligned: its address is {} above a multiple of {}, the "
                                     "bytes of the access",
                                     reinterpret_cast<uintptr_t>(address) % bytes, bytes));
  running->StopIfFailed();
}

void BlockRunner::BarrierCall(int line) {
  running->Barrier(line);
  running->StopIfFailed();
}

// Waits until all threads of the block have come. They must be in the same line: the language
// demands that, although a device might only count them.
void BlockRunner::Barrier(int line) {
  if (barrier_.arrived == 0) {
    barrier_.first = current_->linear;
    barrier_.line = line;
  } else if (barrier_.line != line) {
    return Fail(line, fmt::format("divergent barrier: thread {} waits at it in line {}",
                                  IndexText(threads_[barrier_.first].index), barrier_.line));
  }
  current_->operation = "barrier";
  current_->line = line;
  if (++barrier_.arrived < static_cast<int>(threads_.size())) return Wait(State::kAtBarrier);
  barrier_.arrived = 0;
  elected_ = std::exchange(vote_, false);
  shared_.NextEpoch();
  boxes_.NextEpoch();
  for (Thread& thread : threads_) {
    if (thread.state == State::kAtBarrier) thread.state = State::kReady;
  }
}

bool BlockRunner::BarrierOr(bool vote, int line) {
  running->vote_ = running->vote_ || vote;
  BarrierCall(line);
  return running->elected_;
}

void BlockRunner::Fence() {
  Thread& thread = *running->current_;
  thread.unfenced = {};
  thread.fenced_ticket = running->races_.HoldsLastTicket(running->block_);
}

void BlockRunner::TakeTicket(const void* ticket, bool last, TccWhere where) {
  running->CheckFenced(where);
  running->StopIfFailed();
  running->races_.TakeTicket(running->block_, ticket, last);
}

// Checks that others see what the block wrote once they see that it has taken its ticket.
void BlockRunner::CheckFenced(const TccWhere& ticket) {
  for (const Thread& thread : threads_) {
    if (thread.unfenced.name == nullptr) continue;
    return FailAt(ticket,
                  fmt::format("is taken although no fence follows the write of {} in line {}",
                              Element(thread.unfenced), thread.unfenced.line));
  }
}

const unsigned char* BlockRunner::ExchangeCall(const char* operation, const void* value,
                                               unsigned bytes, int line) {
  const unsigned char* slots = running->Exchange(operation, value, bytes, line);
  running->StopIfFailed();
  return slots;
}

// Adds the running thread to a meeting of its warp or group. Fails and returns false if it comes
// with another operation, or in another line, than the first thread.
bool BlockRunner::Join(Meeting& meeting, const char* of, const char* operation, int line) {
  if (meeting.arrived == 0) {
    meeting = {0, current_->linear, operation, line};
  } else if (meeting.line != line || std::string_view(meeting.operation) != operation) {
    Fail(line, fmt::format("{} while thread {} of the {} is at {} in line {}; all its threads take "
                           "part",
                           operation, IndexText(threads_[meeting.first].index), of,
                           meeting.operation, meeting.line));
    return false;
  }
  current_->operation = operation;
  current_->line = line;
  ++meeting.arrived;
  return true;
}

const unsigned char* BlockRunner::Exchange(const char* operation, const void* value, unsigned bytes,
                                           int line) {
  const int index = current_->linear / kWarp;
  Warp& warp = warps_[index];
  Meeting& meeting = warp.meeting;
  auto& slots = warp.slots[warp.turn % 2];
  if (!Join(meeting, "warp", operation, line)) return nullptr;
  memcpy(slots.data() + current_->linear % kWarp * kTccSlot, value, bytes);
  if (meeting.arrived < LanesOf(index)) {
    Wait(State::kInWarp);
    return slots.data();
  }
  meeting.arrived = 0;
  ++warp.turn;
  for (int i = 0; i < LanesOf(index); ++i) threads_[index * kWarp + i].state = State::kReady;
  return slots.data();
}

void BlockRunner::AsyncCopy(void* to, const void* from, unsigned bytes, TccWhere where) {
  running->BeginCopy({to, from, bytes, where});
  running->StopIfFailed();
}

// Begins a copy. Nothing is copied yet: a kernel that does not wait must not find its data.
void BlockRunner::BeginCopy(const Copy& copy) {
  auto complaint =
      shared_.BeginCopy(current_->linear, copy.to, static_cast<int>(copy.bytes), copy.where.line);
  if (complaint) return FailAt(copy.where, *complaint);
  current_->copies.back().push_back(copy);
}

void BlockRunner::AsyncCommit() {
  running->current_->copies.emplace_back();
}

void BlockRunner::AsyncWait(int pending) {
  auto& copies = running->current_->copies;
  // The last group is still open: it was not committed, so no wait completes it.
  const int finished = static_cast<int>(copies.size()) - 1 - pending;
  for (int i = 0; i < finished; ++i) running->FinishCopies(copies[i]);
  if (finished > 0) copies.erase(copies.begin(), copies.begin() + finished);
  running->StopIfFailed();
}

void BlockRunner::FinishCopies(const std::vector<Copy>& group) {
  for (const Copy& copy : group) {
    auto complaint =
        shared_.EndCopy(current_->linear, copy.to, static_cast<int>(copy.bytes), copy.where.line);
    if (complaint) return FailAt(copy.where, *complaint);
    if (copy.from) {
      memcpy(copy.to, copy.from, copy.bytes);
    } else {
      memset(copy.to, 0, copy.bytes);
    }
  }
}

unsigned BlockRunner::SharedAddress(const void* address) {
  return static_cast<unsigned>(running->shared_.AddressOf(address));
}

void BlockRunner::ProxyFence() {
  running->shared_.ProxyFence(running->current_->linear);
}

void BlockRunner::GroupFence() {
  running->products_.Fence(running->current_->linear);
}

void BlockRunner::GroupProduct(const TccProduct* product) {
  running->IssueProduct(*product);
  running->StopIfFailed();
}

// Waits until all threads of the group have come; the last one issues the product.
void BlockRunner::IssueProduct(const TccProduct& product) {
  constexpr int kThreads = GroupProducts::kThreads;
  const int line = product.where.line;
  const int group = current_->linear / kThreads;
  const int first = group * kThreads;
  const int count = static_cast<int>(threads_.size()) - first;
  if (count < kThreads) {
    return Fail(line, fmt::format("{} by a group of {} threads; expected four whole warps",
                                  product.operation, count));
  }
  Meeting& meeting = groups_[group];
  if (!Join(meeting, "group", product.operation, line)) return;
  if (auto complaint = products_.Bring(current_->linear, meeting.first, product)) {
    return Fail(line, *complaint);
  }
  if (meeting.arrived < kThreads) return Wait(State::kInGroup);
  meeting.arrived = 0;
  if (auto complaint = products_.Issue(group)) return Fail(line, *complaint);
  for (int i = 0; i < kThreads; ++i) threads_[first + i].state = State::kReady;
}

void BlockRunner::GroupCommit() {
  running->products_.Commit(running->current_->linear);
}

void BlockRunner::GroupWait(int pending, int line) {
  if (auto complaint = running->products_.Wait(running->current_->linear, pending)) {
    running->Fail(line, *complaint);
  }
  running->StopIfFailed();
}

void BlockRunner::GroupResults(void* sums, unsigned bytes, int line) {
  if (auto complaint = running->products_.Results(running->current_->linear, sums, bytes)) {
    running->Fail(line, *complaint);
  }
  running->StopIfFailed();
}

void BlockRunner::InitBoxes(const void* barrier, TccWhere where) {
  running->FailAtIf(where, running->boxes_.Init(barrier));
  running->StopIfFailed();
}

void BlockRunner::ExpectBoxes(const void* barrier, long long bytes, TccWhere where) {
  running->FailAtIf(where, running->boxes_.Expect(barrier, bytes));
  running->StopIfFailed();
  if (running->boxes_.CanEnd(barrier)) running->WakeWaiters(barrier);
}

void BlockRunner::CopyBox(void* to, long long room, const TccMap* map, const int* first, int rank,
                          const void* barrier, TccWhere where) {
  running->FailAtIf(where, BoxCopies::Misfit(*map, rank, to, room));
  running->StopIfFailed();
  const int thread = running->current_->linear;
  running->FailAtIf(where, running->boxes_.Copy(thread, to, *map, first, barrier, where.line));
  running->StopIfFailed();
  if (running->boxes_.CanEnd(barrier)) running->WakeWaiters(barrier);
}

void BlockRunner::WaitBoxes(const void* barrier, unsigned parity, TccWhere where) {
  while (!running->EndsBoxes(barrier, parity, where)) {
    Thread& thread = *running->current_;
    thread.operation = "boxes";
    thread.line = where.line;
    thread.boxes = barrier;
    running->Wait(State::kAtBoxes);
  }
}

// Returns whether the phase of that parity is over for the running thread.
bool BlockRunner::EndsBoxes(const void* barrier, unsigned parity, const TccWhere& where) {
  const bool can_end = boxes_.CanEnd(barrier);
  bool over = false;
  FailAtIf(where, boxes_.Wait(current_->linear, barrier, parity, &over));
  StopIfFailed();
  if (over && can_end) WakeWaiters(barrier);
  return over;
}

void BlockRunner::WakeWaiters(const void* barrier) {
  for (Thread& thread : threads_) {
    if (thread.state == State::kAtBoxes && thread.boxes == barrier) thread.state = State::kReady;
  }
}

}  // namespace tcc::emulator
