#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "support/vdla_config.h"

// The instruction set of VDLA, an accelerator of int8 products for a CPU. Three units with a queue
// each run side by side: load copies from memory to the chip, compute multiplies on the chip, store
// copies results back. Load and compute, compute and store are neighbours that
// exchange data and keep order by tokens. vdla_machine.h runs programs.
//
// A program means its instructions one after the other. Tokens must preserve that meaning.
namespace tcc {

// Bytes of a micro-op in memory: 11 + 11 + 7 bits number the vectors and blocks of the chip.
inline constexpr int64_t kVdlaMicroOpBytes = 4;

enum class VdlaUnit : uint8_t { kLoad, kCompute, kStore };
inline constexpr int kVdlaUnits = 3;  // of VdlaUnit

// The memories of the chip. Activations are vectors of 16 int8, sums are vectors of 16 int32, and
// weights are blocks of 16 (outputs) x 16 (inputs) int8. Their contents at the start are arbitrary.
enum class VdlaMemory : uint8_t { kActivations, kWeights, kSums };
inline constexpr int kVdlaMemories = 3;  // of VdlaMemory

// An instruction begins when each neighbour that it pops from has a token for it, which it takes,
// and pushes when it has ended. A token has no identity: four counters, two between each pair of
// neighbours. All are zero at the start and must be zero at the end.
struct VdlaTokens {
  bool pop_previous = false;   // wait for the unit before: load for compute, compute for store
  bool pop_next = false;       // wait for the unit behind
  bool push_previous = false;  // tell the unit before
  bool push_next = false;      // tell the unit behind
  bool operator==(const VdlaTokens&) const = default;
};

// An operation of the output stage on sums that a store writes. Integers are sums, or bytes once
// they are made; floats are f32, and each operation rounds to f32, but a product and the sum or
// difference behind it once.
enum class VdlaOutputOp : uint8_t {
  kAddInteger,       // the step's operand, by channel, to an integer; wraps around
  kSubtractInteger,  // the operand from an integer
  kToFloat,          // the nearest float of an integer
  kToInt8,           // a float toward zero, saturated; NaN becomes 0
  kToUint8,          // the same
  kRound,            // a float to the nearest integer, ties to even
  kAdd,              // a float and the step's operand; so are the rest
  kSubtract,         // the float less the operand
  kMultiply,
  kDivide,   // the float by the operand
  kMaximum,  // NaN if either is; so is the minimum
  kMinimum,
};
inline constexpr int kVdlaOutputOps = 12;  // of VdlaOutputOp

struct VdlaOutputStep {
  VdlaOutputOp op = VdlaOutputOp::kToFloat;
  // The second operand, where the op has one: a number, or the one of the element's channel in an
  // operand of the call, of f32 or int32.
  float number = 0;
  bool is_by_channel = false;
  uint32_t buffer = 0;
  bool operator==(const VdlaOutputStep&) const = default;
};

// Steps on the way of sums from the chip to memory, a vector a cycle. The results are bytes if the
// last step makes these, else words. A store fetches the operands of each block of 16 channels that
// it touches before its results leave.
struct VdlaOutput {
  uint32_t channels = 0;  // a multiple of 16
  std::vector<VdlaOutputStep> steps = {};
  bool operator==(const VdlaOutput&) const = default;
};

// The output of a copy that changes nothing.
inline constexpr uint32_t kVdlaNoOutput = ~uint32_t{0};

// Copies a box of vectors of 16 elements. Activations and weights are loaded, as int8; sums are
// stored, as int32, or as what an output stage makes of them.
struct VdlaCopy {
  VdlaMemory on_chip = VdlaMemory::kActivations;
  // The first vector on the chip; the box lies there without gaps. Vector v of the weights is row
  // v mod 16 of block v div 16.
  uint32_t on_chip_at = 0;
  // The operand of the call, and the element in it where the box begins.
  uint32_t buffer = 0;
  int64_t memory_at = 0;
  // Vectors along each dimension that are in memory, the innermost first. Vectors of a row are
  // neighbours, so that memory never moves fewer than 16 bytes at a time. The outer two may be 0:
  // the box is padding.
  std::array<uint32_t, 3> size = {1, 1, 1};
  // Elements of memory from one row to the next, and from one plane to the next.
  std::array<int64_t, 2> stride = {0, 0};
  // Rows of padding before and after the rows of each plane; such planes before and after all.
  // They are written to the chip without a read. A store has none.
  std::array<uint16_t, 4> pad = {0, 0, 0, 0};
  // The byte that a load pads with.
  int8_t fill = 0;
  // Make a load's elements, unsigned bytes, signed ones that are 128 less.
  bool flips = false;
  // The number of the program's output stage that a store uses, or kVdlaNoOutput, and the channel
  // that each row of the box begins at, a multiple of 16. The last channel is followed by the
  // first.
  uint32_t output = kVdlaNoOutput;
  uint32_t channel_at = 0;
  bool operator==(const VdlaCopy&) const = default;
};

// sums[sum][o] += activations[activation][i] * weights[weight][o][i] over all i, for all o; sums
// wrap around. Each field numbers a vector, `weight` a block.
struct VdlaMicroOp {
  uint32_t sum = 0, activation = 0, weight = 0;
  bool operator==(const VdlaMicroOp&) const = default;
};

// Runs micro-ops in two nested loops, the first is the outer one:
//
//   for i in 0..loops[0]  for j in 0..loops[1]  for m in first..last
//     micro_ops[m], with n += steps[n][0] * i + steps[n][1] * j for sum, activation and weight
struct VdlaGemm {
  // Write zeros to the sum instead of adding to it; activations and weights are not read.
  bool reset = false;
  uint32_t first = 0, last = 0;
  std::array<uint32_t, 2> loops = {1, 1};
  std::array<std::array<uint32_t, 2>, 3> steps = {};  // of the sum, the activation, the weight
  bool operator==(const VdlaGemm&) const = default;
};

struct VdlaInstruction {
  VdlaTokens tokens = {};
  std::variant<VdlaCopy, VdlaGemm> work = {};
  bool operator==(const VdlaInstruction&) const = default;
};

// The program of one kernel. Its micro-ops are loaded before the first instruction is fetched.
struct VdlaProgram {
  uint32_t buffers = 0;  // operands that a call passes
  std::vector<VdlaOutput> outputs = {};
  std::vector<VdlaMicroOp> micro_ops = {};
  std::vector<VdlaInstruction> instructions = {};
  bool operator==(const VdlaProgram&) const = default;
};

}  // namespace tcc
