#include "runtime/vdla/vdla_output.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/runtime/vdla_runs.h"

namespace tcc {
namespace {

using Op = VdlaOutputOp;

// Returns the first byte that the steps make of a sum.
int ByteOf(const std::vector<VdlaOutputStep>& steps, int32_t sum) {
  const VdlaOutput output = {.channels = 16, .steps = steps};
  CHECK(VerifyOutput(output, 0).ok());
  CHECK(MakesBytes(output));
  VdlaSums sums = {};
  sums[0] = sum;
  RunOutput(output, 0, {}, sums);
  return sums[0];
}

int WithNumber(Op op, float number, int32_t sum) {
  return ByteOf({{.op = Op::kToFloat}, {.op = op, .number = number}, {.op = Op::kToInt8}}, sum);
}

Bytes FloatBytes(const std::vector<float>& floats) {
  Bytes bytes(floats.size() * sizeof(float));
  std::memcpy(bytes.data(), floats.data(), bytes.size());
  return bytes;
}

// Multiplies sums by a number of their channel, rounds them, and makes bytes.
VdlaOutput Scaled(uint32_t channels, uint32_t buffer) {
  return {.channels = channels,
          .steps = {{.op = Op::kToFloat},
                    {.op = Op::kMultiply, .is_by_channel = true, .buffer = buffer},
                    {.op = Op::kRound},
                    {.op = Op::kToInt8}}};
}

}  // namespace

TEST_CASE("each step of a vdla output stage does what it is named for", "[runtime][vdla]") {
  CHECK(WithNumber(Op::kAdd, 5, 7) == 12);
  CHECK(WithNumber(Op::kSubtract, 5, 7) == 2);
  CHECK(WithNumber(Op::kMultiply, 5, 7) == 35);
  CHECK(WithNumber(Op::kDivide, 5, 42) == 8);
  CHECK(WithNumber(Op::kMaximum, 5, 7) == 7);
  CHECK(WithNumber(Op::kMaximum, 9, 7) == 9);
  CHECK(WithNumber(Op::kMinimum, 5, 7) == 5);
  CHECK(WithNumber(Op::kMinimum, 9, 7) == 7);
}

TEST_CASE("vdla makes bytes that saturate, and of NaN 0", "[runtime][vdla]") {
  CHECK(WithNumber(Op::kAdd, 0, 1000) == 127);
  CHECK(WithNumber(Op::kAdd, 0, INT32_MIN) == -128);
  CHECK(WithNumber(Op::kAdd, 0.9f, -128) == -127);
  CHECK(WithNumber(Op::kMultiply, std::numeric_limits<float>::quiet_NaN(), 3) == 0);
  CHECK(WithNumber(Op::kMaximum, std::numeric_limits<float>::quiet_NaN(), 3) == 0);
  CHECK(WithNumber(Op::kMultiply, std::numeric_limits<float>::infinity(), 3) == 127);
  const std::vector<VdlaOutputStep> to_unsigned = {{.op = Op::kToFloat}, {.op = Op::kToUint8}};
  CHECK(ByteOf(to_unsigned, 200) == 200);
  CHECK(ByteOf(to_unsigned, 300) == 255);
  CHECK(ByteOf(to_unsigned, -3) == 0);
}

TEST_CASE("vdla rounds a product and the sum behind it once", "[runtime][vdla]") {
  // (2^12 + 1)^2 is 2^24 + 2^13 + 1, the last bit of which f32 has no room for.
  const auto left = [](std::vector<VdlaOutputStep> between) {
    std::vector<VdlaOutputStep> steps = {{.op = Op::kToFloat},
                                         {.op = Op::kMultiply, .number = 4097}};
    steps.insert(steps.end(), between.begin(), between.end());
    steps.push_back({.op = Op::kToInt8});
    return ByteOf(steps, 4097);
  };
  CHECK(left({{.op = Op::kSubtract, .number = 16785408}}) == 1);
  CHECK(left({{.op = Op::kAdd, .number = -16785408}}) == 1);
  CHECK(left({{.op = Op::kRound}, {.op = Op::kAdd, .number = -16785408}}) == 0);
}

TEST_CASE("vdla rounds halves to even, and bytes may be floats again", "[runtime][vdla]") {
  const auto halves = [](int32_t sum) {
    return ByteOf({{.op = Op::kToFloat},
                   {.op = Op::kMultiply, .number = 0.5f},
                   {.op = Op::kRound},
                   {.op = Op::kToInt8},
                   {.op = Op::kToFloat},
                   {.op = Op::kMaximum, .number = 0},
                   {.op = Op::kToInt8}},
                  sum);
  };
  CHECK(halves(5) == 2);
  CHECK(halves(7) == 4);
  CHECK(halves(-7) == 0);
  CHECK(halves(600) == 127);
}

TEST_CASE("a vdla store narrows by the numbers of its channels", "[runtime][vdla]") {
  // The sums of 3 x 32 channels are reset to 0 and then 16 * 2 * 3 = 96. The last row is left out.
  const VdlaProgram program = {
      .buffers = 4,
      .outputs = {Scaled(32, 3)},
      .micro_ops = {{}},
      .instructions = {
          {.work = VdlaCopy{.buffer = 0}},
          {.tokens = {.push_next = true},
           .work = VdlaCopy{.on_chip = VdlaMemory::kWeights, .buffer = 1, .size = {16, 1, 1}}},
          {.work = VdlaGemm{.reset = true, .last = 1, .loops = {1, 6}, .steps = {{{0, 1}}}}},
          {.tokens = {.pop_previous = true, .push_next = true},
           .work = VdlaGemm{.last = 1, .loops = {1, 6}, .steps = {{{0, 1}}}}},
          {.tokens = {.pop_previous = true},
           .work = VdlaCopy{.on_chip = VdlaMemory::kSums,
                            .buffer = 2,
                            .memory_at = 32,
                            .size = {2, 2, 1},
                            .stride = {64, 0},
                            .output = 0}},
      }};
  std::vector<float> scales(32);
  for (size_t c = 0; c < scales.size(); ++c) scales[c] = static_cast<float>(c) / 32;
  std::vector<Bytes> buffers = {Bytes(16, 2), Bytes(256, 3), Bytes(160, 0xee), FloatBytes(scales)};
  const StatusOr<VdlaCounts> counts = RunAlways(program, VdlaConfig(), buffers);
  INFO(counts.status());
  REQUIRE(counts.ok());
  for (size_t i = 0; i < buffers[2].size(); ++i) {
    const bool is_written = (i >= 32 && i < 64) || (i >= 96 && i < 128);
    CHECK(buffers[2][i] == (is_written ? 3 * (i % 32) : 0xee));
  }
  // Two rows of 32 bytes, and a float for each of 32 channels.
  CHECK(counts->stored_bytes == 64);
  CHECK(counts->loaded_bytes == 4 + 16 + 256 + 128);
  CHECK(counts->busy[2] == 50 + (64 + 128) / 8);
  CHECK(*counts == *TimeVdla(program, VdlaConfig()));
}

TEST_CASE("vdla adds integers of channels, which wrap around", "[runtime][vdla]") {
  const VdlaOutput output = {
      .channels = 16,
      .steps = {{.op = Op::kAddInteger, .is_by_channel = true, .buffer = 0},
                {.op = Op::kSubtractInteger, .is_by_channel = true, .buffer = 1}}};
  CHECK(VerifyOutput(output, 2).ok());
  CHECK_FALSE(MakesBytes(output));
  std::vector<Bytes> buffers = {Bytes(64, 0xff), Bytes(64, 0)};  // -1 and 0
  buffers[1][4] = 3;
  const std::vector<std::span<uint8_t>> operands(buffers.begin(), buffers.end());
  VdlaSums sums = {INT32_MIN, 10};
  RunOutput(output, 0, operands, sums);
  CHECK(sums[0] == INT32_MAX);
  CHECK(sums[1] == 6);
}

TEST_CASE("vdla loads flip signs and fill the padding", "[runtime][vdla]") {
  // Activations 128 .. 143 become 0 .. 15; a vector of padding is 7. Weights are ones.
  const VdlaProgram program = {
      .buffers = 3,
      .micro_ops = {{}, {.sum = 1, .activation = 1}},
      .instructions = {
          {.work = VdlaCopy{.pad = {0, 1, 0, 0}, .fill = 7, .flips = true}},
          {.tokens = {.push_next = true},
           .work = VdlaCopy{.on_chip = VdlaMemory::kWeights, .buffer = 1, .size = {16, 1, 1}}},
          {.work = VdlaGemm{.reset = true, .last = 2}},
          {.tokens = {.pop_previous = true, .push_next = true}, .work = VdlaGemm{.last = 2}},
          {.tokens = {.pop_previous = true},
           .work = VdlaCopy{.on_chip = VdlaMemory::kSums, .buffer = 2, .size = {2, 1, 1}}},
      }};
  std::vector<Bytes> buffers = {Bytes(16), Bytes(256, 1), Bytes(128)};
  for (size_t i = 0; i < 16; ++i) buffers[0][i] = static_cast<uint8_t>(128 + i);
  const Status status = RunAlways(program, VdlaConfig(), buffers).status();
  INFO(status);
  REQUIRE(status.ok());
  CHECK(buffers[2][0] == 120);
  CHECK(buffers[2][64] == 16 * 7);
}

TEST_CASE("rows of a vdla store begin at the channel that it names", "[runtime][vdla]") {
  // Sums that are 0 become the number of their channel: two rows of 48 channels, 56 elements apart.
  const VdlaProgram program = {
      .buffers = 2,
      .outputs = {{.channels = 64,
                   .steps = {{.op = Op::kAddInteger, .is_by_channel = true, .buffer = 1}}}},
      .micro_ops = {{}},
      .instructions = {
          {.tokens = {.push_next = true},
           .work = VdlaGemm{.reset = true, .last = 1, .loops = {1, 6}, .steps = {{{0, 1}}}}},
          {.tokens = {.pop_previous = true},
           .work = VdlaCopy{.on_chip = VdlaMemory::kSums,
                            .buffer = 0,
                            .memory_at = 3,
                            .size = {3, 2, 1},
                            .stride = {56, 0},
                            .output = 0,
                            .channel_at = 32}},
      }};
  std::vector<int32_t> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<Bytes> buffers = {Bytes(4 * 120), Bytes(256)};
  std::memcpy(buffers[1].data(), numbers.data(), 256);
  const StatusOr<VdlaCounts> counts = RunAlways(program, VdlaConfig(), buffers);
  INFO(counts.status());
  REQUIRE(counts.ok());
  std::vector<int32_t> got(120);
  std::memcpy(got.data(), buffers[0].data(), buffers[0].size());
  for (int64_t row : {0, 1}) {
    for (int64_t i = 0; i < 48; ++i) CHECK(got[3 + row * 56 + i] == (32 + i) % 64);
  }
  CHECK(counts->loaded_bytes == 4 + 3 * 64);
}

TEST_CASE("a vdla output stage needs a number for every channel", "[runtime][vdla]") {
  const VdlaProgram program = {
      .buffers = 2,
      .outputs = {Scaled(32, 1)},
      .micro_ops = {},
      .instructions = {{.work = VdlaCopy{.on_chip = VdlaMemory::kSums, .output = 0}}}};
  std::vector<Bytes> buffers = {Bytes(16), Bytes(127)};
  CHECK(Message(RunAlways(program, VdlaConfig(), buffers).status()) ==
        "an output stage reads numbers of 32 channels from buffer 1; it has 127 bytes");
  buffers[1].resize(128);
  CHECK(RunAlways(program, VdlaConfig(), buffers).ok());
}

}  // namespace tcc
