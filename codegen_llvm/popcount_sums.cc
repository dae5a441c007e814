#include "codegen_llvm/popcount_sums.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "codegen_llvm/float_algebra.h"
#include "codegen_llvm/llvm_types.h"
#include "codegen_llvm/word_dots.h"
#include "support/check.h"

namespace tcc {
namespace {

using llvm::Value;

constexpr int64_t kMostBits = 8;        // of a byte
constexpr int64_t kMostUnsigned = 255;  // in a byte
constexpr int64_t kMostSigned = 127;    // in one that may be negative
// vpmaddubsw adds two products of a byte by a factor in 16 signed bits.
constexpr int64_t kMostFactor = 64;

llvm::Type* BytesOf(llvm::IRBuilderBase& b, Value* words) {
  return llvm::FixedVectorType::get(b.getInt8Ty(), 4 * LanesOf(words));
}

Value* CountsOfBytes(llvm::IRBuilderBase& b, Value* words) {
  Value* bytes = b.CreateBitCast(words, BytesOf(b, words));
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bytes);
}

bool IsPower(int64_t coefficient) {
  return std::has_single_bit(static_cast<uint64_t>(std::abs(coefficient)));
}

// Terms whose counts are added in bytes: factor * the sum of (coefficient / factor) * counts.
struct ByteSum {
  std::vector<CountedWord> terms;  // ascending by the absolute values of coefficients
  int64_t factor = 1;
  int64_t positive = 0, negative = 0;  // the sums of all (coefficient / factor) of this sign

  bool IsMixed() const { return positive > 0 && negative > 0; }

  // Adds a term if the bytes hold its counts, too. Its coefficient is a multiple of the factor,
  // which is the first one's.
  bool Take(const CountedWord& term) {
    if (terms.empty()) factor = std::abs(term.coefficient);
    const int64_t multiple = term.coefficient / factor;
    const int64_t more = positive + std::max<int64_t>(multiple, 0);
    const int64_t less = negative + std::max<int64_t>(-multiple, 0);
    const bool is_mixed = more > 0 && less > 0;
    if (kMostBits * std::max(more, less) > (is_mixed ? kMostSigned : kMostUnsigned)) return false;
    positive = more;
    negative = less;
    terms.push_back(term);
    return true;
  }
};

std::vector<ByteSum> ByteSumsOf(const std::vector<CountedWord>& terms) {
  std::vector<ByteSum> sums(1);
  for (const CountedWord& term : terms) {
    if (sums.back().Take(term)) continue;
    sums.emplace_back();
    TCC_CHECK(sums.back().Take(term)) << term.coefficient;
  }
  return sums;
}

// Emits the sum of (coefficient / factor) * counts by doubling, the largest coefficients first. The
// sign of sums that are not mixed is left to the widening.
Value* AddedBytes(llvm::IRBuilderBase& b, const ByteSum& sum) {
  Value* bytes = nullptr;
  int64_t power = 0;
  for (auto term = sum.terms.rbegin(); term != sum.terms.rend(); ++term) {
    const int64_t multiple = term->coefficient / sum.factor;
    const bool subtracts = sum.IsMixed() && multiple < 0;
    for (; power > std::abs(multiple); power /= 2) bytes = b.CreateAdd(bytes, bytes);
    power = std::abs(multiple);
    Value* counts = CountsOfBytes(b, term->word);
    if (!bytes) {
      bytes = subtracts ? b.CreateNeg(counts) : counts;
    } else {
      bytes = subtracts ? b.CreateSub(bytes, counts) : b.CreateAdd(bytes, counts);
    }
  }
  for (; power > 1; power /= 2) bytes = b.CreateAdd(bytes, bytes);
  return bytes;
}

llvm::Intrinsic::ID MultiplyBytes(int lanes) {
  if (lanes == 4) return llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128;
  if (lanes == 8) return llvm::Intrinsic::x86_avx2_pmadd_ub_sw;
  TCC_CHECK(lanes == 16) << lanes;
  return llvm::Intrinsic::x86_avx512_pmaddubs_w_512;
}

// Emits sum + unsigned bytes * signed bytes, four products a word, whose sums in pairs fit 16 bits.
Value* AddBytes(KernelState& state, Value* sum, Value* of_unsigned, Value* of_signed) {
  llvm::IRBuilderBase& b = state.builder;
  llvm::Type* words = sum->getType();
  if (state.machine.dots_bytes) {
    return EmitDotOfBytes(state, ScalarOp::kDotU8I8x4, sum, b.CreateBitCast(of_unsigned, words),
                          b.CreateBitCast(of_signed, words));
  }
  Value* halves = b.CreateIntrinsic(MultiplyBytes(LanesOf(sum)), {}, {of_unsigned, of_signed});
  Value* ones = b.CreateBitCast(Int(halves, 1), words);
  return b.CreateAdd(sum, EmitDotOfHalves(state, b.CreateBitCast(halves, words), ones));
}

Value* AddByteSum(KernelState& state, Value* sum, const ByteSum& terms) {
  Value* bytes = AddedBytes(state.builder, terms);
  if (terms.IsMixed()) return AddBytes(state, sum, Int(bytes, terms.factor), bytes);
  const int64_t factor = terms.negative > 0 ? -terms.factor : terms.factor;
  return AddBytes(state, sum, bytes, Int(bytes, factor));
}

// Emits sum + coefficient * popcount(word).
Value* AddByWord(llvm::IRBuilderBase& b, Value* sum, const CountedWord& term) {
  Value* counts = b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, term.word);
  if (term.coefficient == -1) return b.CreateSub(sum, counts);
  return b.CreateAdd(sum, b.CreateMul(counts, Int(counts, term.coefficient)));
}

