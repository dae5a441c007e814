// Products in whole tiles as machine code: by AMX where the CPU has it, else by its emulator.

#include <catch2/catch.hpp>

#include "compiler/dump_stage.h"
#include "support/word_tile.h"
#include "tests/compiler/amx_emulator.h"
#include "tests/compiler/product_graphs.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

using Ints = std::vector<int64_t>;
using Attributes = std::map<std::string, Attribute>;

Target WithAmx(const char* name) {
  Target target = *FindTarget(name);
  target.amx = true;
  return target;
}

std::string TextAt(Stage stage, const Graph& graph, const Target& target, NumericMode numeric) {
  DumpOptions options;
  options.target = target;
  options.stage = stage;
  options.verify = stage == Stage::kScheduled;
  options.numeric = numeric;
  StatusOr<std::string> text = DumpStage(graph, options);
  INFO(text.status());
  REQUIRE(text.ok());
  return *text;
}

const Attributes kPadded = {{"pads", Ints{1, 1, 1, 1}}};
const Attributes kSteps = {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}};

}  // namespace

TEST_CASE("tiles of AMX multiply bytes and bf16 as the interpreter does",
          "[compiler][codegen_llvm]") {
  std::optional<AmxEmulator> emulator;
  if (!RequestAmx()) emulator.emplace();
  struct Case {
    ProductCase product;
    int64_t dots_of_bf16, dots_of_bytes;  // of tiles
  };
  const Case cases[] = {
      {{"window", OpKind::kConv, {1, 64, 13, 14}, {40, 64, 3, 3}, {1, 40, 13, 14}, kPadded},
       702,
       351},
      {{"steps", OpKind::kConv, {2, 33, 18, 30}, {70, 33, 3, 3}, {2, 70, 9, 15}, kSteps},
       1620,
       810},
      {{"one tap", OpKind::kConv, {1, 200, 7, 7}, {24, 200, 1, 1}, {1, 24, 7, 7}}, 56, 32},
      {{"rows", OpKind::kMatMul, {37, 770}, {770, 130}, {37, 130}}, 675, 351},
      {{"batch", OpKind::kMatMul, {2, 15, 190}, {190, 48}, {2, 15, 48}}, 36, 18},
      {{"whole", OpKind::kMatMul, {64, 128}, {128, 96}, {64, 96}}, 96, 48},
      // So little that no threads share it.
      {{"one tile", OpKind::kMatMul, {16, 120}, {120, 16}, {16, 16}}, 4, 2},
  };
  for (const char* name : {"native", "x86-64-v3"}) {
    for (Case c : cases) {
      Target target = WithAmx(name);
      INFO(c.product.name << " on " << name);
      int64_t before = AmxEmulator::Dots();
      Status status = DifferenceOn(FloatProduct(c.product), target, NumericMode::kBf16);
      INFO(status);
      CHECK(status.ok());
      // It runs twice.
      if (emulator) CHECK(AmxEmulator::Dots() - before == 2 * c.dots_of_bf16);
      bool is_conv = c.product.op == OpKind::kConv;
      c.product.op = is_conv ? OpKind::kConvInteger : OpKind::kMatMulInteger;
      before = AmxEmulator::Dots();
      Status of_bytes = DifferenceOn(ByteProduct(c.product), target);
      INFO(of_bytes);
      CHECK(of_bytes.ok());
      if (emulator) CHECK(AmxEmulator::Dots() - before == 2 * c.dots_of_bytes);
    }
  }
}

TEST_CASE("sums stay in the registers of AMX during the reduction", "[compiler][codegen_llvm]") {
  Target target = WithAmx("x86-64-v4");
  Graph graph = FloatProduct({"", OpKind::kMatMul, {64, 128}, {128, 96}, {64, 96}});
  CHECK(TextAt(Stage::kScheduled, graph, target, NumericMode::kBf16).find("tile_dot_bf16x2") !=
        std::string::npos);
  std::string text = TextAt(Stage::kAsm, graph, target, NumericMode::kBf16);
  auto count = [&](std::string_view instruction) {
    int found = 0;
    for (size_t at = text.find(instruction); at != std::string::npos;
         at = text.find(instruction, at + 1)) {
      ++found;
    }
    return found;
  };
  // Four sums, and the two operands that each two of them share.
  CHECK(count("tdpbf16ps") == 4);
  CHECK(count("tilestored") == 4);
  CHECK(count("tileloadd") == 8);
}

TEST_CASE("a product of few rows, columns or terms is not computed in whole tiles",
          "[compiler][codegen_llvm]") {
  Target target = WithAmx("x86-64-v4");
  const ProductCase cases[] = {
      {"one row", OpKind::kMatMul, {1, 128}, {128, 96}, {1, 96}},
      {"three columns", OpKind::kMatMul, {64, 128}, {128, 3}, {64, 3}},
      {"twelve terms", OpKind::kMatMul, {64, 12}, {12, 96}, {64, 96}},
      {"five terms", OpKind::kMatMul, {64, 5}, {5, 96}, {64, 96}},
  };
  for (const ProductCase& c : cases) {
    std::string text = TextAt(Stage::kScheduled, FloatProduct(c), target, NumericMode::kBf16);
    CHECK(text.find("tile_dot") == std::string::npos);
  }
}

}  // namespace tcc
