#include "codegen_cuda/text/place_shared.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "ir/analysis/accesses.h"
#include "ir/expr/layout.h"
#include "runtime/artefact/memory_plan.h"
#include "support/check.h"
#include "support/integer_division.h"

namespace tcc {
namespace {

// The least saving that is worth reuse, in bytes: a smaller one seldom lets one more block run, and
// separate arrays are easier to read.
constexpr int64_t kWorthwhile = 1024;

// The live ranges of buffers. Time is the number of preceding barriers that every thread passes
// once.
class LiveRanges {
 public:
  LiveRanges(std::span<const Buffer> buffers, std::span<const int64_t> bytes) : buffers_(buffers) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      int64_t alignment = std::max(SharedAlignment(buffers[i]), kArenaAlignment);
      ranges_.push_back({bytes[i], INT64_MAX, -1, alignment});
    }
  }

  std::vector<LiveBuffer> Of(const Stmt& body) && {
    Visit(body);
    for (LiveBuffer& range : ranges_) {
      if (range.last < 0) range.first = range.last = 0;
    }
    return std::move(ranges_);
  }

 private:
  void Visit(const Stmt& stmt) {
    if (const auto* seq = stmt.as<Seq>()) {
      for (const Stmt& child : seq->stmts) Visit(child);
    } else if (const auto* allocate = stmt.as<Allocate>()) {
      Visit(allocate->body);
    } else if (const auto* let = stmt.as<Let>()) {
      Use([&](const Var& buffer) { return Reads(let->value, buffer); });
      Visit(let->body);
    } else if (const auto* loop = stmt.as<For>(); loop && IsOfThreads(*loop)) {
      Visit(loop->body);
    } else if (const auto* barrier = stmt.as<Barrier>(); barrier && IsOfAll(*barrier)) {
      ++barriers_;
    } else {
      Use([&](const Var& buffer) { return Accesses(stmt, buffer); });
    }
  }

  static bool IsOfThreads(const For& loop) {
    return IsBlockIdx(loop.for_kind) || IsThreadIdx(loop.for_kind);
  }
  static bool IsOfAll(const Barrier& barrier) { return barrier.scope == Scope::kShared; }

  template <typename Uses>
  void Use(const Uses& uses) {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!uses(buffers_[i].var)) continue;
      ranges_[i].first = std::min(ranges_[i].first, barriers_);
      ranges_[i].last = barriers_;
    }
  }

  std::span<const Buffer> buffers_;
  std::vector<LiveBuffer> ranges_;
  int64_t barriers_ = 0;
};

// Places the most aligned ones first: their sizes are multiples of what they are aligned to, so
// that there are no gaps.
SharedPlaces OneAfterTheOther(std::span<const Buffer> buffers, std::span<const int64_t> bytes) {
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return SharedAlignment(buffers[i]); });
  SharedPlaces places;
  places.offsets.resize(bytes.size());
  for (size_t i : order) {
    places.offsets[i] = RoundUp(places.bytes, SharedAlignment(buffers[i]));
    places.bytes = places.offsets[i] + RoundUp(bytes[i], kSharedAlignment);
  }
  return places;
}

}  // namespace

SharedPlaces PlaceShared(const Stmt& body, std::span<const Buffer> buffers,
                         std::span<const int64_t> bytes, int64_t most) {
  TCC_CHECK(buffers.size() == bytes.size());
  SharedPlaces apart = OneAfterTheOther(buffers, bytes);
  MemoryPlan plan = PlanMemory(LiveRanges(buffers, bytes).Of(body));
  int64_t saved = apart.bytes - plan.arena_bytes;
  if (saved < kWorthwhile && (saved <= 0 || apart.bytes <= most)) return apart;
  return {std::move(plan.offsets), plan.arena_bytes, true};
}

}  // namespace tcc
