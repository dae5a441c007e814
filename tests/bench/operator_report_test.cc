#include "bench/operator_report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace tcc::test {
namespace {

OperatorResult Measured() {
  OperatorResult result;
  result.name = "matmul";
  result.target = "sm_86";
  result.flops = 2e9;
  result.bytes = 1e6;
  result.microseconds = 50;
  result.predicted_microseconds = 62.5;
  result.numeric = "fp16";
  result.ceiling_microseconds = 20;
  result.ceiling = "f16 mma";
  result.peak_gflops = 1e5;
  result.error = 300;
  result.peers = {{"cublas", "GemmEx (of 1)", "fp16", 40, 280},
                  {"cublas", "GemmEx (of 1)", "fp16, stored so", 25, 281}};
  result.warnings = {"kernel 'matmul' spills 24 bytes with 255 registers"};
  return result;
}

TEST_CASE("a table names the mode of ours, what its ceiling is, and the arithmetic of each peer",
          "[bench]") {
  std::string table = MarkdownTable({Measured()});
  CHECK_THAT(table,
             Catch::Contains("| matmul | fp16 | 50.00 |  | 62.50 | 40000 GFLOP/s | 40 % | f16 mma "
                             "| 300.00 | cublas | 40.00 | 1.25 | 280.00 | fp16 | GemmEx"));
  CHECK_THAT(table, Catch::Contains("| 25.00 | 2.00 | 281.00 | fp16, stored so | GemmEx"));
}

TEST_CASE("rows say what the compiler warns of", "[bench]") {
  auto rows = nlohmann::json::parse(JsonText({Measured()}));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["warnings"][0] == "kernel 'matmul' spills 24 bytes with 255 registers");
  CHECK(rows[0]["numeric"] == "fp16");
  CHECK(rows[0]["ceiling"] == "f16 mma");
  CHECK(rows[0]["predicted_us"] == 62.5);
  CHECK(rows[0]["peak_gflops"] == 1e5);
  CHECK(rows[1]["peer_numeric"] == "fp16, stored so");
  OperatorResult clean = Measured();
  clean.warnings.clear();
  CHECK_FALSE(nlohmann::json::parse(JsonText({clean}))[0].contains("warnings"));
}

TEST_CASE("a peer of another arithmetic is named so in the line of progress", "[bench]") {
  CHECK_THAT(ProgressLine(Measured()), Catch::Contains("ratio 1.25   cublas"));
  CHECK_THAT(ProgressLine(Measured()), Catch::EndsWith("ratio 2.00 (fp16, stored so)"));
}

}  // namespace
}  // namespace tcc::test
