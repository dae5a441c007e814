#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ir/graph/graph.h"

namespace tcc {

// The constants of several graphs, equal ones once. The graphs of a model at several sizes have the
// same weights; passes fold some of them for each graph anew.
class SharedConstants {
 public:
  // Gives each constant of the graph, and of its nodes' bodies, the memory of an equal one that an
  // earlier graph has.
  void Share(Graph& graph);

 private:
  std::unordered_multimap<uint64_t, Tensor> known_;  // by hash of the bytes
};

}  // namespace tcc
