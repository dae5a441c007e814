#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/graph.h"

// Networks that are built, not read: for tests, examples and benchmarks without files. Weights are
// random, seeded and scaled by fan-in, so that outputs are finite and of order 1.
namespace tcc {

struct ZooOptions {
  bool small = false;  // the same structure with fewer channels and pixels
  uint64_t seed = 0;
};

// Returns the names in the order of the table.
std::vector<std::string> ZooNames();

// Builds a network for batch 1. The same options give the same graph, bit for bit. An unknown name
// fails with the list of names.
StatusOr<Graph> BuildZoo(std::string_view name, const ZooOptions& options = {});

}  // namespace tcc
