#include "runtime/vdla/vdla_program.h"

#include <catch2/catch.hpp>

namespace tcc {
namespace {

// A load, a GEMM, and a store with an output stage, with different values in all fields.
VdlaProgram Sample() {
  const VdlaCopy load = {.on_chip = VdlaMemory::kWeights,
                         .on_chip_at = 32,
                         .buffer = 1,
                         .memory_at = int64_t{1} << 40,
                         .size = {2, 3, 4},
                         .stride = {48, 4096},
                         .pad = {1, 2, 3, 4},
                         .fill = -9,
                         .flips = true};
  const VdlaGemm gemm = {.reset = false,
                         .first = 1,
                         .last = 3,
                         .loops = {5, 6},
                         .steps = {{{7, 8}, {9, 10}, {11, 12}}}};
  const VdlaCopy store = {
      .on_chip = VdlaMemory::kSums, .on_chip_at = 9, .buffer = 2, .memory_at = 48, .output = 0};
  const VdlaOutput output = {
      .channels = 32,
      .steps = {{.op = VdlaOutputOp::kToFloat},
                {.op = VdlaOutputOp::kMultiply, .number = 0.25f},
                {.op = VdlaOutputOp::kAdd, .is_by_channel = true, .buffer = 1},
                {.op = VdlaOutputOp::kToInt8}}};
  return {.buffers = 3,
          .outputs = {output},
          .micro_ops = {{.sum = 1, .activation = 2, .weight = 3}, {4, 5, 6}, {7, 8, 9}},
          .instructions = {
              {.tokens = {.pop_next = true}, .work = load},
              {.tokens = {.pop_previous = true, .push_previous = true}, .work = gemm},
              {.tokens = {.push_previous = true}, .work = store},
          }};
}

VdlaCopy& Copy(VdlaProgram& program, size_t instruction) {
  return std::get<VdlaCopy>(program.instructions[instruction].work);
}

VdlaOutputStep& Step(VdlaProgram& program, size_t step) {
  return program.outputs[0].steps[step];
}

VdlaGemm& Gemm(VdlaProgram& program) {
  return std::get<VdlaGemm>(program.instructions[1].work);
}

std::string Refusal(const VdlaProgram& program) {
  const Status status = VerifyVdlaProgram(program, VdlaConfig());
  CHECK((status.ok() || status.code() == absl::StatusCode::kInvalidArgument));
  return Message(status);
}

// The message of the verifier after a change to the sample.
template <typename Change>
std::string RefusalAfter(Change change) {
  VdlaProgram program = Sample();
  change(program);
  return Refusal(program);
}

std::string ParseRefusal(size_t byte, uint8_t value) {
  std::vector<uint8_t> bytes = VdlaProgramBytes(Sample());
  bytes[byte] = value;
  return Message(ParseVdlaProgram(bytes).status());
}

}  // namespace

TEST_CASE("a vdla program is read as it was written", "[runtime][vdla]") {
  VdlaProgram program = Sample();
  StatusOr<VdlaProgram> got = ParseVdlaProgram(VdlaProgramBytes(program));
  REQUIRE(got.ok());
  CHECK(*got == program);
  Gemm(program).reset = true;
  got = ParseVdlaProgram(VdlaProgramBytes(program));
  REQUIRE(got.ok());
  CHECK(*got == program);
  got = ParseVdlaProgram(VdlaProgramBytes({}));
  REQUIRE(got.ok());
  CHECK(*got == VdlaProgram());
}

TEST_CASE("a vdla program cut at any byte or with a byte more is refused", "[runtime][vdla]") {
  std::vector<uint8_t> bytes = VdlaProgramBytes(Sample());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(ParseVdlaProgram(std::span(bytes).first(size)).ok());
  }
  bytes.push_back(0);
  CHECK_FALSE(ParseVdlaProgram(bytes).ok());
}

