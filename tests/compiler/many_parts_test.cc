#include <catch2/catch.hpp>

#include "graph/passes/infer_shapes.h"
#include "tests/compiler/run_compiled.h"
#include "tests/ir/parsed_graph.h"

namespace tcc {

// More than one kernel has (cut_splits.cc).
TEST_CASE("a Split into 300 outputs and a Concat of as many have each in its place", "[compiler]") {
  std::string names, types;
  for (int i = 0; i < 300; ++i) {
    names += (i ? ", y" : "y") + std::to_string(i);
    types += i ? ", f32[]" : "f32[]";
  }
  Graph graph =
      ParsedGraph("graph pieces {\n  input x: f32[300x3]\n  " + names +
                      " = Split(x) {axis: 0, num_outputs: 300} : " + types + "\n  z = Concat(" +
                      names + ") {axis: 1} : f32[]\n  return z, " + names + "\n}",
                  {});
  REQUIRE(InferShapes(graph).ok());
  Status difference = DifferenceOn(graph, "native");
  INFO(difference);
  CHECK(difference.ok());
}

}  // namespace tcc
