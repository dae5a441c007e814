#pragma once

#include <cstdint>
#include <vector>

#include "codegen_llvm/kernel_state.h"

namespace tcc {

// The term coefficient * popcount(word) of a sum in i32. The word may be a vector of them.
struct CountedWord {
  llvm::Value* word = nullptr;
  int64_t coefficient = 1;
};

// Returns whether the machine has vpopcntd and vpopcntb for vectors of all its sizes, and whether
// it has pshufb, by which the bits of bytes are counted.
bool CountsBitsOfWords(const llvm::TargetMachine& machine);
bool CountsBitsOfBytes(const llvm::TargetMachine& machine);

// Returns whether such a sum over `lanes` words takes fewer instructions by EmitSumOfPopcounts than
// by a popcount of words for each term.
bool SumsPopcounts(const KernelState& state, int lanes);

// Emits sum + the terms, modulo 2^32, where SumsPopcounts holds for their lanes. Where pshufb
// counts bits, counts are added in bytes, until these would overflow, and then widened at once.
// Other machines dot counts of bytes with coefficients (vpdpbusd, sdot).
llvm::Value* EmitSumOfPopcounts(KernelState& state, llvm::Value* sum,
                                const std::vector<CountedWord>& terms);

}  // namespace tcc
