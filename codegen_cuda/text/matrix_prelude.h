#pragma once

#include <string_view>

// The part of the prelude (prelude.h) that uses tensor cores. A warp holds a matrix together: each
// lane has a fragment of it, 32-bit words that hold one, two or four elements. Layouts: PTX ISA,
// "Matrix Fragments for mma".
//
//   TccVector<unsigned, N> tcc_load_matrix<N>(shared, index), N = 1, 2 or 4
//       ldmatrix: loads N matrices of 8 rows of 16 bytes; lane 8 i + r says where row r of matrix
//       i begins (at a multiple of 16 bytes). Word i of lane l is word l % 4 of row l / 4 of matrix
//       i. The result is a TccVector<T, N> if `shared` holds elements T of 32 bits.
//   tcc_load_matrix_transposed<N>: the same for transposed matrices of 16-bit elements; word i of
//       lane l is elements l / 4 of rows 2 (l % 4) and 2 (l % 4) + 1.
//
//   D = A B + C, where A is m x k, B is k x 8, and D may be C:
//     TccVector<float, 4> tcc_mma_m16n8k16_f16(TccVector<unsigned, 4> a, TccVector<unsigned, 2> b,
//                                              TccVector<float, 4> c)      sm_80; and _bf16
//     TccVector<float, 4> tcc_mma_m16n8k8_tf32(TccVector<A, 4> a, TccVector<B, 2> b,
//                                              TccVector<float, 4> c)      sm_80
//         A and B are float, which it rounds to 10 bits of mantissa, halves away from zero, or
//         TccTF32
//     tcc_mma_m16n8k8_3xtf32: three products, of the rounded operands and of the remainders that
//         rounding left (graph/variants/round_operands.cc)
//     TccVector<float, 4> tcc_mma_m16n8k8_f16(.. 2 .. 1 .. float, 4)       sm_75
//     TccVector<int, 4> tcc_mma_m16n8k32_s8(.. 4 .. 2 .. int, 4)           sm_80
//     TccVector<int, 2> tcc_mma_m8n8k16_s8(.. 1 .. 1 .. int, 2)            sm_75
//     TccVector<int, 4> tcc_mma_m16n8k256_b1(TccVector<int, 4> a, TccVector<int, 2> b,
//                                            TccVector<int, 4> c)          sm_80
//         elements are words of 32 bits; the product of two is the number of bits that both have
//   C and D: elements 0 and 1 of lane l are row l / 4, columns 2 (l % 4) and 2 (l % 4) + 1;
//   elements 2 and 3 are 8 rows below. tcc_load_matrix loads A from row-major memory, and B from
//   column-major memory, in the order that these functions take.
namespace tcc {

// Returns the part for NVRTC.
std::string_view MatrixPrelude();
// Returns the wrappers that call other wrappers. NVRTC and the emulator share them; the emulator
// has its own versions of the rest.
std::string_view PortableMatrixPrelude();

}  // namespace tcc
