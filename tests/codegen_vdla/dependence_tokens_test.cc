#include "codegen_vdla/dependence_tokens.h"

#include <catch2/catch.hpp>

#include "codegen_vdla/instruction_stream.h"
#include "ir/text/parser.h"
#include "runtime/vdla/vdla_facts.h"
#include "runtime/vdla/vdla_machine.h"
#include "runtime/vdla/vdla_program.h"
#include "support/random.h"
#include "tests/codegen_vdla/vdla_functions.h"

namespace tcc {
namespace {

VdlaProgram StreamWithoutTokens(const Function& lowered) {
  StatusOr<VdlaProgram> program = StreamOf(lowered, {});
  INFO(program.status());
  REQUIRE(program.ok());
  return *program;
}

VdlaProgram WithTokens(VdlaProgram program) {
  AddTokens(program, {});
  return program;
}

VdlaProgram Serial(VdlaProgram program) {
  SerializeWithTokens(program);
  return program;
}

VdlaCounts CountsOf(const VdlaProgram& program) {
  const StatusOr<VdlaCounts> counts = TimeVdla(program, {});
  INFO(counts.status());
  REQUIRE(counts.ok());
  return *counts;
}

// The flags of a token from one unit to a neighbour.
struct Direction {
  VdlaUnit from, to;
  bool VdlaTokens::* push;
  bool VdlaTokens::* pop;
};
constexpr Direction kDirections[] = {
    {VdlaUnit::kLoad, VdlaUnit::kCompute, &VdlaTokens::push_next, &VdlaTokens::pop_previous},
    {VdlaUnit::kCompute, VdlaUnit::kLoad, &VdlaTokens::push_previous, &VdlaTokens::pop_next},
    {VdlaUnit::kCompute, VdlaUnit::kStore, &VdlaTokens::push_next, &VdlaTokens::pop_previous},
    {VdlaUnit::kStore, VdlaUnit::kCompute, &VdlaTokens::push_previous, &VdlaTokens::pop_next}};

// Returns the instructions of a unit that have a flag, in order.
std::vector<size_t> Holders(const VdlaProgram& program, VdlaUnit unit, bool VdlaTokens::* flag) {
  std::vector<size_t> holders;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const VdlaInstruction& instruction = program.instructions[i];
    if (UnitOf(instruction) == unit && instruction.tokens.*flag) holders.push_back(i);
  }
  return holders;
}

// The statements of a tile of 64 rows and 4 blocks of outputs, in the buffers of a context. `load`
// and `multiply` do a step of 16 inputs.
struct Context {
  int number;
  std::string reset() const {
    return fmt::format("for r in 0..256 {{ for p in 0..16 {{ C{}[r * 16 + p] = 0 }} }}\n", number);
  }
  std::string load() const {
    return fmt::format(R"(
      for l in 0..1024 {{ A{0}[l] = A[({1}) * 16384 + k * 1024 + l] }}
      for l in 0..1024 {{ B{0}[l] = B[k * 1024 + l] }})",
                       number, tile);
  }
  std::string multiply() const {
    return fmt::format(R"(
      for r in 0..64 {{ for o in 0..4 {{ intrinsic vdla_gemv_16x16 {{
        for p in 0..16 {{ for l in 0..16 {{
          C{0}[r * 64 + o * 16 + p] = C{0}[r * 64 + o * 16 + p]
              + i32(A{0}[r * 16 + l]) * i32(B{0}[o * 256 + p * 16 + l])
        }} }} }} }} }})",
                       number);
  }
  std::string store() const {
    return fmt::format("for l in 0..4096 {{ C[({1}) * 4096 + l] = C{0}[l] }}\n", number, tile);
  }
  const char* tile = number == 0 ? "t" : "t + 8";
};

