#include "codegen_cuda/text/matrix_prelude.h"

namespace tcc {
namespace {

// The part for NVRTC. Only ldmatrix, which reads memory, is volatile and names "memory"; the
// results of the other asm depend on the operands alone.
constexpr std::string_view kText = R"(
template <int N, bool transposed>
struct TccMatrices;
#define TCC_MEMBER static __device__ __forceinline__
#define TCC_MATRICES(count, transposed, modifier, out, ...)                                    \
  template <>                                                                                  \
  struct TccMatrices<count, transposed> {                                                      \
    TCC_MEMBER TccVector<unsigned, count> Load(unsigned from) {                                \
      TccVector<unsigned, count> m;                                                            \
      asm volatile("ldmatrix.sync.aligned.m8n8.x" #count modifier ".shared.b16 {" out "}, [%" \
                   #count "];" : __VA_ARGS__ : "r"(from) : "memory");                          \
      return m;                                                                                \
    }                                                                                          \
  };
#define TCC_MATRICES_1(transposed, modifier) \
  TCC_MATRICES(1, transposed, modifier, "%0", "=r"(m.v[0]))
#define TCC_MATRICES_2(transposed, modifier) \
  TCC_MATRICES(2, transposed, modifier, "%0, %1", "=r"(m.v[0]), "=r"(m.v[1]))
#define TCC_MATRICES_4(transposed, modifier)                                                 \
  TCC_MATRICES(4, transposed, modifier, "%0, %1, %2, %3", "=r"(m.v[0]), "=r"(m.v[1]),       \
               "=r"(m.v[2]), "=r"(m.v[3]))
TCC_MATRICES_1(false, "") TCC_MATRICES_2(false, "") TCC_MATRICES_4(false, "")
TCC_MATRICES_1(true, ".trans") TCC_MATRICES_2(true, ".trans") TCC_MATRICES_4(true, ".trans")

// A lane's word of matrices: an element of 32 bits as such.
template <class T, int bytes>
struct TccWordOf { typedef unsigned Type; };
template <class T>
struct TccWordOf<T, 4> { typedef T Type; };
template <int N, class T, class Index>
TCC_DEVICE TccVector<typename TccWordOf<T, sizeof(T)>::Type, N> tcc_load_matrix(const T* shared,
                                                                                Index index) {
  typedef typename TccWordOf<T, sizeof(T)>::Type Word;
  const TccVector<unsigned, N> words =
      TccMatrices<N, false>::Load((unsigned)__cvta_generic_to_shared(shared + index));
  TccVector<Word, N> matrices;
  for (int i = 0; i < N; ++i) matrices.v[i] = reinterpret_cast<const Word&>(words.v[i]);
  return matrices;
}
template <int N, class T, class Index>
TCC_DEVICE TccVector<unsigned, N> tcc_load_matrix_transposed(const T* shared, Index index) {
  static_assert(sizeof(T) == 2, "elements of 16 bits");
  return TccMatrices<N, true>::Load((unsigned)__cvta_generic_to_shared(shared + index));
}

#define TCC_MMA_4_2(name, instruction, type, letter)                                             \
  TCC_DEVICE TccVector<type, 4> name(TccVector<unsigned, 4> a, TccVector<unsigned, 2> b,         \
                                     TccVector<type, 4> c) {                                     \
    asm("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "        \
        "{%0, %1, %2, %3};"                                                                      \
        : "+" letter(c.v[0]), "+" letter(c.v[1]), "+" letter(c.v[2]), "+" letter(c.v[3])         \
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(b.v[0]), "r"(b.v[1]));         \
    return c;                                                                                    \
  }
#if __CUDA_ARCH__ >= 800
TCC_MMA_4_2(tcc_mma_m16n8k16_f16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
TCC_MMA_4_2(tcc_mma_m16n8k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
TCC_MMA_4_2(tcc_mma_m16n8k32_s8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")
TCC_MMA_4_2(tcc_mma_of_bits, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", int, "r")
TCC_MMA_4_2(tcc_mma_rounded_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
TCC_DEVICE unsigned tcc_to_tf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
#endif
TCC_DEVICE TccVector<float, 4> tcc_mma_m16n8k8_f16(TccVector<unsigned, 2> a,
                                                   TccVector<unsigned, 1> b,
                                                   TccVector<float, 4> c) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
      "{%0, %1, %2, %3};"
      : "+f"(c.v[0]), "+f"(c.v[1]), "+f"(c.v[2]), "+f"(c.v[3])
      : "r"(a.v[0]), "r"(a.v[1]), "r"(b.v[0]));
  return c;
}
TCC_DEVICE TccVector<int, 2> tcc_mma_m8n8k16_s8(TccVector<unsigned, 1> a, TccVector<unsigned, 1> b,
                                                TccVector<int, 2> c) {
  asm("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+r"(c.v[0]), "+r"(c.v[1])
      : "r"(a.v[0]), "r"(b.v[0]));
  return c;
}
// A wrapper's place in a kernel, which the emulator asks for.
#define TCC_HERE
#define TCC_THERE
)";

// The part that NVRTC and the emulator share: wrappers that first round their float operands, but
// none of tf32, and one that takes words as integers.
constexpr std::string_view kOfFloats = R"(#if defined(TCC_EMULATOR) || __CUDA_ARCH__ >= 800
template <int N>
TCC_DEVICE TccVector<unsigned, N> tcc_rounded_tf32(TccVector<float, N> x) {
  TccVector<unsigned, N> rounded;
  for (int i = 0; i < N; ++i) rounded.v[i] = tcc_to_tf32(x.v[i]);
  return rounded;
}
template <int N>
TCC_DEVICE TccVector<unsigned, N> tcc_rounded_tf32(TccVector<TccTF32, N> x) {
  TccVector<unsigned, N> words;
  for (int i = 0; i < N; ++i) words.v[i] = x.v[i].bits;
  return words;
}
template <int N>
TCC_DEVICE TccVector<unsigned, N> tcc_unsigned_words(TccVector<int, N> x) {
  TccVector<unsigned, N> words;
  for (int i = 0; i < N; ++i) words.v[i] = (unsigned)x.v[i];
  return words;
}
TCC_DEVICE TccVector<int, 4> tcc_mma_m16n8k256_b1(TccVector<int, 4> a, TccVector<int, 2> b,
                                                  TccVector<int, 4> c TCC_HERE) {
  return tcc_mma_of_bits(tcc_unsigned_words(a), tcc_unsigned_words(b), c TCC_THERE);
}
// The rounded value, but finite: cut off where rounding up would be too large; 1 or -1 of infinity, which
// is the small part then. NaN stays.
TCC_DEVICE unsigned tcc_big_part(float x) {
  const float magnitude = fabsf(x);
  const unsigned half = magnitude < tcc_bits_to_float(0x7f7ff000u) ? 0x1000u : 0u;
  const bool infinite = magnitude == tcc_bits_to_float(0x7f800000u);
  return (tcc_float_to_bits(x) + half) & (infinite ? 0xbf800000u : ~0x1fffu);
}
// NaN may be lost here: the big part has it. Infinity stays, for its mantissa does not overflow.
TCC_DEVICE unsigned tcc_small_part(float x) {
  const float rest = x - tcc_bits_to_float(tcc_big_part(x));
  return (tcc_float_to_bits(rest) + 0x1000u) & ~0x1fffu;
}
template <int N>
TCC_DEVICE TccVector<unsigned, N> tcc_big_tf32(TccVector<float, N> x) {
  TccVector<unsigned, N> big;
  for (int i = 0; i < N; ++i) big.v[i] = tcc_big_part(x.v[i]);
  return big;
}
template <int N>
TCC_DEVICE TccVector<unsigned, N> tcc_small_tf32(TccVector<float, N> x) {
  TccVector<unsigned, N> small;
  for (int i = 0; i < N; ++i) small.v[i] = tcc_small_part(x.v[i]);
  return small;
}
template <class A, class B>
TCC_DEVICE TccVector<float, 4> tcc_mma_m16n8k8_tf32(TccVector<A, 4> a, TccVector<B, 2> b,
                                                    TccVector<float, 4> c TCC_HERE) {
  return tcc_mma_rounded_tf32(tcc_rounded_tf32(a), tcc_rounded_tf32(b), c TCC_THERE);
}
TCC_DEVICE TccVector<float, 4> tcc_mma_m16n8k8_3xtf32(TccVector<float, 4> a, TccVector<float, 2> b,
                                                      TccVector<float, 4> c TCC_HERE) {
  c = tcc_mma_rounded_tf32(tcc_big_tf32(a), tcc_small_tf32(b), c TCC_THERE);
  c = tcc_mma_rounded_tf32(tcc_small_tf32(a), tcc_big_tf32(b), c TCC_THERE);
  return tcc_mma_rounded_tf32(tcc_big_tf32(a), tcc_big_tf32(b), c TCC_THERE);
}
#endif

)";

}  // namespace

std::string_view MatrixPrelude() {
  return kText;
}

std::string_view PortableMatrixPrelude() {
  return kOfFloats;
}

}  // namespace tcc
