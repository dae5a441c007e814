#pragma once

#include <string_view>
#include <vector>

#include "bench/operator/operator.h"

namespace tcc {

// The operators of a suite:
//   roller        the 119 of Roller's evaluation (OSDI 2022), bench/suites/roller.csv
//   matmul        square ones, those of ViT, BERT and LLaMA, skinny ones
//   resnet50, mobilenet_v2   the different convolutions of these networks, with bias and Relu,
//                 on images with channels last
//   attention     of ViT, BERT and LLaMA
//   rows          softmax, layer normalization, sums along rows
//   networks      those of `tcc zoo`, whole; networks_small: with fewer channels and pixels
//   smoke         one of each kind, small: whether it works at all
// Empty if there is none of that name.
std::vector<BenchOperator> OperatorSuite(std::string_view name);
std::string_view OperatorSuiteNames();

}  // namespace tcc
