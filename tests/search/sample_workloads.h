#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/space/space.h"
#include "schedule/space/workload.h"
#include "support/target.h"

// Tasks that searches are tried on, beside SmallWorkload, which has one sketch of one size.
namespace tcc {

Target SearchTarget();

struct ProductSizes {
  int64_t rows = 64, columns = 64, depth = 64;
  bool turned = false;  // the second operand has its columns first
};

// A product of two float32 matrices: several sketches of several sizes.
Workload ProductWorkload(const std::string& name, const ProductSizes& sizes = {});

// One workload whose variants are those of `parts`, one each.
Workload WithVariants(const std::vector<Workload>& parts, size_t first_variant);

// Every legal point of a space that is small.
std::vector<Point> LegalPoints(const SearchSpace& space);

}  // namespace tcc
