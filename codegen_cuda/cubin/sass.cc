#include "codegen_cuda/cubin/sass.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace tcc {
namespace {

constexpr size_t kInstructionBytes = 16;

struct Instruction {
  uint64_t low = 0;
  uint64_t high = 0;

  uint64_t Operation() const { return low & 0x1ff; }
};

constexpr uint64_t kBranch = 0x147;
constexpr uint64_t kNop = 0x118;

// The operation of each kind: the low 9 bits. The three bits above give the kinds of the operands.
struct Row {
  SassKind kind;
  uint64_t operation;
};
constexpr Row kRows[] = {
    {SassKind::kFfma, 0x023},    {SassKind::kHmma, 0x03c},  {SassKind::kImma, 0x037},
    {SassKind::kLdg, 0x181},     {SassKind::kStg, 0x186},   {SassKind::kLdgsts, 0x1ae},
    {SassKind::kLds, 0x184},     {SassKind::kSts, 0x188},   {SassKind::kLdsm, 0x03b},
    {SassKind::kLdl, 0x183},     {SassKind::kStl, 0x187},   {SassKind::kBar, 0x11d},
    {SassKind::kShfl, 0x189},    {SassKind::kF2f, 0x104},   {SassKind::kF2fp, 0x03e},
    {SassKind::kAcqbulk, 0x02e}, {SassKind::kHgmma, 0x1f0}, {SassKind::kIgmma, 0x1f1},
};

SassKind KindOf(const Instruction& instruction) {
  for (const Row& row : kRows) {
    if (row.operation == instruction.Operation()) return row.kind;
  }
  return SassKind::kOther;
}

std::vector<Instruction> InstructionsOf(std::span<const uint8_t> code) {
  std::vector<Instruction> instructions(code.size() / kInstructionBytes);
  std::memcpy(instructions.data(), code.data(), instructions.size() * kInstructionBytes);
  return instructions;
}

// Returns bits [first, first + count) of the 128; count <= 64.
uint64_t BitsOf(const Instruction& instruction, int first, int count) {
  uint64_t bits = 0;
  for (int i = 0; i < count; ++i) {
    int at = first + i;
    uint64_t bit = at < 64 ? instruction.low >> at : instruction.high >> (at - 64);
    bits |= (bit & 1) << i;
  }
  return bits;
}

int64_t SignExtended(uint64_t bits, int count) {
  return static_cast<int64_t>(bits << (64 - count)) >> (64 - count);
}

// Returns the index of the instruction that a branch goes to. The offset counts bytes from the next
// instruction. From sm_90 on, its lowest bits, in units of 4 bytes, have a field of their own.
int64_t TargetOf(const Instruction& branch, int64_t index, int sm) {
  int64_t offset = SignExtended(BitsOf(branch, 32, 50), 50);
  if (sm >= 90) {
    int64_t high = SignExtended(BitsOf(branch, 34, 48), 48);
    offset = (high * 256 + static_cast<int64_t>(BitsOf(branch, 16, 8))) * 4;
  }
  return index + 1 + offset / static_cast<int64_t>(kInstructionBytes);
}

// Returns the bytes per thread of a memory access.
int64_t AccessBytes(const Instruction& access) {
  constexpr int64_t kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
  return kBytes[BitsOf(access, 73, 3)];
}

// The type of the operands of an HMMA or HGMMA; 0 is f16.
constexpr uint64_t kBf16 = 1, kTf32 = 2;
uint64_t OperandType(const Instruction& product, SassKind kind) {
  return BitsOf(product, kind == SassKind::kHgmma ? 76 : 82, 2);
}

SassCounts CountsOf(std::span<const Instruction> instructions) {
  SassCounts counts;
  for (const Instruction& instruction : instructions) {
    if (instruction.Operation() == kNop) continue;
    SassKind kind = KindOf(instruction);
    ++counts.of_kind[static_cast<size_t>(kind)];
    ++counts.total;
    if (kind != SassKind::kHmma && kind != SassKind::kHgmma) continue;
    uint64_t type = OperandType(instruction, kind);
    counts.of_bf16 += type == kBf16 ? 1 : 0;
    counts.of_tf32 += type == kTf32 ? 1 : 0;
  }
  return counts;
}

struct Loop {
  int64_t first, last;  // the indices of its first and last instructions
};

// Returns the loops, one per backward branch. A branch to itself ends the code and is no loop.
std::vector<Loop> LoopsOf(std::span<const Instruction> instructions, int sm) {
  std::vector<Loop> loops;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].Operation() != kBranch) continue;
    auto index = static_cast<int64_t>(i);
    int64_t target = TargetOf(instructions[i], index, sm);
    if (target >= 0 && target < index) loops.push_back({target, index});
  }
  return loops;
}

