// Products of bf16 in pairs as machine code: by vdpbf16ps where the CPU has it.

#include <catch2/catch.hpp>

#include "compiler/dump_stage.h"
#include "tests/compiler/product_graphs.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

// The kernels' schedules as text, read back on the way.
std::string ScheduledText(const Graph& graph, const Target& target) {
  DumpOptions options;
  options.target = target;
  options.stage = Stage::kScheduled;
  options.verify = true;
  options.numeric = NumericMode::kBf16;
  StatusOr<std::string> text = DumpStage(graph, options);
  INFO(text.status());
  REQUIRE(text.ok());
  return *text;
}

}  // namespace

TEST_CASE("machine code multiplies pairs of bf16 as the interpreter does",
          "[compiler][codegen_llvm]") {
  const Attributes padded = {{"pads", Ints{1, 1, 1, 1}}};
  const ProductCase cases[] = {
      {"padded", OpKind::kConv, {1, 32, 13, 14}, {40, 32, 3, 3}, {1, 40, 13, 14}, padded},
      {"odd channels", OpKind::kConv, {2, 3, 9, 8}, {12, 3, 5, 5}, {2, 12, 5, 4}},
      {"one tap", OpKind::kConv, {1, 20, 7, 7}, {24, 20, 1, 1}, {1, 24, 7, 7}},
      {"product", OpKind::kMatMul, {5, 33}, {33, 18}, {5, 18}},
      {"long rows", OpKind::kMatMul, {37, 770}, {770, 130}, {37, 130}},
  };
  for (const ProductCase& c : cases) {
    for (const char* name : {"native", "x86-64-v3"}) {
      Target target = *FindTarget(name);
      // Without the instruction, pairs are as right and slower.
      target.bf16_speedup = 2;
      INFO(c.name << " on " << name);
      Graph graph = FloatProduct(c);
      CHECK(ScheduledText(graph, target).find("dot_bf16x2") != std::string::npos);
      Status status = DifferenceOn(graph, target, NumericMode::kBf16);
      INFO(status);
      CHECK(status.ok());
    }
  }
}

}  // namespace tcc
