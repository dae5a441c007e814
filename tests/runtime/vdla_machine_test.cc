#include "runtime/vdla/vdla_machine.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/runtime/vdla_runs.h"

namespace tcc {
namespace {

std::string TimeError(const VdlaProgram& program, const VdlaConfig& config = {}) {
  return Message(TimeVdla(program, config).status());
}

// sums[0] = weights[0] * activations[0]: buffers are 16 activations, 16 x 16 weights, 16 sums.
VdlaProgram Product() {
  return {.buffers = 3,
          .micro_ops = {{}},
          .instructions = {
              {.work = VdlaCopy{.buffer = 0}},
              {.tokens = {.push_next = true},
               .work = VdlaCopy{.on_chip = VdlaMemory::kWeights, .buffer = 1, .size = {16, 1, 1}}},
              {.work = VdlaGemm{.reset = true, .last = 1}},
              {.tokens = {.pop_previous = true, .push_next = true}, .work = VdlaGemm{.last = 1}},
              {.tokens = {.pop_previous = true},
               .work = VdlaCopy{.on_chip = VdlaMemory::kSums, .buffer = 2}},
          }};
}

}  // namespace

TEST_CASE("vdla multiplies a matrix of 16 x 16 by a vector", "[runtime][vdla]") {
  std::vector<Bytes> buffers = {Bytes(16), Bytes(256), Bytes(64)};
  const auto activation = [](int i) { return 8 * i - 128; };
  const auto weight = [](int o, int i) { return (o * 31 + i * 17) % 256 - 128; };
  for (int i = 0; i < 16; ++i) {
    buffers[0][i] = static_cast<uint8_t>(activation(i));
    for (int o = 0; o < 16; ++o) buffers[1][o * 16 + i] = static_cast<uint8_t>(weight(o, i));
  }
  const StatusOr<VdlaCounts> counts = RunAlways(Product(), VdlaConfig(), buffers);
  REQUIRE(counts.ok());
  CHECK(*counts == *TimeVdla(Product(), VdlaConfig()));
  std::array<int32_t, 16> got;
  std::memcpy(got.data(), buffers[2].data(), sizeof(got));
  for (int o = 0; o < 16; ++o) {
    int32_t want = 0;
    for (int i = 0; i < 16; ++i) want += activation(i) * weight(o, i);
    CHECK(got[o] == want);
  }
}

TEST_CASE("vdla sums wrap around", "[runtime][vdla]") {
  // 2^13 times 16 * 128 * 128 is 2^31.
  VdlaProgram program = Product();
  std::get<VdlaGemm>(program.instructions[3].work).loops = {64, 128};
  std::vector<Bytes> buffers = {Bytes(16, 0x80), Bytes(256, 0x80), Bytes(64)};
  REQUIRE(RunAlways(program, VdlaConfig(), buffers).ok());
  int32_t sum = 0;
  std::memcpy(&sum, buffers[2].data(), sizeof(sum));
  CHECK(sum == INT32_MIN);
}

TEST_CASE("the cycles of a vdla product are counted exactly", "[runtime][vdla]") {
  // Micro-ops: 4 bytes, 50 + 1 cycles. Instruction i is fetched at 51 + i.
  // load     0: 51, 16 bytes in 50 + 2      -> 103   1: 256 bytes in 50 + 32 -> 185
  // compute  2: fetched at 53, 12 + 1       -> 66    3: token at 185, 12 + 1 -> 198
  // store    4: token at 198, 64 bytes in 50 + 8     -> 256
  const StatusOr<VdlaCounts> counts = TimeVdla(Product(), VdlaConfig());
  REQUIRE(counts.ok());
  CHECK(*counts == VdlaCounts{.cycles = 256,
                              .multiply_cycles = 1,
                              .loaded_bytes = 4 + 16 + 256,
                              .stored_bytes = 64,
                              .busy = {52 + 82, 13 + 13, 58},
                              .waiting = {51, 53 + (185 - 66), 198}});
}

TEST_CASE("vdla units run side by side and share one memory port", "[runtime][vdla]") {
  const VdlaGemm half = {.last = 1, .loops = {2, 64}, .steps = {{{64, 1}, {64, 1}, {}}}};
  VdlaGemm other_half = half;
  other_half.first = 1;
  other_half.last = 2;
  const VdlaCopy load = {.size = {32, 4, 1}, .stride = {512, 0}};
  VdlaCopy next_load = load;
  next_load.on_chip_at = 128;
  next_load.memory_at = 2048;
  const VdlaCopy store = {.on_chip = VdlaMemory::kSums, .buffer = 1, .size = {128, 1, 1}};
  VdlaCopy next_store = store;
  next_store.on_chip_at = 128;
  const VdlaProgram program = {
      .buffers = 2,
      .micro_ops = {{}, {.sum = 128, .activation = 128}},
      .instructions = {
          {.tokens = {.push_next = true}, .work = load},
          {.tokens = {.push_next = true}, .work = next_load},
          {.tokens = {.pop_previous = true, .push_next = true}, .work = half},
          {.tokens = {.pop_previous = true, .push_next = true}, .work = other_half},
          {.tokens = {.pop_previous = true}, .work = store},
          {.tokens = {.pop_previous = true}, .work = next_store},
      }};
  // Micro-ops: 8 bytes, 50 + 1 cycles.
  // load     0: 51, 2048 bytes in 50 + 256 = 306    -> 357    1: -> 663
  // compute  2: token at 357, 12 + 128              -> 497    3: token at 663 -> 803
  // store    4: token at 497, memory is free at 663, 8192 bytes in 50 + 1024 -> 1737   5: -> 2811
  const StatusOr<VdlaCounts> counts = TimeVdla(program, VdlaConfig());
  REQUIRE(counts.ok());
  CHECK(*counts == VdlaCounts{.cycles = 2811,
                              .multiply_cycles = 256,
                              .loaded_bytes = 8 + 2 * 2048,
                              .stored_bytes = 2 * 8192,
                              .busy = {2 * 306, 2 * 140, 2 * 1074},
                              .waiting = {51, 357 + (663 - 497), 663}});
}

TEST_CASE("a full vdla queue stops the fetch, and zeros take no time", "[runtime][vdla]") {
  const VdlaProgram program = {.buffers = 1,
                               .micro_ops = {{}},
                               .instructions = {
                                   {.work = VdlaCopy{.size = {1, 0, 0}, .pad = {2, 2, 1, 1}}},
                                   {.work = VdlaCopy{.pad = {1, 1, 1, 1}}},
                                   {.work = VdlaCopy{.size = {1, 2, 1}, .stride = {16, 0}}},
                                   {.work = VdlaGemm{.reset = true, .last = 1}},
                               }};
  // load     0: 51, 50 -> 101    1: 16 bytes, 50 + 2 -> 153    2: 32 bytes, 50 + 4 -> 207
  // compute  3: fetched at 54, 12 + 1 -> 67
  VdlaCounts want = {.cycles = 207,
                     .loaded_bytes = 4 + 16 + 32,
                     .busy = {50 + 52 + 54, 13, 0},
                     .waiting = {51, 54, 0}};
  CHECK(*TimeVdla(program, VdlaConfig()) == want);
  // With room for one: 1 is fetched at 52, 2 when 1 begins at 101, 3 at 102.
  want.waiting[1] = 102;
  CHECK(*TimeVdla(program, VdlaConfig{.queue_depth = 1}) == want);
  CHECK(*TimeVdla({}, VdlaConfig()) == VdlaCounts());
}

TEST_CASE("a dropped vdla token gives a race that names both instructions", "[runtime][vdla]") {
  VdlaProgram program = Product();
  program.instructions[1].tokens.push_next = program.instructions[3].tokens.pop_previous = false;
  CHECK(TimeVdla(program, VdlaConfig()).status().code() == absl::StatusCode::kDataLoss);
  CHECK(TimeError(program) ==
        "vdla race: instruction 3 (compute) reads number 0 of the activations, which is written by "
        "instruction 0 (load); no tokens order the two");
  std::vector<Bytes> buffers = {Bytes(16), Bytes(256), Bytes(64)};
  CHECK(Message(RunAlways(program, VdlaConfig(), buffers).status()) == TimeError(program));

  program = Product();
  program.instructions[3].tokens.push_next = program.instructions[4].tokens.pop_previous = false;
  CHECK(TimeError(program) ==
        "vdla race: instruction 4 (store) reads number 0 of the sums, which is written by "
        "instruction 2 (compute); no tokens order the two");

  // The reset is over before the store begins, but nothing says so.
  program.instructions = {Product().instructions[2], Product().instructions[4]};
  program.instructions[1].tokens = {};
  CHECK(TimeError(program, VdlaConfig{.issue_cycles = 0}) ==
        "vdla race: instruction 1 (store) reads number 0 of the sums, which is written by "
        "instruction 0 (compute); no tokens order the two");

  // The GEMM is over before the load of its weights begins.
  program.instructions = {
      Product().instructions[0], Product().instructions[1], {.work = VdlaGemm{.last = 1}}};
  program.instructions[1].tokens = {};
  std::get<VdlaCopy>(program.instructions[0].work).on_chip_at = 1;
  CHECK(TimeError(program) ==
        "vdla race: instruction 1 (load) writes number 0 of the weights after it was read by "
        "instruction 2 (compute), which comes later in the program");
}

TEST_CASE("a swapped vdla token gives a deadlock that names the heads", "[runtime][vdla]") {
  VdlaProgram program = Product();
  program.instructions[3].tokens = {.pop_next = true, .push_next = true};
  CHECK(TimeVdla(program, VdlaConfig()).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(TimeError(program) ==
        "vdla deadlock: load has ended; compute waits at instruction 3 for a token from store; "
        "store waits at instruction 4 for a token from compute");

  // The first load waits for a reset behind two loads: a queue of one never gets there.
  program.instructions = {
      {.tokens = {.pop_next = true}, .work = VdlaCopy()},
      {.work = VdlaCopy()},
      {.tokens = {.push_previous = true}, .work = VdlaGemm{.reset = true, .last = 1}}};
  CHECK(TimeVdla(program, VdlaConfig()).ok());
  CHECK(TimeError(program, VdlaConfig{.queue_depth = 1}) ==
        "vdla deadlock: load waits at instruction 0 for a token from compute; compute waits for "
        "the fetch of instruction 2; store has ended");
}

TEST_CASE("vdla tokens left over are an error", "[runtime][vdla]") {
  VdlaProgram program = Product();
  program.instructions[3].tokens.push_previous = true;
  CHECK(TimeVdla(program, VdlaConfig()).status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(TimeError(program) == "vdla tokens left over: 1 from compute to load");
  program = Product();
  program.instructions[4].tokens.push_previous = true;
  CHECK(TimeError(program) == "vdla tokens left over: 1 from store to compute");
}

TEST_CASE("a vdla copy outside of its operand is refused before anything is written",
          "[runtime][vdla]") {
  std::vector<Bytes> buffers = {Bytes(16), Bytes(256), Bytes(63, 7)};
  CHECK(Message(RunAlways(Product(), VdlaConfig(), buffers).status()) ==
        "instruction 4 (store) accesses buffer 2 up to byte 64; it has 63");
  CHECK(buffers[2] == Bytes(63, 7));
  VdlaProgram program = Product();
  auto& load = std::get<VdlaCopy>(program.instructions[1].work);
  load.size = {1, 8, 2};
  load.stride = {16, 129};
  buffers = {Bytes(16), Bytes(256), Bytes(64)};
  CHECK(Message(RunAlways(program, VdlaConfig(), buffers).status()) ==
        "instruction 1 (load) accesses buffer 1 up to byte 257; it has 256");
  buffers.pop_back();
  CHECK(Message(RunAlways(Product(), VdlaConfig(), buffers).status()) ==
        "a vdla program of 3 buffers is given 2 operands");
  program.instructions[0].tokens.pop_previous = true;
  CHECK(TimeError(program).starts_with("instruction 0 (load): tokens"));
}

}  // namespace tcc
