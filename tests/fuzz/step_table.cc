#include "tests/fuzz/step_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tests/programs/random_step.h"

namespace tcc {
namespace {

std::string KeyOf(std::string_view op, std::string_view step) {
  return fmt::format("pair {} x {}", op, step);
}

// Steps that are never legal on some operators. With `only` set, the operators are those that it is
// legal on.
struct Never {
  std::string_view step;
  std::vector<std::string_view> ops;
  bool only;
  std::string_view why;
};

const std::vector<Never>& NeverRows() {
  using Ops = std::vector<std::string_view>;
  static const Ops kMaps = {"transpose", "gather", "gather_el", "stencil"};
  static const Ops kWithoutWeights = {"max_pool",  "avg_pool", "softmax",
                                      "reduction", "arg_max",  "transpose"};
  static const Ops kProducts = {"matmul", "gemm",    "conv1d",  "conv2d",
                                "conv3d", "strided", "dilated", "transposed"};
  static const std::vector<Never> kRows = {
      {"decompose_reduction", kMaps, false, "there is no reduction"},
      {"rfactor", kMaps, false, "there is no reduction"},
      {"rfactor_tile", kMaps, false, "there is no reduction"},
      {"rfactor_tile", {"total"}, false, "it is decomposed"},
      {"prepack", kWithoutWeights, false, "there is nothing constant"},
      {"tensorize", kProducts, true, "no sum of products over two plain axes"},
  };
  return kRows;
}

bool Has(const std::vector<std::string_view>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

}  // namespace

void CountSteps(const std::string& op, const Trace& trace, Histogram& histogram) {
  for (const Step& step : trace.steps)
    ++histogram[KeyOf(op, StepNames()[static_cast<size_t>(step.kind())])];
}

std::string_view WhyNever(std::string_view op, std::string_view step) {
  for (const Never& row : NeverRows()) {
    if (row.step == step && Has(row.ops, op) != row.only) return row.why;
  }
  return "";
}

void ReportStepTable(std::span<const std::string> ops, int64_t points, FuzzResult& result) {
  fmt::print("{:20}", "");
  for (const std::string& op : ops) fmt::print(" {:>10}", op);
  fmt::print("\n");
  std::vector<std::string> missed, impossible;
  for (std::string_view step : StepNames()) {
    fmt::print("{:20}", step);
    for (const std::string& op : ops) {
      std::string pair = KeyOf(op, step).substr(5);
      auto count = result.histogram.extract(KeyOf(op, step));
      bool never = !WhyNever(op, step).empty();
      if (!count && !never) missed.push_back(pair);
      if (count && never) impossible.push_back(pair);
      fmt::print(" {:>10}", count ? std::to_string(count.mapped()) : never ? "-" : "0");
    }
    fmt::print("\n");
  }
  if (!missed.empty()) fmt::print("legal pairs that were not drawn: {}\n", fmt::join(missed, ", "));
  if (!impossible.empty()) {
    fmt::print("drawn though they are said never to be legal: {}\n", fmt::join(impossible, ", "));
  }
  result.failed += std::ssize(impossible);
  if (points >= kPointsForAllPairs) result.failed += std::ssize(missed);
}

}  // namespace tcc
