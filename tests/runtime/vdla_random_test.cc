#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "runtime/vdla/vdla_facts.h"
#include "runtime/vdla/vdla_program.h"
#include "support/random.h"
#include "tests/runtime/vdla_runs.h"

namespace tcc {
namespace {

// A chip so small that random instructions meet: 32 activations, 4 blocks of weights, 32 sums.
const VdlaConfig kSmall = {.activation_bytes = 32 * 16,
                           .weight_bytes = 4 * 256,
                           .sum_bytes = 32 * 64,
                           .bytes_per_cycle = 16,
                           .memory_latency = 5,
                           .issue_cycles = 2,
                           .queue_depth = 4};

// The vectors that an instruction reads and writes, as memory * 1000 + number.
struct Footprint {
  std::set<int64_t> read, written;
};

// An output stage that saturates sums.
const VdlaOutput kSaturate = {
    .channels = 16, .steps = {{.op = VdlaOutputOp::kToFloat}, {.op = VdlaOutputOp::kToInt8}}};

// The meaning of a program: runs its instructions one after the other.
struct Reference {
  std::vector<Bytes>& buffers;
  std::array<std::array<int32_t, 1024>, 3> chip = {};  // elements of each memory

  Footprint Run(const VdlaCopy& copy) {
    Footprint footprint;
    auto* to = &chip[static_cast<size_t>(copy.on_chip)][copy.on_chip_at * 16];
    const bool stores = copy.on_chip == VdlaMemory::kSums;
    const auto& [above, below, before, behind] = copy.pad;
    for (int z = 0; z < int(before + copy.size[2] + behind); ++z) {
      for (int y = 0; y < int(above + copy.size[1] + below); ++y) {
        const bool pads = z < before || z >= int(before + copy.size[2]) || y < above ||
                          y >= int(above + copy.size[1]);
        for (uint32_t x = 0; x < copy.size[0] * 16; ++x, ++to) {
          const int64_t from =
              copy.memory_at + (z - before) * copy.stride[1] + (y - above) * copy.stride[0] + x;
          uint8_t* memory = buffers[copy.buffer].data();
          const bool narrows = copy.output != kVdlaNoOutput;
          if (narrows) memory[from] = static_cast<uint8_t>(std::clamp(*to, -128, 127));
          if (stores && !narrows) std::memcpy(memory + from * 4, to, 4);
          if (!stores) *to = pads ? 0 : static_cast<int8_t>(memory[from]);
        }
      }
    }
    const int64_t first = static_cast<int64_t>(copy.on_chip) * 1000 + copy.on_chip_at;
    for (int64_t v = 0; v < OnChipVectors(copy); ++v) {
      (stores ? footprint.read : footprint.written).insert(first + v);
    }
    return footprint;
  }

