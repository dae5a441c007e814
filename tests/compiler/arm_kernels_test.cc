// Kernels for aarch64, compiled on any machine.

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <regex>

#include "compiler/dump_stage.h"
#include "models/zoo/graph_builder.h"
#include "models/zoo/zoo.h"
#include "runtime/executor/module.h"
#include "tests/compiler/product_graphs.h"
#include "tests/compiler/run_compiled.h"

namespace tcc {
namespace {

constexpr const char* kRows[] = {"aarch64-v8.2", "aarch64-v8.6", "aarch64-sve", "aarch64-sve256"};

Graph Product() {
  GraphBuilder builder("product", 5);
  ValueId x = builder.Input("x", {64, 64});
  ValueId w = builder.Weight("w", {64, 128}, 0, 1);
  builder.Output(builder.Emit("y", OpKind::kMatMul, {x, w}), {64, 128});
  return builder.Take();
}

uint16_t MachineOf(std::span<const uint8_t> object) {
  Elf64_Ehdr header;
  REQUIRE(object.size() >= sizeof(header));
  std::memcpy(&header, object.data(), sizeof(header));
  return header.e_machine;
}

int CountOf(const std::string& text, const char* pattern) {
  std::regex instruction(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), instruction),
                                        std::sregex_iterator()));
}

}  // namespace

TEST_CASE("networks compile for aarch64 and are refused on other CPUs by both names",
          "[compiler][arm]") {
  for (const std::string& name : ZooNames()) {
    Graph graph = *BuildZoo(name, {.small = true});
    for (const char* row : kRows) {
      INFO(name << " for " << row);
      Artefact artefact = Compiled(graph, row);
      CHECK(MachineOf(artefact.kernels.bytes) == EM_AARCH64);
      for (const std::string& feature : artefact.metadata.cpu_features) {
        CHECK(feature.find("avx") == std::string::npos);
      }
      if (kHostArch == CpuArch::kArm64) continue;
      Status status = Module::FromArtefact(std::move(artefact)).status();
      CHECK(status.code() == absl::StatusCode::kUnavailable);
      CHECK(Message(status) == "kernels are for aarch64; this CPU is x86-64");
    }
  }
}

TEST_CASE("bytes are multiplied in tiles where the CPU has smmla", "[compiler][arm]") {
  const ProductCase window = {"window",        OpKind::kConvInteger,
                              {1, 64, 13, 14}, {40, 64, 3, 3},
                              {1, 40, 13, 14}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}};
  const ProductCase rows = {"rows", OpKind::kMatMulInteger, {37, 770}, {770, 130}, {37, 130}};
  const ProductCase row = {"one row", OpKind::kMatMulInteger, {1, 128}, {128, 96}, {1, 96}};
  auto text = [](const Graph& graph, const char* target) {
    DumpOptions options;
    options.target = *FindTarget(target);
    options.stage = Stage::kAsm;
    return DumpStage(graph, options).value();
  };
  for (const ProductCase& c : {window, rows}) {
    INFO(c.name);
    for (const char* target : {"aarch64-v8.6", "aarch64-sve", "aarch64-sve256"}) {
      INFO(target);
      const std::string of_signed = text(SignedByteProduct(c), target);
      CHECK(CountOf(of_signed, R"(\tsmmla\s)") >= 8);
      const std::string of_unsigned = text(ByteProduct(c), target);
      CHECK(CountOf(of_unsigned, R"(\tusmmla\s)") >= 8);
      // Sums stay in registers.
      const std::regex stored(R"(mmla\s(v\d+)\.4s[^\n]*\n\tstr\s)");
      CHECK_FALSE(std::regex_search(of_signed, stored));
    }
    const std::string by_vectors = text(SignedByteProduct(c), "aarch64-v8.2");
    CHECK(CountOf(by_vectors, "mmla") == 0);
    CHECK(CountOf(by_vectors, R"(\tsdot\s)") > 0);
  }
  CHECK(CountOf(text(SignedByteProduct(row), "aarch64-v8.6"), "mmla") == 0);
}

TEST_CASE("a product on aarch64 loads vectors and multiplies by their lanes", "[compiler][arm]") {
  for (const char* row : {"aarch64-v8.2", "aarch64-v8.6"}) {
    DumpOptions options;
    options.target = *FindTarget(row);
    options.stage = Stage::kAsm;
    const std::string text = DumpStage(Product(), options).value();
    INFO(text);
    const int all = CountOf(text, R"(fmla\s+v\d+\.4s)");
    const int by_element = CountOf(text, R"(fmla\s+v\d+\.4s, v\d+\.4s, v\d+\.s\[\d\])");
    CHECK(all >= 16);
    CHECK(by_element == all);
    CHECK(CountOf(text, R"(ldr\s+s\d+)") == 0);
    CHECK(CountOf(text, R"(fmul\s+v\d+\.4s)") == 0);
  }
}

}  // namespace tcc