TEST_CASE("a vdla program with an unknown kind, flag or memory is refused", "[runtime][vdla]") {
  // Buffers, the count of outputs; one of them: channels, the count and four steps of 10 bytes.
  constexpr size_t kStep = 4 + 4 + 4 + 4;
  CHECK(ParseRefusal(kStep, 12) == "vdla program has 12 before byte 17; expected at most 11");
  CHECK(ParseRefusal(kStep + 5, 2) == "vdla program has 2 before byte 22; expected at most 1");
  // The count and three micro-ops of 12 bytes, the count of instructions; then the first
  // instruction: kind, four tokens, memory, and after 44 bytes more the pads.
  constexpr size_t kInstruction = kStep + 4 * 10 + 4 + 3 * 12 + 4;
  CHECK(ParseRefusal(kInstruction, 2) == "vdla program has 2 before byte 101; expected at most 1");
  CHECK(ParseRefusal(kInstruction + 4, 3) ==
        "vdla program has 3 before byte 105; expected at most 1");
  CHECK(ParseRefusal(kInstruction + 5, 3) ==
        "vdla program has 3 before byte 106; expected at most 2");
  CHECK(ParseRefusal(kInstruction + 6 + 44 + 2, 1) ==
        "vdla program has 65537 before byte 154; expected at most 65535");
}

TEST_CASE("the vdla verifier accepts what just fits", "[runtime][vdla]") {
  CHECK(Refusal(Sample()).empty());
  // The box of the load has 2 x 6 x 11 = 132 of the 2048 vectors of the weights.
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).on_chip_at = 2048 - 132; }).empty());
  // Sums end at 7 + 4 * 7 + 5 * 8 = 75, weights at 9 + 4 * 11 + 5 * 12 = 113.
  CHECK(RefusalAfter([](VdlaProgram& p) { p.micro_ops[2].sum += 2047 - 75; }).empty());
  CHECK(RefusalAfter([](VdlaProgram& p) { p.micro_ops[2].weight += 127 - 113; }).empty());
  // A load of nothing but zeros.
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).size = {1, 0, 0}; }).empty());
}

TEST_CASE("the vdla verifier names the instruction with a token of no neighbour",
          "[runtime][vdla]") {
  const std::string load =
      "instruction 0 (load): tokens: pop or push previous; load has no unit before it";
  const std::string store =
      "instruction 2 (store): tokens: pop or push next; store has no unit behind it";
  const auto flag = [](size_t instruction, bool VdlaTokens::* field) {
    return RefusalAfter([&](VdlaProgram& p) { p.instructions[instruction].tokens.*field = true; });
  };
  CHECK(flag(0, &VdlaTokens::pop_previous) == load);
  CHECK(flag(0, &VdlaTokens::push_previous) == load);
  CHECK(flag(2, &VdlaTokens::pop_next) == store);
  CHECK(flag(2, &VdlaTokens::push_next) == store);
}

TEST_CASE("the vdla verifier names the field of a copy that is wrong", "[runtime][vdla]") {
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).buffer = 3; }) ==
        "instruction 0 (load): buffer: 3; the program has 3 buffers");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).buffer = 1; }) ==
        "instruction 2 (store): buffer: 1 is loaded and stored; expected one of both");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).on_chip_at = 2048 - 131; }) ==
        "instruction 0 (load): on_chip_at: 132 vectors at 1917 of the weights; there are 2048");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).on_chip_at = 0xffffffff; }) ==
        "instruction 2 (store): on_chip_at: 1 vectors at 4294967295 of the sums; there are 2048");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).size[0] = 0; }) ==
        "instruction 0 (load): size: a box of 11 x 6 x 0 vectors; expected 1 to 2048, which are "
        "all weights");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).size = {0xffffffff, 0xffffffff, 1}; }) ==
        "instruction 0 (load): size: a box of 8 x 4294967298 x 4294967295 vectors; expected 1 to "
        "2048, which are all weights");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).size[1] = 0; }).find("size: a box of 1 x 0") !=
        std::string::npos);
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).pad[3] = 1; }) ==
        "instruction 2 (store): pad: a store has none");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).memory_at = -1; }) ==
        "instruction 2 (store): memory_at: -1; expected 0 to 281474976710656");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).stride[1] = INT64_MAX; }) ==
        "instruction 2 (store): stride: 9223372036854775807; expected 0 to 281474976710656");
}

