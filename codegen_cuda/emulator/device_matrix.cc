#include "codegen_cuda/emulator/device_header.h"

namespace tcc::emulator {
namespace {

// Sums are made in double, or wrap in int: a device adds products in an order of its own.
constexpr char kText[] = R"text(
template <int N, bool kTransposed, class Array>
TCC_DEVICE TccVector<unsigned, N> tcc_matrices(const char* operation, const Array& shared,
                                               TccIndex at) {
  constexpr int kElements = 16 / sizeof(typename Array::Element);
  const int lane = (int)(tcc_host->linear_thread % 32);
  unsigned char row[16] = {};
  if (lane < 8 * N) {
    auto elements = shared.template Read<kElements>(at);
    __builtin_memcpy(row, &elements, 16);
  }
  const unsigned char* slots = tcc_host->exchange(operation, row, 16, at.line);
  TccVector<unsigned, N> result;
  for (int i = 0; i < N; ++i) {
    unsigned short halves[2];
    for (int h = 0; h < 2; ++h) {
      const int from = kTransposed ? lane % 4 * 2 + h : lane / 4;
      const int column = kTransposed ? lane / 4 : lane % 4 * 2 + h;
      __builtin_memcpy(&halves[h], slots + (8 * i + from) * kTccSlot + column * 2, 2);
    }
    result.v[i] = halves[0] | (unsigned)halves[1] << 16;
  }
  return result;
}
// A lane's word of matrices: an element of 32 bits as such.
template <class T, int kBytes = sizeof(T)>
struct TccWordOf {
  typedef unsigned Type;
};
template <class T>
struct TccWordOf<T, 4> {
  typedef T Type;
};
template <int N, class Array>
TCC_DEVICE TccVector<typename TccWordOf<typename Array::Element>::Type, N> tcc_load_matrix(
    const Array& shared, TccIndex at) {
  const TccVector<unsigned, N> words = tcc_matrices<N, false>("ldmatrix", shared, at);
  TccVector<typename TccWordOf<typename Array::Element>::Type, N> matrices;
  __builtin_memcpy(&matrices, &words, sizeof(words));
  return matrices;
}
template <int N, class Array>
TCC_DEVICE TccVector<unsigned, N> tcc_load_matrix_transposed(const Array& shared, TccIndex at) {
  static_assert(sizeof(typename Array::Element) == 2);
  return tcc_matrices<N, true>("transposing ldmatrix", shared, at);
}

// Operands of kBits a element. Four lanes hold a part of a row of A, or of a column of B, in one
// register each; the registers of A go down the rows first.
template <int kRows, int kDepth, int kBits>
struct TccOperands {
  static constexpr int kOfWord = 32 / kBits;
  static constexpr int kPart = 4 * kOfWord;
  unsigned a[kRows / 8 * kDepth / kPart];
  unsigned b[kDepth / kPart];

  static unsigned Element(unsigned word, int k) {
    return kBits == 32 ? word : word >> k % kOfWord * kBits & ((1u << kBits % 32) - 1);
  }
  static TccOperands OfLane(const unsigned char* slots, int lane) {
    TccOperands operands;
    __builtin_memcpy(&operands, slots + lane * kTccSlot, sizeof(operands));
    return operands;
  }
  static unsigned A(const unsigned char* slots, int row, int k) {
    const TccOperands owner = OfLane(slots, row % 8 * 4 + k % kPart / kOfWord);
    return Element(owner.a[k / kPart * (kRows / 8) + row / 8], k);
  }
  static unsigned B(const unsigned char* slots, int k, int column) {
    const TccOperands owner = OfLane(slots, column * 4 + k % kPart / kOfWord);
    return Element(owner.b[k / kPart], k);
  }
};
struct TccOfHalf {
  typedef double Sum;
  static double Value(unsigned bits) { return tcc_half_to_float((unsigned short)bits); }
};
struct TccOfBfloat {
  typedef double Sum;
  static double Value(unsigned bits) { return tcc_bits_to_float(bits << 16); }
};
struct TccOfTf32 {
  typedef double Sum;
  static double Value(unsigned bits) { return tcc_bits_to_float(bits & ~0x1fffu); }
};
struct TccOfByte {
  typedef int Sum;
  static int Value(unsigned bits) { return (signed char)bits; }
};
struct TccBits {
  unsigned bits;
  int operator*(TccBits other) const { return __builtin_popcount(bits & other.bits); }
};
struct TccOfBits {
  typedef int Sum;
  static TccBits Value(unsigned bits) { return {bits}; }
};
template <class Type, int kRows, int kDepth, int kBits, int kA, int kB, class C, int kC>
TCC_DEVICE TccVector<C, kC> tcc_mma(const char* operation, TccVector<unsigned, kA> a,
                                    TccVector<unsigned, kB> b, TccVector<C, kC> c, int line) {
  typedef TccOperands<kRows, kDepth, kBits> Operands;
  Operands own;
  static_assert(sizeof(own.a) == sizeof(a) && sizeof(own.b) == sizeof(b));
  __builtin_memcpy(own.a, &a, sizeof(a));
  __builtin_memcpy(own.b, &b, sizeof(b));
  const unsigned char* slots = tcc_host->exchange(operation, &own, sizeof(own), line);
  const int lane = (int)(tcc_host->linear_thread % 32);
  for (int i = 0; i < kC; ++i) {
    const int row = lane / 4 + i / 2 * 8;
    typename Type::Sum sum = c.v[i];
    for (int k = 0; k < kDepth; ++k) {
      sum += Type::Value(Operands::A(slots, row, k)) *
             Type::Value(Operands::B(slots, k, lane % 4 * 2 + i % 2));
    }
    c.v[i] = (C)sum;
  }
  return c;
}
#define TCC_MMA(name, type, rows, depth, bits, a_words, b_words, sum, sums)                     \
  TCC_DEVICE TccVector<sum, sums> name(TccVector<unsigned, a_words> a,                          \
                                       TccVector<unsigned, b_words> b, TccVector<sum, sums> c,  \
                                       int line = __builtin_LINE()) {                           \
    return tcc_mma<type, rows, depth, bits>(#name, a, b, c, line);                              \
  }
TCC_MMA(tcc_mma_m16n8k16_f16, TccOfHalf, 16, 16, 16, 4, 2, float, 4)
TCC_MMA(tcc_mma_m16n8k16_bf16, TccOfBfloat, 16, 16, 16, 4, 2, float, 4)
TCC_MMA(tcc_mma_m16n8k32_s8, TccOfByte, 16, 32, 8, 4, 2, int, 4)
TCC_MMA(tcc_mma_m16n8k8_f16, TccOfHalf, 16, 8, 16, 2, 1, float, 4)
TCC_MMA(tcc_mma_m8n8k16_s8, TccOfByte, 8, 16, 8, 1, 1, int, 2)
TCC_MMA(tcc_mma_of_bits, TccOfBits, 16, 8, 32, 4, 2, int, 4)
TCC_MMA(tcc_mma_rounded_tf32, TccOfTf32, 16, 8, 32, 4, 2, float, 4)

TCC_DEVICE unsigned tcc_to_tf32(float x) {
  const unsigned bits = tcc_float_to_bits(x);
  if (x != x) return 0x7fffffff;
  return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}
#define TCC_HERE , int line = __builtin_LINE()
#define TCC_THERE , line
)text";

}  // namespace

std::string_view MatrixHeader() {
  return kText;
}

}  // namespace tcc::emulator
