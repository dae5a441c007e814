#include "codegen_cuda/text/place_shared.h"

#include <algorithm>
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
    for (int64_t size : bytes) ranges_.push_back({size, INT64_MAX, -1});
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

SharedPlaces OneAfterTheOther(std::span<const int64_t> bytes) {
  SharedPlaces places;
  for (int64_t size : bytes) {
    places.offsets.push_back(places.bytes);
    places.bytes += RoundUp(size, kSharedAlignment);
  }
  return places;
}

}  // namespace

SharedPlaces PlaceShared(const Stmt& body, std::span<const Buffer> buffers,
                         std::span<const int64_t> bytes, int64_t most) {
  TCC_CHECK(buffers.size() == bytes.size());
  SharedPlaces apart = OneAfterTheOther(bytes);
  MemoryPlan plan = PlanMemory(LiveRanges(buffers, bytes).Of(body));
  int64_t saved = apart.bytes - plan.arena_bytes;
  if (saved < kWorthwhile && (saved <= 0 || apart.bytes <= most)) return apart;
  return {std::move(plan.offsets), plan.arena_bytes, true};
}

}  // namespace tcc
