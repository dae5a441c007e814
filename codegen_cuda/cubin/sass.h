#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

// Machine code of NVIDIA GPUs (SASS) of sm_75 to sm_90a, as far as quality checks need it:
// instructions of 16 bytes, whose low 9 bits are the operation.
namespace tcc {

enum class SassKind : uint8_t {
  kFfma,    // float32 multiply-add
  kHmma,    // tensor cores
  kImma,    // the same on integers
  kLdg,     // loads of global memory
  kStg,     // stores to it
  kLdgsts,  // copies from it to shared memory
  kLds,     // loads of shared memory
  kSts,     // stores to it
  kLdsm,    // loads of matrices from it
  kLdl,     // loads of local memory: spills, arrays that are not in registers
  kStl,     // stores to it
  kBar,     // barriers
  kShfl,    // shuffles
  kOther,
};
inline constexpr size_t kSassKinds = static_cast<size_t>(SassKind::kOther) + 1;

// The mnemonic of a kind, "FFMA"; "" for kOther.
std::string_view ToString(SassKind kind);

struct SassCounts {
  std::array<int64_t, kSassKinds> of_kind = {};
  // Of kHmma, by the type of their operands.
  int64_t of_bf16 = 0, of_tf32 = 0;
  int64_t total = 0;  // without those that do nothing

  int64_t of(SassKind kind) const { return of_kind[static_cast<size_t>(kind)]; }
};

struct SassFacts {
  SassCounts all;
  // Of the loop without loops inside that has the most multiply-adds, tensor cores' before others;
  // of all code where no loop has any.
  SassCounts main_loop;
  int64_t load_bytes_widest = 0;  // of one load or copy from global memory, a thread
  int64_t store_bytes_widest = 0;
};

// Of one kernel's code. Bytes beyond the last whole instruction are not looked at.
SassFacts FactsOf(std::span<const uint8_t> code, int sm);

}  // namespace tcc
