#pragma once

#include <array>
#include <cstdint>
#include <span>

// The machine code (SASS) of NVIDIA GPUs from sm_75 to sm_90a, as far as quality checks need it:
// instructions of 16 bytes, whose low 9 bits are the operation.
namespace tcc {

// The kinds of instructions, named after their mnemonics.
enum class SassKind : uint8_t {
  kFfma,     // float32 multiply-add
  kHmma,     // tensor cores
  kImma,     // the same on integers
  kHgmma,    // tensor cores, for a group of four warps (wgmma)
  kIgmma,    // the same on integers
  kLdg,      // loads from global memory
  kStg,      // stores to global memory
  kLdgsts,   // copies from global to shared memory
  kLds,      // loads from shared memory
  kSts,      // stores to shared memory
  kLdsm,     // loads of matrices from shared memory
  kLdl,      // loads from local memory: spills, arrays that are not in registers
  kStl,      // stores to local memory
  kBar,      // barriers
  kShfl,     // shuffles
  kF2f,      // conversions between floats
  kF2fp,     // conversions of two floats to a pair of narrower ones
  kAcqbulk,  // waits for the launch before (griddepcontrol.wait)
  kOther,
};
inline constexpr size_t kSassKinds = static_cast<size_t>(SassKind::kOther) + 1;

struct SassCounts {
  std::array<int64_t, kSassKinds> of_kind = {};
  // The number of kHmma and kHgmma instructions with operands of these types.
  int64_t of_bf16 = 0, of_tf32 = 0;
  int64_t total = 0;  // without the instructions that do nothing

  int64_t of(SassKind kind) const { return of_kind[static_cast<size_t>(kind)]; }
  int64_t OnFloats() const { return of(SassKind::kHmma) + of(SassKind::kHgmma); }
  int64_t OnIntegers() const { return of(SassKind::kImma) + of(SassKind::kIgmma); }
  int64_t OnTensorCores() const { return OnFloats() + OnIntegers(); }
};

struct SassFacts {
  SassCounts all;
  // The counts of the innermost loop with the most multiply-adds, where those of tensor cores weigh
  // more; the counts of all code where no loop has any.
  SassCounts main_loop;
  int64_t load_bytes_widest = 0;  // per thread, of one load or copy from global memory
  int64_t store_bytes_widest = 0;
  // Whether every thread waits for the launch before, ahead of every access to memory: there is one
  // kAcqbulk, and no access and no branch in front of it.
  bool waits = false;
};

// Returns the facts of one kernel's code. Bytes beyond the last whole instruction are ignored.
SassFacts FactsOf(std::span<const uint8_t> code, int sm);

}  // namespace tcc
