#include "codegen_llvm/word_dots.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include <optional>

#include "codegen_llvm/convert.h"
#include "codegen_llvm/llvm_types.h"
#include "support/word_tile.h"

namespace tcc {
namespace {

using llvm::Value;
using Instruction = std::optional<llvm::Intrinsic::ID>;

// Returns x86's instruction for a vector of `lanes` words, among those for 4, 8 and 16.
Instruction InstructionFor(const KernelState& state, int lanes,
                           const llvm::Intrinsic::ID (&instructions)[3]) {
  if (state.machine.arch != CpuArch::kX86) return std::nullopt;
  if (lanes * int64_t{4} > state.machine.vector_bytes) return std::nullopt;
  if (lanes == 4) return instructions[0];
  if (lanes == 8) return instructions[1];
  if (lanes == 16) return instructions[2];
  return std::nullopt;
}

constexpr int kNeonWords = 4;  // of a vector of 128 bits

// Checks for a vector of words that NEON multiplies and adds, in one instruction or two.
bool IsNeonVector(const KernelState& state, Value* words) {
  const int lanes = LanesOf(words);
  return state.machine.arch == CpuArch::kArm64 && (lanes == kNeonWords || lanes == 2 * kNeonWords);
}

// Emits sum + an instruction of NEON's that dots the elements of words, for each half of vectors
// that are twice as long.
Value* NeonDot(llvm::IRBuilderBase& b, llvm::Intrinsic::ID instruction, Value* sum, Value* x,
               Value* y, llvm::Type* element) {
  if (LanesOf(x) == 2 * kNeonWords) {
    auto half = [&](Value* words, int first) {
      return b.CreateShuffleVector(words, {first, first + 1, first + 2, first + 3});
    };
    auto dot = [&](int first) {
      return NeonDot(b, instruction, half(sum, first), half(x, first), half(y, first), element);
    };
    return b.CreateShuffleVector(dot(0), dot(kNeonWords), {0, 1, 2, 3, 4, 5, 6, 7});
  }
  auto* elements = llvm::FixedVectorType::get(element, 128 / element->getScalarSizeInBits());
  return b.CreateIntrinsic(instruction, {sum->getType(), elements},
                           {sum, b.CreateBitCast(x, elements), b.CreateBitCast(y, elements)});
}

llvm::Type* Halves(llvm::IRBuilderBase& b, Value* words) {
  return llvm::FixedVectorType::get(b.getInt16Ty(), 2 * LanesOf(words));
}

// Emits the dot of words of bytes by two of halves: of the bytes in even and in odd places.
Value* DotByHalves(KernelState& state, bool is_signed, Value* x, Value* y) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::Type* halves = Halves(b, x);
  auto even = [&](Value* word, bool extends) {
    Value* bytes = b.CreateBitCast(word, halves);
    return extends ? b.CreateAShr(b.CreateShl(bytes, 8), 8) : b.CreateAnd(bytes, 0xff);
  };
  auto odd = [&](Value* word, bool extends) {
    Value* bytes = b.CreateBitCast(word, halves);
    return extends ? b.CreateAShr(bytes, 8) : b.CreateLShr(bytes, 8);
  };
  auto dot = [&](Value* from_x, Value* from_y) {
    return EmitDotOfHalves(state, b.CreateBitCast(from_x, x->getType()),
                           b.CreateBitCast(from_y, y->getType()));
  };
  return b.CreateAdd(dot(even(x, is_signed), even(y, true)), dot(odd(x, is_signed), odd(y, true)));
}

}  // namespace

Value* EmitDotOfHalves(KernelState& state, Value* x, Value* y) {
  constexpr llvm::Intrinsic::ID kMultiplyAdd[] = {llvm::Intrinsic::x86_sse2_pmadd_wd,
                                                  llvm::Intrinsic::x86_avx2_pmadd_wd,
                                                  llvm::Intrinsic::x86_avx512_pmaddw_d_512};
  llvm::IRBuilderBase& b = state.builder;
  if (Instruction instruction = InstructionFor(state, LanesOf(x), kMultiplyAdd)) {
    llvm::Type* halves = Halves(b, x);
    return b.CreateIntrinsic(*instruction, {},
                             {b.CreateBitCast(x, halves), b.CreateBitCast(y, halves)});
  }
  auto low = [&](Value* word) { return b.CreateAShr(b.CreateShl(word, 16), 16); };
  auto high = [&](Value* word) { return b.CreateAShr(word, 16); };
  return b.CreateAdd(b.CreateMul(low(x), low(y)), b.CreateMul(high(x), high(y)));
}

bool DotsBytes(const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& has = *machine.getMCSubtargetInfo();
  if (machine.getTargetTriple().isAArch64()) return has.checkFeatures("+i8mm");
  return has.checkFeatures("+avxvnni") || has.checkFeatures("+avx512vnni,+avx512vl");
}

bool DotsSignedBytes(const llvm::TargetMachine& machine) {
  return machine.getTargetTriple().isAArch64() &&
         machine.getMCSubtargetInfo()->checkFeatures("+dotprod");
}