// A product of 16 tiles by 256 inputs. The tiles are done one by one, or two side by side.
Function ProductInContexts(int contexts) {
  const Context a = {.number = 0}, b = {.number = contexts - 1};
  const auto both = [&](std::string (Context::*part)() const) {
    return contexts == 2 ? (a.*part)() + (b.*part)() : (a.*part)();
  };
  const StatusOr<Function> fn = ParseFunction(fmt::format(
      R"(
    fn f(A: i8[262144], B: i8[16384], C: i32[65536]) lowered {{
      alloc A0: i8[1024] local
      alloc B0: i8[1024] local
      alloc C0: i32[4096] local
      {}
      for t in 0..{} {{
        {}
        for k in 0..16 {{ {} {} }}
        {}
      }}
    }})",
      contexts == 1
          ? ""
          : "alloc A1: i8[1024] local; alloc B1: i8[1024] local; alloc C1: i32[4096] local",
      16 / contexts, both(&Context::reset), both(&Context::load), both(&Context::multiply),
      both(&Context::store)));
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

// A chip so small that random instructions meet: 32 activations, 4 blocks of weights, 32 sums.
const VdlaConfig kSmall = {
    .activation_bytes = 32 * 16, .weight_bytes = 4 * 256, .sum_bytes = 32 * 64, .queue_depth = 4};

VdlaInstruction RandomInstruction(Random& random, uint32_t micro_ops) {
  const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(random.Below(limit)); };
  if (random.OneIn(2)) {
    const uint32_t first = below(micro_ops);
    return {.work = VdlaGemm{.reset = random.OneIn(4),
                             .first = first,
                             .last = first + 1,
                             .loops = {1 + below(3), 1 + below(3)},
                             .steps = {{{below(4), 1}, {1, below(4)}, {0, below(2)}}}}};
  }
  const auto memory = static_cast<VdlaMemory>(below(kVdlaMemories));
  return {.work = VdlaCopy{.on_chip = memory,
                           .on_chip_at = below(32),
                           .buffer = memory == VdlaMemory::kSums ? 1u : 0u,
                           .size = {1 + below(3), 1 + below(3), 1}}};
}

VdlaProgram RandomProgram(Random& random) {
  VdlaProgram program = {.buffers = 2};
  const auto below = [&](uint64_t limit) { return static_cast<uint32_t>(random.Below(limit)); };
  for (int m = 0; m < 12; ++m) program.micro_ops.push_back({below(32), below(32), below(4)});
  while (program.instructions.size() < 40) {
    program.instructions.push_back(RandomInstruction(random, 12));
    if (!VerifyVdlaProgram(program, kSmall).ok()) program.instructions.pop_back();
  }
  return program;
}

}  // namespace

TEST_CASE("tokens order random instructions, and each flag is needed", "[codegen_vdla][tokens]") {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    VdlaProgram program = RandomProgram(random);
    VdlaProgram serial = program;
    AddTokens(program, kSmall);
    SerializeWithTokens(serial);
    CAPTURE(i);
    REQUIRE(TimeVdla(program, kSmall).ok());
    REQUIRE(TimeVdla(serial, kSmall).ok());
    for (VdlaInstruction& instruction : program.instructions) {
      for (bool VdlaTokens::* flag : {&VdlaTokens::pop_previous, &VdlaTokens::pop_next,
                                      &VdlaTokens::push_previous, &VdlaTokens::push_next}) {
        if (!(instruction.tokens.*flag)) continue;
        instruction.tokens.*flag = false;
        CHECK_FALSE(TimeVdla(program, kSmall).ok());
        instruction.tokens.*flag = true;
      }
    }
  }
}

