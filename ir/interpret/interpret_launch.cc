#include <algorithm>
#include <map>

#include "ir/interpret/interpret_machine.h"
#include "support/check.h"
#include "support/target.h"

// The part of Machine that runs thread blocks.
namespace tcc::interpret {
namespace {

constexpr int64_t kMaxInterpretedThreads = 1 << 16;

}  // namespace

void Machine::Launch(const Code& code, Context& context) {
  int64_t size[3] = {1, 1, 1};
  for (auto [axis, expr] : code.thread_extents) {
    if (expr < 0) {
      return monitor_.Fail("the extent of a thread loop depends on a loop of its own launch");
    }
    size[axis] = std::max(size[axis], Value(expr, context));
  }
  int64_t count = size[0] * size[1] * size[2];
  if (std::max({size[0], size[1], size[2], count}) > kMaxInterpretedThreads) {
    return monitor_.Fail(
        fmt::format("a launch has {} x {} x {} threads", size[0], size[1], size[2]));
  }
  std::vector<Context> threads(static_cast<size_t>(count), context);
  Contexts all;
  for (int64_t t = 0; t < count; ++t) {
    Context& thread = threads[t];
    thread.thread = t;
    thread.hardware[0] = t % size[0];
    thread.hardware[1] = t / size[0] % size[1];
    thread.hardware[2] = t / size[0] / size[1];
    all.push_back(&thread);
  }
  in_launch_ = true;
  ++monitor_.epoch;
  RunTogether(code, all);
  ++monitor_.epoch;
  in_launch_ = false;
}

int64_t Machine::CommonValue(int expr, const Contexts& threads, const std::string& what) {
  int64_t common = Value(expr, *threads[0]);
  for (Context* thread : threads) {
    int64_t value = Value(expr, *thread);
    if (value != common) {
      monitor_.Fail(fmt::format(
          "a barrier is not reached by all threads: {} is {} in thread {} and {} in thread {}",
          what, common, threads[0]->thread, value, thread->thread));
      return 0;
    }
  }
  return common;
}

void Machine::RunTogether(const Code& code, const Contexts& threads) {
  if (monitor_.failed() || threads.empty()) return;
  if (!code.lockstep && !code.in_order) {
    // The blocks of a grid run one after the other here, so they must not share an epoch.
    for (int64_t i : OrderOf(static_cast<int64_t>(threads.size()))) Run(code, *threads[i]);
    return;
  }
  switch (code.kind) {
    case CodeKind::kSeq:
      for (const auto& child : code.children) RunTogether(*child, threads);
      return;
    case CodeKind::kLoop:
      return LoopTogether(code, threads);
    case CodeKind::kIf: {
      if (!code.lockstep) return BranchApart(code, threads);
      bool holds = CommonValue(code.expr, threads, "a condition") != 0;
      if (holds) RunTogether(*code.children[0], threads);
      if (!holds && code.children.size() > 1) RunTogether(*code.children[1], threads);
      return;
    }
    case CodeKind::kLet:
      for (Context* thread : threads) RunLet(code, *thread);
      return RunTogether(*code.children[0], threads);
    case CodeKind::kAllocate:
      return AllocateTogether(code, threads);
    case CodeKind::kBarrier:
      // The lanes of a warp have all arrived here anyway.
      if (code.scope == Scope::kWarp) return;
      ++monitor_.report.barriers;
      ++monitor_.epoch;
      return;
    case CodeKind::kWarpCall: {
      Contexts first;
      for (Context* thread : threads) {
        if (thread->thread % Target::kWarp == 0) first.push_back(thread);
      }
      return RunTogether(*code.children[0], first);
    }
    case CodeKind::kBlock:
      return monitor_.Fail(
          fmt::format("block {} holds a barrier or a buffer that threads share", code.name));
    case CodeKind::kNest:
    case CodeKind::kAsyncCopy:
    case CodeKind::kAsyncCommit:
    case CodeKind::kAsyncWait:
    case CodeKind::kPrefetch:
      TCC_CHECK(false) << "a leaf holds no barrier";
  }
}

void Machine::BranchApart(const Code& code, const Contexts& threads) {
  Contexts taken, others;
  for (Context* thread : threads) {
    (Value(code.expr, *thread) != 0 ? taken : others).push_back(thread);
  }
  RunTogether(*code.children[0], taken);
  if (code.children.size() > 1) RunTogether(*code.children[1], others);
}

void Machine::IterateApart(const Code& code, const Contexts& threads) {
  std::vector<int64_t> extents;
  for (Context* thread : threads) extents.push_back(Value(code.expr, *thread));
  for (int64_t i = 0; !monitor_.failed(); ++i) {
    Contexts running;
    for (size_t t = 0; t < threads.size(); ++t) {
      if (i >= extents[t]) continue;
      threads[t]->slots[code.slot].integer = i;
      running.push_back(threads[t]);
    }
    if (running.empty()) return;
    RunTogether(*code.children[0], running);
  }
}

void Machine::LoopTogether(const Code& code, const Contexts& threads) {
  if (IsThreadIdx(code.for_kind)) {
    int axis = static_cast<int>(code.for_kind) - static_cast<int>(ForKind::kThreadIdxX);
    for (Context* thread : threads) thread->slots[code.slot].integer = thread->hardware[axis];
    return RunTogether(*code.children[0], threads);
  }
  bool unordered = IsBlockIdx(code.for_kind) || code.for_kind == ForKind::kVthread;
  if (!code.lockstep && !unordered) return IterateApart(code, threads);
  int64_t extent = CommonValue(code.expr, threads, "the extent of loop " + code.name);
  if (code.for_kind == ForKind::kVthread) {
    // Virtual threads: copies of each thread that take part in every segment between barriers.
    std::vector<Context> copies;
    copies.reserve(threads.size() * static_cast<size_t>(std::max<int64_t>(0, extent)));
    Contexts all;
    for (int64_t v = 0; v < extent; ++v) {
      for (Context* thread : threads) {
        copies.push_back(*thread);
        copies.back().slots[code.slot].integer = v;
        all.push_back(&copies.back());
      }
    }
    return RunTogether(*code.children[0], all);
  }
  for (int64_t i = 0; i < extent && !monitor_.failed(); ++i) {
    // The next thread block starts after this one's end.
    if (IsBlockIdx(code.for_kind)) ++monitor_.epoch;
    for (Context* thread : threads) thread->slots[code.slot].integer = i;
    RunTogether(*code.children[0], threads);
  }
}

void Machine::AllocateTogether(const Code& code, const Contexts& threads) {
  Scope scope = program_.buffers[code.buffer].scope;
  std::map<int64_t, Cells> owners;
  for (size_t i = 0; i < threads.size(); ++i) {
    int64_t owner = 0;
    if (scope == Scope::kLocal) owner = static_cast<int64_t>(i);
    if (scope == Scope::kWarp) owner = threads[i]->thread / Target::kWarp;
    auto [found, fresh] = owners.try_emplace(owner);
    if (fresh) {
      Declare(code.buffer, *threads[i], found->second);
      found->second.Poison();
      if (scope == Scope::kWarp) found->second.IgnoreUses();
      if (scope == Scope::kShared) found->second.SwapUses(shared_uses_[code.buffer]);
    }
    threads[i]->buffers[code.buffer] = &found->second;
  }
  RunTogether(*code.children[0], threads);
  if (scope == Scope::kShared) owners.begin()->second.SwapUses(shared_uses_[code.buffer]);
  for (Context* thread : threads) thread->buffers[code.buffer] = nullptr;
}

}  // namespace tcc::interpret
