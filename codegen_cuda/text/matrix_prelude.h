#pragma once

#include <string_view>

// The part of the prelude (prelude.h) that uses tensor cores. A warp holds a matrix together: each
// lane has a fragment of it, 32-bit words that hold one, two or four elements. Layouts: PTX ISA,
// "Matrix Fragments for mma".
//
//   TccVector<unsigned, N> tcc_load_matrix<N>(shared, index), N = 1, 2 or 4
//       ldmatrix: N matrices of 8 rows of 16 bytes; lane 8 i + r says where row r of matrix i
//       begins (at a multiple of 16 bytes). Word i of lane l is word l % 4 of row l / 4 of matrix
//       i. Of float: TccVector<float, N>.
//   tcc_load_matrix_transposed<N>: of 16-bit elements; word i of lane l is elements l / 4 of rows
//       2 (l % 4) and 2 (l % 4) + 1.
//
//   D = A B + C, A of m rows and k columns, B of k rows and 8 columns; D may be C:
//     TccVector<float, 4> tcc_mma_m16n8k16_f16(TccVector<unsigned, 4> a, TccVector<unsigned, 2> b,
//                                              TccVector<float, 4> c)      sm_80; and _bf16
//     TccVector<float, 4> tcc_mma_m16n8k8_tf32(TccVector<float, 4> a, TccVector<float, 2> b,
//                                              TccVector<float, 4> c)      sm_80
//         of operands rounded to 10 bits of mantissa, halves away from zero
//     tcc_mma_m16n8k8_3xtf32: three products, of these and of what rounding left (round_operands.h)
//     TccVector<float, 4> tcc_mma_m16n8k8_f16(.. 2 .. 1 .. float, 4)       sm_75
//     TccVector<int, 4> tcc_mma_m16n8k32_s8(.. 4 .. 2 .. int, 4)           sm_80
//     TccVector<int, 2> tcc_mma_m8n8k16_s8(.. 1 .. 1 .. int, 2)            sm_75
//   C and D: elements 0, 1 of lane l are row l / 4, columns 2 (l % 4) and one more; 2, 3 are 8 rows
//   below. tcc_load_matrix gives A, of row-major memory, and B, of column-major memory, in the
//   order that these take.
namespace tcc {

// For NVRTC.
std::string_view MatrixPrelude();
// For the emulator too, after its own wrappers: those that are made of others.
std::string_view PortableMatrixPrelude();

}  // namespace tcc