  Footprint Run(const VdlaGemm& gemm, const std::vector<VdlaMicroOp>& micro_ops) {
    Footprint footprint;
    for (uint32_t i = 0; i < gemm.loops[0]; ++i) {
      for (uint32_t j = 0; j < gemm.loops[1]; ++j) {
        for (uint32_t m = gemm.first; m < gemm.last; ++m) {
          const auto at = [&](uint32_t number, int n) {
            return number + gemm.steps[n][0] * i + gemm.steps[n][1] * j;
          };
          const uint32_t sum = at(micro_ops[m].sum, 0), activation = at(micro_ops[m].activation, 1);
          const uint32_t weight = at(micro_ops[m].weight, 2);
          footprint.written.insert(2000 + sum);
          if (!gemm.reset) footprint.read.insert(activation);
          for (uint32_t o = 0; o < 16; ++o) {
            if (gemm.reset) chip[2][sum * 16 + o] = 0;
            if (gemm.reset) continue;
            footprint.read.insert(1000 + weight * 16 + o);
            for (uint32_t c = 0; c < 16; ++c) {
              chip[2][sum * 16 + o] +=
                  chip[0][activation * 16 + c] * chip[1][(weight * 16 + o) * 16 + c];
            }
          }
        }
      }
    }
    return footprint;
  }
};

VdlaCopy RandomCopy(Random& random) {
  VdlaCopy copy = {.on_chip = static_cast<VdlaMemory>(random.Below(3))};
  copy.buffer = copy.on_chip == VdlaMemory::kSums ? 1 : 0;
  copy.on_chip_at = random.Below(32);
  copy.memory_at = random.Below(1000);
  for (uint32_t& size : copy.size) size = random.Below(4);
  for (int64_t& stride : copy.stride) stride = random.Below(200);
  if (copy.buffer == 1 && random.OneIn(2)) {
    copy.buffer = 2;
    copy.output = 0;
  }
  if (copy.buffer == 0) {
    for (uint16_t& pad : copy.pad) pad = random.Below(3);
  }
  return copy;
}

VdlaGemm RandomGemm(Random& random, uint32_t micro_ops) {
  VdlaGemm gemm = {.reset = random.OneIn(4)};
  gemm.first = random.Below(micro_ops);
  gemm.last = gemm.first + random.Between(1, 4);
  for (uint32_t& loop : gemm.loops) loop = random.Between(1, 3);
  for (auto& steps : gemm.steps) steps = {uint32_t(random.Below(4)), uint32_t(random.Below(4))};
  return gemm;
}

// A program without tokens. It clears the chip first, whose contents are arbitrary.
VdlaProgram RandomProgram(Random& random) {
  VdlaProgram program = {.buffers = 3, .outputs = {kSaturate}, .micro_ops = {{}}};
  for (int m = 0; m < 12; ++m) {
    program.micro_ops.push_back({.sum = uint32_t(random.Below(32)),
                                 .activation = uint32_t(random.Below(32)),
                                 .weight = uint32_t(random.Below(4))});
  }
  program.instructions = {
      {.work = VdlaCopy{.size = {1, 0, 0}, .pad = {32, 0, 1, 0}}},
      {.work = VdlaCopy{.on_chip = VdlaMemory::kWeights, .size = {1, 0, 0}, .pad = {32, 32, 0, 1}}},
      {.work = VdlaGemm{.reset = true, .last = 1, .loops = {32, 1}, .steps = {{{1, 0}, {}, {}}}}},
  };
  while (program.instructions.size() < 40) {
    VdlaInstruction& next = program.instructions.emplace_back();
    next.work = RandomCopy(random);
    if (random.OneIn(2)) next.work = RandomGemm(random, program.micro_ops.size());
    if (!VerifyVdlaProgram(program, kSmall).ok()) program.instructions.pop_back();
  }
  return program;
}

bool Meet(const std::set<int64_t>& a, const std::set<int64_t>& b) {
  return std::ranges::any_of(a, [&](int64_t vector) { return b.contains(vector); });
}

// Whether instructions of two units must keep their order: one writes what the other reads.
bool DependOn(const Footprint& a, const Footprint& b) {
  return Meet(a.written, b.read) || Meet(a.read, b.written);
}

// An instruction that pushes and the one of a neighbour that pops.
using TokenPair = std::pair<size_t, size_t>;

// Removes or adds the flags of a pair.
void Flip(VdlaProgram& program, const TokenPair& pair) {
  VdlaInstruction& from = program.instructions[pair.first];
  VdlaInstruction& to = program.instructions[pair.second];
  const bool forward = UnitOf(from) < UnitOf(to);
  bool& push = forward ? from.tokens.push_next : from.tokens.push_previous;
  bool& pop = forward ? to.tokens.pop_previous : to.tokens.pop_next;
  push = !push;
  pop = !pop;
}

// Orders all instructions that depend on each other: the last one that i must wait for, of each
// neighbour, unless an earlier instruction of i's unit has waited for it.
std::vector<TokenPair> AddTokens(VdlaProgram& program, const std::vector<Footprint>& footprints) {
  std::vector<TokenPair> pairs;
  for (const auto& [from, to] : {std::pair(0, 1), {1, 0}, {1, 2}, {2, 1}}) {
    int64_t newest = -1;
    for (size_t i = 0; i < footprints.size(); ++i) {
      if (static_cast<int>(UnitOf(program.instructions[i])) != to) continue;
      int64_t before = -1;
      for (size_t j = 0; j < i; ++j) {
        if (static_cast<int>(UnitOf(program.instructions[j])) == from &&
            DependOn(footprints[j], footprints[i])) {
          before = static_cast<int64_t>(j);
        }
      }
      if (before <= newest) continue;
      newest = before;
      pairs.emplace_back(before, i);
    }
  }
  for (const TokenPair& pair : pairs) Flip(program, pair);
  return pairs;
}

// Whether unit order and tokens order every two instructions that depend on each other.
bool IsOrdered(const VdlaProgram& program, const std::vector<Footprint>& footprints,
               const std::vector<TokenPair>& pairs) {
  std::vector<std::set<size_t>> after(footprints.size());  // by instruction: the ones it follows
  for (size_t i = 0; i < footprints.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const bool same_unit = UnitOf(program.instructions[i]) == UnitOf(program.instructions[j]);
      if (!same_unit && std::ranges::find(pairs, TokenPair(j, i)) == pairs.end()) continue;
      after[i].insert(j);
      after[i].insert(after[j].begin(), after[j].end());
    }
    for (size_t j = 0; j < i; ++j) {
      if (DependOn(footprints[j], footprints[i]) && !after[i].contains(j)) return false;
    }
  }
  return true;
}

struct Sample {
  VdlaProgram program;
  std::vector<Footprint> footprints;
  std::vector<TokenPair> pairs;
  std::vector<Bytes> before, after;  // the buffers
};

// Returns a random program with tokens, and its effect on random bytes.
Sample RandomSample(uint64_t seed) {
  Random random(seed);
  Sample sample;
  sample.program = RandomProgram(random);
  sample.before = {Bytes(4096), Bytes(4 * 4096), Bytes(4096)};
  for (uint8_t& byte : sample.before[0]) byte = static_cast<uint8_t>(random.Next());
  sample.after = sample.before;
  Reference reference = {.buffers = sample.after};
  std::vector<Footprint>& footprints = sample.footprints;
  for (const VdlaInstruction& instruction : sample.program.instructions) {
    const auto* gemm = std::get_if<VdlaGemm>(&instruction.work);
    footprints.push_back(gemm != nullptr ? reference.Run(*gemm, sample.program.micro_ops)
                                         : reference.Run(std::get<VdlaCopy>(instruction.work)));
  }
  sample.pairs = AddTokens(sample.program, footprints);
  return sample;
}

}  // namespace