// Emits the same by a dot of the bytes' counts with the coefficient.
Value* AddByDot(KernelState& state, Value* sum, const CountedWord& term) {
  llvm::IRBuilderBase& b = state.builder;
  const bool is_arm = state.machine.arch == CpuArch::kArm64;
  Value* counts = CountsOfBytes(b, term.word);
  Value* words = b.CreateBitCast(counts, sum->getType());
  Value* factors = b.CreateBitCast(Int(counts, term.coefficient), sum->getType());
  return EmitDotOfBytes(state, is_arm ? ScalarOp::kDotI8I8x4 : ScalarOp::kDotU8I8x4, sum, words,
                        factors);
}

// The way in which a term is added.
enum class Adding : uint8_t { kByWord, kByDot, kInBytes };

Adding AddingOf(const KernelState& state, int64_t coefficient) {
  const bool fits = std::abs(coefficient) <= kMostSigned;
  if (state.machine.arch == CpuArch::kArm64) return fits ? Adding::kByDot : Adding::kByWord;
  if (state.machine.counts_bits_of_words) {
    // Zen 4 takes 0.9 of the time, for data of two bits, that it takes with all terms by word, and
    // 0.8 of that with all terms by dots.
    return fits && coefficient != 1 ? Adding::kByDot : Adding::kByWord;
  }
  const bool in_bytes = IsPower(coefficient) && std::abs(coefficient) <= kMostFactor;
  return in_bytes ? Adding::kInBytes : Adding::kByWord;
}

}  // namespace

bool CountsBitsOfWords(const llvm::TargetMachine& machine) {
  return machine.getTargetTriple().isX86() &&
         machine.getMCSubtargetInfo()->checkFeatures("+avx512vpopcntdq,+avx512bitalg,+avx512vl");
}

bool CountsBitsOfBytes(const llvm::TargetMachine& machine) {
  return machine.getTargetTriple().isX86() && machine.getMCSubtargetInfo()->checkFeatures("+ssse3");
}

bool SumsPopcounts(const KernelState& state, int lanes) {
  const MachineFacts& machine = state.machine;
  if (machine.arch == CpuArch::kArm64)
    return machine.dots_signed_bytes && (lanes == 4 || lanes == 8);
  const bool is_vector = lanes == 4 || lanes == 8 || lanes == 16;
  if (!is_vector || lanes * int64_t{4} > machine.vector_bytes) return false;
  return machine.counts_bits_of_words ? machine.dots_bytes : machine.counts_bits_of_bytes;
}

Value* EmitSumOfPopcounts(KernelState& state, Value* sum, const std::vector<CountedWord>& terms) {
  std::vector<CountedWord> in_bytes;
  for (const CountedWord& term : terms) {
    switch (AddingOf(state, term.coefficient)) {
      case Adding::kByWord:
        sum = AddByWord(state.builder, sum, term);
        break;
      case Adding::kByDot:
        sum = AddByDot(state, sum, term);
        break;
      case Adding::kInBytes:
        in_bytes.push_back(term);
        break;
    }
  }
  if (in_bytes.empty()) return sum;
  std::ranges::stable_sort(in_bytes, {},
                           [](const CountedWord& term) { return std::abs(term.coefficient); });
  for (const ByteSum& bytes : ByteSumsOf(in_bytes)) sum = AddByteSum(state, sum, bytes);
  return sum;
}

}  // namespace tcc
