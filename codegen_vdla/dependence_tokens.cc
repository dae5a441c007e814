#include "codegen_vdla/dependence_tokens.h"

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/vdla/vdla_facts.h"

namespace tcc {
namespace {

// By unit: the last instruction that another one must wait for; -1: none.
using LastOfUnit = std::array<int64_t, kVdlaUnits>;

// Adds the tokens by which instructions wait for others of neighbouring units.
class TokenWriter {
 public:
  explicit TokenWriter(VdlaProgram& program) : program_(program) {}

  // Makes instruction `i` wait for the instructions in `before`. Calls come in program order.
  void Wait(size_t i, const LastOfUnit& before) {
    VdlaTokens& pop = program_.instructions[i].tokens;
    const auto to = static_cast<size_t>(UnitOf(program_.instructions[i]));
    if (to > 0 && IsNews(to - 1, to, before)) {
      program_.instructions[before[to - 1]].tokens.push_next = pop.pop_previous = true;
    }
    if (to + 1 < kVdlaUnits && IsNews(to + 1, to, before)) {
      program_.instructions[before[to + 1]].tokens.push_previous = pop.pop_next = true;
    }
  }

 private:
  // Whether `before` names a later instruction of `from` than `to` has waited for.
  bool IsNews(size_t from, size_t to, const LastOfUnit& before) {
    int64_t& newest = newest_[from][to];
    if (before[from] <= newest) return false;
    newest = before[from];
    return true;
  }

  static constexpr LastOfUnit kNone = {-1, -1, -1};

  VdlaProgram& program_;
  std::array<LastOfUnit, kVdlaUnits> newest_ = {kNone, kNone, kNone};
};

// The last instructions that wrote and read each vector of the chip, of weights each block: a GEMM
// reads a whole one.
class LastAccesses {
 public:
  LastAccesses(const VdlaProgram& program, const VdlaConfig& config) : program_(program) {
    for (size_t m = 0; m < last_.size(); ++m) {
      last_[m].resize(VectorsOf(config, static_cast<VdlaMemory>(m)));
    }
  }

  // Records instruction `i`. Returns the last ones of other units that it depends on.
  LastOfUnit Add(size_t i) {
    instruction_ = static_cast<int64_t>(i);
    before_ = {-1, -1, -1};
    const auto& work = program_.instructions[i].work;
    if (const auto* gemm = std::get_if<VdlaGemm>(&work)) {
      AddSteps(*gemm);
    } else {
      AddBox(std::get<VdlaCopy>(work));
    }
    return before_;
  }

 private:
  struct Accesses {
    int64_t written = -1, read = -1;  // by which instruction; -1: none yet
  };

  // A memory is written by one unit and read by another, so only accesses of the other kind matter.
  void Touch(VdlaMemory memory, int64_t number, bool writes) {
    Accesses& accesses = last_[static_cast<size_t>(memory)][number];
    (writes ? accesses.written : accesses.read) = instruction_;
    const int64_t other = writes ? accesses.read : accesses.written;
    if (other < 0) return;
    int64_t& before = before_[static_cast<size_t>(UnitOf(program_.instructions[other]))];
    before = std::max(before, other);
  }

  void AddBox(const VdlaCopy& copy) {
    const int64_t unit = copy.on_chip == VdlaMemory::kWeights ? kVdlaBlock : 1;
    const int64_t last = copy.on_chip_at + OnChipVectors(copy) - 1;
    for (int64_t number = copy.on_chip_at / unit; number <= last / unit; ++number) {
      Touch(copy.on_chip, number, /*writes=*/copy.on_chip != VdlaMemory::kSums);
    }
  }

  void AddSteps(const VdlaGemm& gemm) {
    ForEachStep(program_, gemm, [&](const VdlaMicroOp& op) {
      Touch(VdlaMemory::kSums, op.sum, /*writes=*/true);
      if (gemm.reset) return;
      Touch(VdlaMemory::kActivations, op.activation, /*writes=*/false);
      Touch(VdlaMemory::kWeights, op.weight, /*writes=*/false);
    });
  }

  const VdlaProgram& program_;
  std::array<std::vector<Accesses>, kVdlaMemories> last_;  // by memory, then by number
  int64_t instruction_ = 0;
  LastOfUnit before_ = {-1, -1, -1};
};

}  // namespace

void AddTokens(VdlaProgram& program, const VdlaConfig& config) {
  LastAccesses accesses(program, config);
  TokenWriter tokens(program);
  for (size_t i = 0; i < program.instructions.size(); ++i) tokens.Wait(i, accesses.Add(i));
}

void SerializeWithTokens(VdlaProgram& program) {
  TokenWriter tokens(program);
  LastOfUnit before = {-1, -1, -1};
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    tokens.Wait(i, before);
    before.at(static_cast<size_t>(UnitOf(program.instructions[i]))) = static_cast<int64_t>(i);
  }
}

}  // namespace tcc