bool DotsBFloats(const llvm::TargetMachine& machine) {
  const llvm::MCSubtargetInfo& has = *machine.getMCSubtargetInfo();
  if (machine.getTargetTriple().isAArch64()) return has.checkFeatures("+bf16");
  return has.checkFeatures("+avx512bf16,+avx512vl");
}

Value* EmitDotOfBytes(KernelState& state, ScalarOp op, Value* sum, Value* x, Value* y) {
  constexpr llvm::Intrinsic::ID kAddDot[] = {llvm::Intrinsic::x86_avx512_vpdpbusd_128,
                                             llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                                             llvm::Intrinsic::x86_avx512_vpdpbusd_512};
  llvm::IRBuilderBase& b = state.builder;
  const bool is_signed = op == ScalarOp::kDotI8I8x4;
  Instruction instruction = InstructionFor(state, LanesOf(x), kAddDot);
  if (state.machine.dots_bytes && instruction && !is_signed)
    return b.CreateIntrinsic(*instruction, {}, {sum, x, y});
  const bool dots = is_signed ? state.machine.dots_signed_bytes : state.machine.dots_bytes;
  if (dots && IsNeonVector(state, x)) {
    auto dot = is_signed ? llvm::Intrinsic::aarch64_neon_sdot : llvm::Intrinsic::aarch64_neon_usdot;
    return NeonDot(b, dot, sum, x, y, b.getInt8Ty());
  }
  return b.CreateAdd(sum, DotByHalves(state, is_signed, x, y));
}

int64_t TileEdgeOf(const MachineFacts& machine) {
  if (machine.amx) return kAmxTile;
  return machine.arch == CpuArch::kArm64 && machine.dots_bytes ? kMmlaTile : 0;
}

bool IsMmla(const TileDot& dot) {
  return dot.b.stride == kMmlaTile && dot.c.stride == kMmlaTile;
}

void EmitMmla(KernelState& state, const TileDot& dot, Value* a, Value* b, Value* c) {
  llvm::IRBuilderBase& ir = state.builder;
  auto words = [&](Value* address, unsigned count) {
    auto* type = llvm::FixedVectorType::get(ir.getInt32Ty(), count);
    return ir.CreateAlignedLoad(type, address, llvm::Align(4));
  };
  auto bytes = [&](Value* tile) {
    return ir.CreateBitCast(tile, llvm::FixedVectorType::get(ir.getInt8Ty(), 16));
  };
  // The rows of `a` lie apart under a stride, and in a parameter.
  auto rows = [&]() -> Value* {
    if (dot.a.stride == kMmlaTile) return words(a, kNeonWords);
    Value* second = ir.CreateConstInBoundsGEP1_64(ir.getInt32Ty(), a, dot.a.stride);
    return ir.CreateShuffleVector(words(a, 2), words(second, 2), {0, 1, 2, 3});
  };
  auto instruction = dot.dot == ScalarOp::kDotI8I8x4 ? llvm::Intrinsic::aarch64_neon_smmla
                                                     : llvm::Intrinsic::aarch64_neon_usmmla;
  Value* sum = words(c, kNeonWords);
  Value* x = bytes(rows());
  Value* y = bytes(words(b, kNeonWords));
  Value* product = ir.CreateIntrinsic(instruction, {sum->getType(), x->getType()}, {sum, x, y});
  ir.CreateAlignedStore(product, c, llvm::Align(4));
}

Value* EmitPackOfBFloats(KernelState& state, Value* low, Value* high) {
  llvm::IRBuilderBase& b = state.builder;
  const DType bf16(DTypeCode::kBFloat16);
  llvm::Type* words = SameLanes(low, b.getInt32Ty());
  auto half = [&](Value* value) { return b.CreateZExt(Narrow(b, value, bf16), words); };
  return b.CreateOr(half(low), b.CreateShl(half(high), 16));
}

Value* EmitDotOfBFloats(KernelState& state, Value* sum, Value* x, Value* y) {
  constexpr llvm::Intrinsic::ID kAddDot[] = {llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128,
                                             llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                                             llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512};
  llvm::IRBuilderBase& b = state.builder;
  Instruction instruction = InstructionFor(state, LanesOf(x), kAddDot);
  if (state.machine.dots_bfloats && instruction) {
    auto* halves = llvm::FixedVectorType::get(b.getBFloatTy(), 2 * LanesOf(x));
    return b.CreateIntrinsic(*instruction, {},
                             {sum, b.CreateBitCast(x, halves), b.CreateBitCast(y, halves)});
  }
  if (state.machine.dots_bfloats && IsNeonVector(state, x))
    return NeonDot(b, llvm::Intrinsic::aarch64_neon_bfdot, sum, x, y, b.getBFloatTy());
  llvm::Type* single = SameLanes(x, b.getFloatTy());
  auto low = [&](Value* word) { return b.CreateBitCast(b.CreateShl(word, 16), single); };
  auto high = [&](Value* word) { return b.CreateBitCast(b.CreateAnd(word, 0xffff0000), single); };
  llvm::IRBuilderBase::FastMathFlagGuard restore(b);
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b.setFastMathFlags(flags);
  sum = b.CreateFAdd(b.CreateFMul(low(x), low(y)), sum);
  return b.CreateFAdd(b.CreateFMul(high(x), high(y)), sum);
}

}  // namespace tcc
