// Products of bytes as machine code: in pairs, in quads, and by Winograd's transforms.

#include <catch2/catch.hpp>

#include "tests/compiler/product_graphs.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

}  // namespace

TEST_CASE("machine code multiplies bytes as the interpreter does", "[compiler][codegen_llvm]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  const ProductCase cases[] = {
      {"by transforms",
       OpKind::kConvInteger,
       {1, 32, 13, 14},
       {40, 32, 3, 3},
       {1, 40, 13, 14},
       padded},
      {"odd channels", OpKind::kConvInteger, {2, 3, 9, 8}, {12, 3, 5, 5}, {2, 12, 5, 4}},
      {"one tap", OpKind::kConvInteger, {1, 20, 7, 7}, {24, 20, 1, 1}, {1, 24, 7, 7}},
      {"depthwise",
       OpKind::kConvInteger,
       {1, 16, 8, 8},
       {16, 1, 3, 3},
       {1, 16, 8, 8},
       {{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{16}}}},
      {"product", OpKind::kMatMulInteger, {5, 33}, {33, 18}, {5, 18}},
  };
  for (const ProductCase& c : cases) {
    // Without the instruction, quads are as right and slower.
    Target in_quads = *FindTarget("x86-64-v3");
    in_quads.dots_bytes = true;
    for (const Target& target : {*FindTarget("native"), *FindTarget("x86-64-v3"), in_quads}) {
      INFO(c.name << " on " << target.name << (target.dots_bytes ? ", in quads" : ""));
      Status status = DifferenceOn(ByteProduct(c), target);
      INFO(status);
      CHECK(status.ok());
    }
  }
}

}  // namespace tcc