bool HoldsAnother(const Loop& loop, const std::vector<Loop>& loops) {
  return std::ranges::any_of(loops, [&](const Loop& other) {
    bool same = other.first == loop.first && other.last == loop.last;
    return !same && other.first >= loop.first && other.last <= loop.last;
  });
}

// Returns the weighted number of multiply-adds: a tensor core instruction does hundreds of them.
int64_t WorkOf(const SassCounts& counts) {
  return counts.OnTensorCores() * 1000 + counts.of(SassKind::kFfma);
}

SassCounts MainLoopOf(std::span<const Instruction> instructions, int sm) {
  std::vector<Loop> loops = LoopsOf(instructions, sm);
  std::optional<SassCounts> main;
  for (const Loop& loop : loops) {
    if (HoldsAnother(loop, loops)) continue;
    SassCounts counts = CountsOf(instructions.subspan(
        static_cast<size_t>(loop.first), static_cast<size_t>(loop.last - loop.first + 1)));
    if (WorkOf(counts) > (main ? WorkOf(*main) : 0)) main = counts;
  }
  return main ? *main : CountsOf(instructions);
}

// Checks whether an operation is one of the flow of control, or accesses memory other than the
// constant bank (LDC).
bool MayNotComeBeforeWait(const Instruction& instruction) {
  constexpr uint64_t kLdc = 0x182;
  const uint64_t operation = instruction.Operation();
  const bool is_control = operation >= 0x140 && operation < 0x160;
  const bool is_memory = operation >= 0x180 && operation < 0x1c0 && operation != kLdc;
  return is_control || is_memory;
}

bool WaitsFirst(std::span<const Instruction> instructions) {
  auto is_wait = [](const Instruction& instruction) {
    return KindOf(instruction) == SassKind::kAcqbulk;
  };
  const auto wait = std::ranges::find_if(instructions, is_wait);
  if (wait == instructions.end()) return false;
  constexpr uint64_t kAlways = 7;  // the predicate PT, not negated
  return BitsOf(*wait, 12, 4) == kAlways &&
         std::none_of(instructions.begin(), wait, MayNotComeBeforeWait) &&
         std::none_of(std::next(wait), instructions.end(), is_wait);
}

}  // namespace

SassFacts FactsOf(std::span<const uint8_t> code, int sm) {
  std::vector<Instruction> instructions = InstructionsOf(code);
  SassFacts facts;
  facts.all = CountsOf(instructions);
  facts.main_loop = MainLoopOf(instructions, sm);
  facts.waits = WaitsFirst(instructions);
  for (const Instruction& instruction : instructions) {
    SassKind kind = KindOf(instruction);
    if (kind == SassKind::kLdg || kind == SassKind::kLdgsts)
      facts.load_bytes_widest = std::max(facts.load_bytes_widest, AccessBytes(instruction));
    if (kind == SassKind::kStg)
      facts.store_bytes_widest = std::max(facts.store_bytes_widest, AccessBytes(instruction));
  }
  return facts;
}

}  // namespace tcc
