#pragma once

#include <string>

#include "ir/expr/function.h"

// The text form; docs/text_format.md has the grammar. It round-trips: Parse(Print(x)) is
// alpha-equal to x and Print(Parse(Print(x))) is the same text. Two variables of one function with
// the same hint are told apart by a suffix, chosen by order of definition.
//
//   combiner sum_f32(a: f32 = 0.0; b: f32) = (a + b)
//   fn mm(A: f32[13, 11], B: f32[11, 9], C: f32[13, 9]) tensor {
//     for i in 0..13 @mm/i {
//       for j in 0..9 @mm/j {
//         for k in 0..11 @mm/k {
//           block mm(i: spatial 13 = i, j: spatial 9 = j, k: reduce 11 = k) {
//             reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
//           }
//         }
//       }
//     }
//   }
namespace tcc {

std::string Print(const Expr& expr);
std::string Print(const Stmt& stmt);
// Prints the definitions of the combiners that `fn` uses, then `fn`.
std::string Print(const Function& fn);

}  // namespace tcc
