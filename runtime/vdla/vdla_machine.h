#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/vdla/vdla_isa.h"
#include "support/status.h"

// The simulator of VDLA, which defines its timing.
//
//   fetch    One instruction a cycle in program order, from when the micro-ops are on the chip. It
//            enters the queue of its unit; a full queue stops the fetch until its head begins.
//   begin    When the unit's instruction before has ended, it is fetched and its tokens are there.
//   copy     memory_latency + bytes / bytes_per_cycle cycles, rounded up; zeros cost nothing, and
//            what the output stage reads counts. The stage itself keeps up with memory.
//            Memory serves one copy at a time, in order of their begins, load before store.
//   GEMM     issue_cycles + 1 a micro-op.
//   end      Data move, then tokens are pushed. A token pushed in a cycle can be popped in it.
//
// Two instructions of different units race if they share a vector that one of them writes, unless
// units and tokens order them as the program does. A race is found whatever the timing.
namespace tcc {

struct VdlaCounts {
  int64_t cycles = 0;
  // Products of 16 x 16; cycles in which the multipliers work.
  int64_t multiply_cycles = 0;
  int64_t loaded_bytes = 0;  // with the micro-ops, and what output stages read
  int64_t stored_bytes = 0;
  // By unit: cycles in which it works, and cycles before its last instruction in which it waits for
  // instructions, tokens or memory.
  std::array<int64_t, kVdlaUnits> busy = {};
  std::array<int64_t, kVdlaUnits> waiting = {};
  bool operator==(const VdlaCounts&) const = default;
};

// Runs a program on operands. Elements take 4 bytes in an operand that sums or an output stage's
// operands lie in, else 1. With a seed, each instruction lasts 1 to 8 times its cycles, at random:
// a right program gives the same bytes. InvalidArgument: VerifyVdlaProgram refuses it, or a copy
// lies outside its operand; nothing is written. DataLoss: a race. FailedPrecondition: a deadlock,
// or tokens left over.
StatusOr<VdlaCounts> RunVdla(const VdlaProgram& program, const VdlaConfig& config,
                             std::span<const std::span<uint8_t>> operands,
                             std::optional<uint64_t> delays = std::nullopt);

// Returns the counts of RunVdla without delays; needs no data. The same errors but for operands.
StatusOr<VdlaCounts> TimeVdla(const VdlaProgram& program, const VdlaConfig& config);

}  // namespace tcc