TEST_CASE("the vdla verifier names what is wrong with an output stage", "[runtime][vdla]") {
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).output = 1; }) ==
        "instruction 2 (store): output: 1; the program has 1");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 0).output = 0; }) ==
        "instruction 0 (load): output: 0; a load has none");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).channel_at = 8; }) ==
        "instruction 2 (store): channel_at: 8; expected a multiple of 16 below 32");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).channel_at = 32; }) ==
        "instruction 2 (store): channel_at: 32; expected a multiple of 16 below 32");
  CHECK(RefusalAfter([](VdlaProgram& p) { p.outputs[0].channels = 0; }) ==
        "output 0: 0 channels; expected a multiple of 16");
  CHECK(RefusalAfter([](VdlaProgram& p) { p.outputs[0].channels = 40; }) ==
        "output 0: 40 channels; expected a multiple of 16");
  CHECK(RefusalAfter([](VdlaProgram& p) { Step(p, 2).buffer = 3; }) ==
        "output 0: step 2: buffer 3; the program has 3 buffers");
  CHECK(RefusalAfter([](VdlaProgram& p) { Step(p, 0).op = VdlaOutputOp::kRound; }) ==
        "output 0: step 0: round of an integer");
  CHECK(RefusalAfter([](VdlaProgram& p) { Step(p, 1).op = VdlaOutputOp::kToFloat; }) ==
        "output 0: step 1: to_float of a float");
  CHECK(RefusalAfter([](VdlaProgram& p) { Step(p, 3).is_by_channel = true; }) ==
        "output 0: step 3: to_int8 has no operand by channel");
  CHECK(RefusalAfter([](VdlaProgram& p) { p.outputs[0].steps.pop_back(); }) ==
        "output 0: the last step makes a float; expected an integer");
  CHECK(RefusalAfter([](VdlaProgram& p) { Step(p, 0).op = VdlaOutputOp::kAddInteger; }) ==
        "output 0: step 0: add_integer needs an operand by channel");
  CHECK(RefusalAfter([](VdlaProgram& p) { Copy(p, 2).fill = 1; }) ==
        "instruction 2 (store): fill, flips: a store has none");
  CHECK(RefusalAfter([](VdlaProgram& p) { p.outputs[0].steps.resize(33); }) ==
        "output 0: 33 steps; expected at most 32");
  CHECK(RefusalAfter([](VdlaProgram& p) { Step(p, 2).buffer = 2; }) ==
        "instruction 2 (store): buffer: 2 is loaded and stored; expected one of both");
  CHECK(RefusalAfter([](VdlaProgram& p) {
          p.instructions.push_back(p.instructions[2]);
          Copy(p, 3).output = kVdlaNoOutput;
        }) == "instruction 3 (store): buffer: 2 is stored as elements of 1 and of 4 bytes");
}

TEST_CASE("the vdla verifier names the field of a GEMM that is wrong", "[runtime][vdla]") {
  CHECK(RefusalAfter([](VdlaProgram& p) { Gemm(p).last = 4; }) ==
        "instruction 1 (compute): first, last: 1, 4; the program has 3 micro-ops");
  CHECK(RefusalAfter([](VdlaProgram& p) { Gemm(p).first = 3; }) ==
        "instruction 1 (compute): first, last: 3, 3; the program has 3 micro-ops");
  CHECK(RefusalAfter([](VdlaProgram& p) { Gemm(p).loops[1] = 0; }) ==
        "instruction 1 (compute): loops: 0; expected 1 to 16384");
  CHECK(RefusalAfter([](VdlaProgram& p) { Gemm(p).loops[0] = 16385; }) ==
        "instruction 1 (compute): loops: 16385; expected 1 to 16384");
  CHECK(RefusalAfter([](VdlaProgram& p) { p.micro_ops[1].sum = 2048 - 68; }) ==
        "instruction 1 (compute): sum: the last is number 2048; there are 2048");
  CHECK(RefusalAfter([](VdlaProgram& p) { Gemm(p).steps[1][0] = 0xffffffff; }) ==
        "instruction 1 (compute): activation: the last is number 17179869238; there are 2048");
  CHECK(RefusalAfter([](VdlaProgram& p) { p.micro_ops[2].weight = 24; }) ==
        "instruction 1 (compute): weight: the last is number 128; there are 128");
  CHECK(RefusalAfter([](VdlaProgram& p) {
          p.micro_ops[2].weight = 24;
          Gemm(p).reset = true;
        }).empty());
}

TEST_CASE("the vdla verifier refuses more micro-ops than the chip has room for",
          "[runtime][vdla]") {
  CHECK(RefusalAfter([](VdlaProgram& p) { p.micro_ops.resize(8192); }).empty());
  CHECK(RefusalAfter([](VdlaProgram& p) { p.micro_ops.resize(8193); }) ==
        "vdla program has 8193 micro-ops; the machine has room for 8192");
}

}  // namespace tcc
