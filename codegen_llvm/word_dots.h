#pragma once

#include "codegen_llvm/kernel_state.h"
#include "codegen_llvm/tile_dot.h"

namespace tcc {

// Emits dot_i16x2(x, y) of words, one or a vector of them: vpmaddwd.
llvm::Value* EmitDotOfHalves(KernelState& state, llvm::Value* x, llvm::Value* y);

// Return whether the machine has vpdpbusd and vdpbf16ps for vectors of all its sizes, or NEON's
// usdot and bfdot.
bool DotsBytes(const llvm::TargetMachine& machine);
bool DotsBFloats(const llvm::TargetMachine& machine);
// Returns whether the machine has NEON's sdot.
bool DotsSignedBytes(const llvm::TargetMachine& machine);

// Emits sum + dot_u8i8x4(x, y) or dot_i8i8x4(x, y): vpdpbusd, usdot or sdot where the machine has
// it, else two dots of halves.
llvm::Value* EmitDotOfBytes(KernelState& state, ScalarOp op, llvm::Value* sum, llvm::Value* x,
                            llvm::Value* y);

// Returns the edge of the tiles of words that the machine multiplies (support/word_tile.h), or 0.
int64_t TileEdgeOf(const MachineFacts& machine);
// Returns whether smmla or usmmla multiplies these tiles of two rows: the rows of `b` and of `c`
// must be neighbours.
bool IsMmla(const TileDot& dot);
// Emits that instruction on the tiles at these addresses.
void EmitMmla(KernelState& state, const TileDot& dot, llvm::Value* a, llvm::Value* b,
              llvm::Value* c);

// Emits pack_bf16x2(low, high).
llvm::Value* EmitPackOfBFloats(KernelState& state, llvm::Value* low, llvm::Value* high);

// Emits sum + dot_bf16x2(x, y): vdpbf16ps or bfdot where the machine has it, else two FMA of f32.
llvm::Value* EmitDotOfBFloats(KernelState& state, llvm::Value* sum, llvm::Value* x, llvm::Value* y);

}  // namespace tcc
