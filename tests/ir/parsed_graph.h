#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace tcc {

// The graph that a text says, with its constants by name; fails the test where it does not parse.
inline Graph ParsedGraph(const std::string& text,
                         const std::vector<std::pair<std::string, Tensor>>& constants = {}) {
  Graph given;
  for (const auto& [name, tensor] : constants) {
    given.AddValue({name, tensor.dtype, ToExprs(tensor.shape), tensor});
  }
  StatusOr<Graph> graph = ParseGraph(text, given);
  INFO(graph.status());
  REQUIRE(graph.ok());
  return *graph;
}

}  // namespace tcc
