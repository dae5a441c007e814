#include "codegen_vdla/gemm_streams.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "support/check.h"

namespace tcc {
namespace {

// The most iterations of a hardware loop that VerifyVdlaProgram accepts.
constexpr int64_t kMaxLoop = 1 << 14;

// The values that a loop takes; a loop of one iteration stands for none.
struct Range {
  std::optional<size_t> loop;
  int64_t first = 0, count = 1;
};

Range RangeOf(const LoopedMicroOps& nest, size_t loop) {
  int64_t first = nest.values[loop], last = first;
  for (size_t at = loop; at < nest.values.size(); at += nest.loops) {
    first = std::min(first, nest.values[at]);
    last = std::max(last, nest.values[at]);
  }
  return {.loop = loop, .first = first, .count = last - first + 1};
}

// Returns the loops that iterate, in order, and one that does not.
std::vector<Range> RangesOf(const LoopedMicroOps& nest) {
  std::vector<Range> ranges;
  for (size_t loop = 0; loop < nest.loops; ++loop) {
    const Range range = RangeOf(nest, loop);
    if (range.count > 1 && range.count <= kMaxLoop) ranges.push_back(range);
  }
  ranges.emplace_back();
  return ranges;
}

using LoopPair = std::array<Range, 2>;

int64_t Iterations(const LoopPair& pair) {
  return pair[0].count * pair[1].count;
}

// Returns all choices of hardware loops, the one with the most iterations first.
std::vector<LoopPair> PairsOf(const std::vector<Range>& ranges) {
  std::vector<LoopPair> pairs;
  for (size_t outer = 0; outer < ranges.size(); ++outer) {
    for (size_t inner = outer + 1; inner < ranges.size(); ++inner) {
      pairs.push_back({ranges[outer], ranges[inner]});
    }
  }
  pairs.push_back({Range(), Range()});
  std::ranges::stable_sort(pairs, std::greater(), Iterations);
  return pairs;
}

int64_t IterationOf(const LoopedMicroOps& nest, size_t micro_op, const Range& range) {
  if (!range.loop) return 0;
  return nest.values[micro_op * nest.loops + *range.loop] - range.first;
}

// Sorts micro-ops by the iteration of two loops that runs them; empty unless all iterations have
// the same number.
std::vector<VdlaMicroOp> ByIteration(const LoopedMicroOps& nest, const LoopPair& pair) {
  const size_t all = nest.micro_ops.size(), iterations = Iterations(pair);
  if (all % iterations != 0) return {};
  std::vector<VdlaMicroOp> sorted(all);
  std::vector<size_t> filled(iterations, 0);
  for (size_t m = 0; m < all; ++m) {
    const size_t iteration = IterationOf(nest, m, pair[0]) * pair[1].count +  //
                             IterationOf(nest, m, pair[1]);
    if (filled[iteration] == all / iterations) return {};
    sorted[iteration * (all / iterations) + filled[iteration]++] = nest.micro_ops[m];
  }
  return sorted;
}

// Returns the step from one micro-op to another; wraps around where a number becomes smaller.
std::array<uint32_t, 3> StepBetween(const VdlaMicroOp& from, const VdlaMicroOp& to) {
  return {to.sum - from.sum, to.activation - from.activation, to.weight - from.weight};
}

// Returns an instruction with these hardware loops, and the list of its micro-ops; nullopt where
// some step is not constant.
std::optional<std::pair<VdlaGemm, std::vector<VdlaMicroOp>>> Fold(const LoopedMicroOps& nest,
                                                                  const LoopPair& pair) {
  std::vector<VdlaMicroOp> sorted = ByIteration(nest, pair);
  if (sorted.empty()) return std::nullopt;
  const auto outer = static_cast<uint32_t>(pair[0].count);
  const auto inner = static_cast<uint32_t>(pair[1].count);
  const size_t each = sorted.size() / outer / inner;
  VdlaGemm gemm = {.loops = {outer, inner}};
  const auto& begin = sorted[0];
  const auto outer_step =
      outer > 1 ? StepBetween(begin, sorted[inner * each]) : std::array<uint32_t, 3>{};
  const auto inner_step = inner > 1 ? StepBetween(begin, sorted[each]) : std::array<uint32_t, 3>{};
  for (size_t n = 0; n < gemm.steps.size(); ++n) gemm.steps[n] = {outer_step[n], inner_step[n]};
  // A step back would be a huge number, beyond every memory.
  constexpr uint32_t kBack = uint32_t{1} << 31;
  if (std::ranges::any_of(outer_step, [](uint32_t step) { return step >= kBack; }) ||
      std::ranges::any_of(inner_step, [](uint32_t step) { return step >= kBack; })) {
    return std::nullopt;
  }
  for (size_t m = 0; m < sorted.size(); ++m) {
    const auto i = static_cast<uint32_t>(m / each / inner), j = static_cast<uint32_t>(m / each);
    const auto step = StepBetween(sorted[m % each], sorted[m]);
    for (size_t n = 0; n < step.size(); ++n) {
      if (step[n] != outer_step[n] * i + inner_step[n] * (j % inner)) return std::nullopt;
    }
  }
  sorted.resize(each);
  return std::pair(gemm, std::move(sorted));
}

}  // namespace

uint32_t MicroOpLists::Place(const std::vector<VdlaMicroOp>& list) {
  std::vector<std::array<uint32_t, 3>> key;
  for (const VdlaMicroOp& op : list) key.push_back({op.sum, op.activation, op.weight});
  const auto [known, is_new] = first_.emplace(std::move(key), static_cast<uint32_t>(all_.size()));
  if (is_new) all_.insert(all_.end(), list.begin(), list.end());
  return known->second;
}

VdlaGemm FoldGemm(const LoopedMicroOps& nest, MicroOpLists& lists) {
  for (const LoopPair& pair : PairsOf(RangesOf(nest))) {
    auto folded = Fold(nest, pair);
    if (!folded) continue;
    auto& [gemm, list] = *folded;
    gemm.first = lists.Place(list);
    gemm.last = gemm.first + static_cast<uint32_t>(list.size());
    return gemm;
  }
  TCC_UNREACHABLE();  // a pair without iterations always folds
}

}  // namespace tcc
