#pragma once

#include "codegen_llvm/llvm_forward.h"

// Functions of float32, scalar or vector, as straight-line code on the bits: no tables, no library.
// Each argument is an f32 value of any number of lanes. The error bounds are relative to the exact
// value, over all finite arguments; they include subnormal results except in exp and sigmoid. NaN
// in gives NaN out; infinities and zeros give the results of C's functions.
// tests/codegen_llvm/math_test.cc checks the bounds.
//
// The coefficients interpolate the function at Chebyshev nodes of the stated interval.
namespace tcc {

// The limit below which exp and sigmoid are 0: e^x is 1.17555e-38 there, just above the least
// normal number, 2^-126 = 1.17549e-38.
inline constexpr double kMinExpF32 = -87.3365;
llvm::Value* EmitExpF32(llvm::IRBuilderBase& b, llvm::Value* x);      // 2 ulp
llvm::Value* EmitLogF32(llvm::IRBuilderBase& b, llvm::Value* x);      // 2 ulp
llvm::Value* EmitTanhF32(llvm::IRBuilderBase& b, llvm::Value* x);     // 3 ulp
llvm::Value* EmitErfF32(llvm::IRBuilderBase& b, llvm::Value* x);      // 3 ulp
llvm::Value* EmitSigmoidF32(llvm::IRBuilderBase& b, llvm::Value* x);  // 4 ulp

// Computes through f64, rounded once: 1 ulp.
llvm::Value* EmitLog1pF32(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* EmitPowF32(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y);
// Expects |x| < kMaxAngleF32; beyond that the quadrant is lost.
llvm::Value* EmitSinF32(llvm::IRBuilderBase& b, llvm::Value* x);
llvm::Value* EmitCosF32(llvm::IRBuilderBase& b, llvm::Value* x);
inline constexpr double kMaxAngleF32 = 0x1p40;

}  // namespace tcc