TEST_CASE("every pair of tokens of a tiled product is needed but for those that others imply",
          "[codegen_vdla][tokens]") {
  for (const Function& lowered : {TiledProduct(), PaddedConv({})}) {
    VdlaProgram program = WithTokens(StreamWithoutTokens(lowered));
    int races = 0, pairs = 0;
    for (const Direction& direction : kDirections) {
      const std::vector<size_t> pushes = Holders(program, direction.from, direction.push);
      const std::vector<size_t> pops = Holders(program, direction.to, direction.pop);
      REQUIRE(pushes.size() == pops.size());
      for (size_t k = 0; k < pushes.size(); ++k) {
        CHECK(pushes[k] < pops[k]);
        bool& push = program.instructions[pushes[k]].tokens.*direction.push;
        bool& pop = program.instructions[pops[k]].tokens.*direction.pop;
        push = pop = false;
        const Status status = TimeVdla(program, {}).status();
        push = pop = true;
        ++pairs;
        if (status.ok()) continue;
        CHECK(status.code() == absl::StatusCode::kDataLoss);
        ++races;
      }
    }
    INFO(races << " races of " << pairs << " pairs");
    CHECK(pairs > 20);
    CHECK(races * 10 > pairs * 8);
  }
}

TEST_CASE("a token of vdla that is pushed early is a race", "[codegen_vdla][tokens]") {
  VdlaProgram program = WithTokens(StreamWithoutTokens(TiledProduct()));
  for (const Direction& direction : kDirections) {
    int races = 0, moved = 0;
    for (size_t push : Holders(program, direction.from, direction.push)) {
      size_t early = push;
      while (early > 0 &&
             (early == push || UnitOf(program.instructions[early]) != direction.from)) {
        --early;
      }
      VdlaTokens &late = program.instructions[push].tokens,
                 &at = program.instructions[early].tokens;
      if (UnitOf(program.instructions[early]) != direction.from || at.*direction.push) continue;
      ++moved;
      std::swap(late.*direction.push, at.*direction.push);
      races += TimeVdla(program, {}).status().code() == absl::StatusCode::kDataLoss ? 1 : 0;
      std::swap(late.*direction.push, at.*direction.push);
    }
    CAPTURE(direction.from, direction.to);
    // Every store tells compute that it has ended, so no earlier one can tell it instead.
    CHECK((races > 0) == (direction.from != VdlaUnit::kStore));
    CHECK((moved > 0) == (direction.from != VdlaUnit::kStore));
  }
}

TEST_CASE("two contexts of vdla hide the latency of memory", "[codegen_vdla][tokens]") {
  const VdlaProgram one = StreamWithoutTokens(ProductInContexts(1));
  const VdlaProgram two = StreamWithoutTokens(ProductInContexts(2));
  const VdlaCounts counts = CountsOf(WithTokens(two));
  const VdlaCounts alone = CountsOf(WithTokens(one));
  CHECK(counts.multiply_cycles == alone.multiply_cycles);
  CHECK(counts.loaded_bytes == alone.loaded_bytes + 2 * kVdlaMicroOpBytes);
  // One context multiplies while nothing else happens; with two, memory never waits for long.
  CHECK(alone.cycles > alone.multiply_cycles + alone.busy[0] + alone.busy[2]);
  CHECK(counts.cycles * 10 < alone.cycles * 8);
  CHECK(counts.cycles * 10 < (counts.busy[0] + counts.busy[2]) * 11);
  CHECK(CountsOf(Serial(two)).cycles * 10 > alone.cycles * 9);
}

TEST_CASE("tokens of dependences take fewer cycles than a serial program",
          "[codegen_vdla][tokens]") {
  for (const Function& lowered : {TiledProduct(), PaddedConv({})}) {
    const VdlaProgram program = StreamWithoutTokens(lowered);
    const VdlaCounts fast = CountsOf(WithTokens(program));
    const VdlaCounts serial = CountsOf(Serial(program));
    CHECK(fast.cycles < serial.cycles);
    CHECK(fast.multiply_cycles == serial.multiply_cycles);
    // Nothing runs beside anything else but for a load and a store, which share memory.
    CHECK(serial.busy[0] + serial.busy[1] + serial.busy[2] <= serial.cycles);
  }
}

}  // namespace tcc