TEST_CASE("random vdla programs do what their instructions mean in order", "[runtime][vdla]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Sample sample = RandomSample(seed);
    std::vector<Bytes> buffers = sample.before;
    const StatusOr<VdlaCounts> counts = RunAlways(sample.program, kSmall, buffers);
    INFO("seed " << seed << ": " << Message(counts.status()));
    REQUIRE(counts.ok());
    CHECK(buffers == sample.after);
    CHECK(*counts == *TimeVdla(sample.program, kSmall));
    for (int unit = 0; unit < kVdlaUnits; ++unit) {
      CHECK(counts->busy[unit] + counts->waiting[unit] <= counts->cycles);
    }
  }
}

TEST_CASE("every flipped flag of a random vdla program is found", "[runtime][vdla]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    VdlaProgram program = RandomSample(seed).program;
    for (VdlaInstruction& instruction : program.instructions) {
      for (bool VdlaTokens::* flag : {&VdlaTokens::pop_previous, &VdlaTokens::pop_next,
                                      &VdlaTokens::push_previous, &VdlaTokens::push_next}) {
        instruction.tokens.*flag = !(instruction.tokens.*flag);
        CHECK_FALSE(TimeVdla(program, kSmall).ok());
        instruction.tokens.*flag = !(instruction.tokens.*flag);
      }
    }
    CHECK(TimeVdla(program, kSmall).ok());
  }
}

TEST_CASE("a dropped pair of vdla tokens is a race unless others imply it", "[runtime][vdla]") {
  int needed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Sample sample = RandomSample(seed);
    for (const TokenPair& pair : sample.pairs) {
      std::vector<TokenPair> others = sample.pairs;
      std::erase(others, pair);
      const bool is_needed = !IsOrdered(sample.program, sample.footprints, others);
      Flip(sample.program, pair);
      const Status status = TimeVdla(sample.program, kSmall).status();
      INFO("seed " << seed << ": " << Message(status));
      CHECK(status.code() == (is_needed ? absl::StatusCode::kDataLoss : absl::StatusCode::kOk));
      Flip(sample.program, pair);
      needed += is_needed ? 1 : 0;
    }
  }
  CHECK(needed > 500);
}

}  // namespace tcc
