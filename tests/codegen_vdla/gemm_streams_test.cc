#include "codegen_vdla/gemm_streams.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <tuple>

#include "runtime/vdla/vdla_facts.h"
#include "support/random.h"

namespace tcc {
namespace {

// A nest of loops with an affine micro-op inside, some iterations of which may be left out.
LoopedMicroOps RandomNest(Random& random, bool leaves_out) {
  const size_t loops = random.Between(1, 4);
  std::vector<int64_t> extents(loops);
  std::vector<VdlaMicroOp> steps(loops);
  for (int64_t& extent : extents) extent = random.Between(1, 4);
  const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(random.Below(limit)); };
  for (VdlaMicroOp& step : steps) step = {below(9), below(9), below(3)};
  LoopedMicroOps nest = {.loops = loops, .values = {}, .micro_ops = {}};
  std::vector<int64_t> at(loops, 0);
  while (true) {
    VdlaMicroOp op = {.sum = 3, .activation = 1, .weight = 2};
    for (size_t l = 0; l < loops; ++l) {
      op.sum += static_cast<uint32_t>(at[l]) * steps[l].sum;
      op.activation += static_cast<uint32_t>(at[l]) * steps[l].activation;
      op.weight += static_cast<uint32_t>(at[l]) * steps[l].weight;
    }
    if (!leaves_out || nest.micro_ops.empty() || !random.OneIn(5)) {
      nest.micro_ops.push_back(op);
      nest.values.insert(nest.values.end(), at.begin(), at.end());
    }
    size_t l = loops;
    while (l > 0 && ++at[l - 1] == extents[l - 1]) at[--l] = 0;
    if (l == 0) return nest;
  }
}

std::vector<std::array<uint32_t, 3>> SortedOps(const std::vector<VdlaMicroOp>& ops) {
  std::vector<std::array<uint32_t, 3>> sorted;
  for (const VdlaMicroOp& op : ops) sorted.push_back({op.sum, op.activation, op.weight});
  std::ranges::sort(sorted);
  return sorted;
}

// Returns the micro-ops that an instruction runs.
std::vector<VdlaMicroOp> OpsOf(const VdlaGemm& gemm, const VdlaProgram& program) {
  std::vector<VdlaMicroOp> ops;
  ForEachStep(program, gemm, [&](const VdlaMicroOp& op) { ops.push_back(op); });
  return ops;
}

}  // namespace

TEST_CASE("a folded nest runs the same micro-ops", "[codegen_vdla][gemm]") {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    const bool leaves_out = i % 2 == 1;
    const LoopedMicroOps nest = RandomNest(random, leaves_out);
    MicroOpLists lists;
    const VdlaGemm gemm = FoldGemm(nest, lists);
    const VdlaProgram program = {.micro_ops = std::move(lists).Take()};
    CHECK(SortedOps(OpsOf(gemm, program)) == SortedOps(nest.micro_ops));
    // Two affine loops leave one micro-op.
    if (!leaves_out && nest.loops <= 2) CHECK(gemm.last - gemm.first == 1);
  }
}

TEST_CASE("the longest loops become the hardware's", "[codegen_vdla][gemm]") {
  LoopedMicroOps nest = {.loops = 3, .values = {}, .micro_ops = {}};
  for (uint32_t i = 0; i < 5; ++i) {
    for (uint32_t j = 0; j < 2; ++j) {
      for (uint32_t k = 0; k < 3; ++k) {
        nest.values.insert(nest.values.end(), {i, j, k});
        nest.micro_ops.push_back({.sum = 7 * i, .activation = j, .weight = k});
      }
    }
  }
  MicroOpLists lists;
  const VdlaGemm gemm = FoldGemm(nest, lists);
  CHECK(gemm == VdlaGemm{.last = 2, .loops = {5, 3}, .steps = {{{7, 0}, {0, 0}, {0, 1}}}});
  // The same list is not placed again.
  CHECK(FoldGemm(nest, lists).first == 0);
  CHECK(std::move(lists).Take().size() == 2);
}

TEST_CASE("a loop whose numbers become smaller is left to micro-ops", "[codegen_vdla][gemm]") {
  const LoopedMicroOps nest = {.loops = 1, .values = {0, 1}, .micro_ops = {{.sum = 1}, {.sum = 0}}};
  MicroOpLists lists;
  CHECK(FoldGemm(nest, lists) == VdlaGemm{.last = 2});
}

}  // namespace tcc
