#pragma once

#include <vector>

#include "tests/codegen_cuda/kernels/twin.h"

namespace tcc::test {

// Makes kernels for all that others rely on beside products: shuffles, copies in flight, rounding,
// the last block of a tile, launches that wait for the one before, and where dynamic shared memory
// begins.
std::vector<Twin> FactTwins();

// Makes all twins, mma_kernels.h's and group_kernels.h's among them. Each target has one text.
std::vector<Twin> AllTwins();

}  // namespace tcc::test
