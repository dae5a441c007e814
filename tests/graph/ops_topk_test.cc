#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "graph/passes/fuse_graph.h"
#include "graph/passes/graph_pipeline.h"
#include "graph/variants/task.h"
#include "ir/text/printer.h"
#include "support/random.h"
#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

std::vector<Tensor> TopK(const Tensor& x, int64_t k, int64_t axis, bool largest) {
  StatusOr<std::vector<Tensor>> results =
      Run({.op = OpKind::kTopK,
           .inputs = {x, I64({1}, {k})},
           .attributes = {{"axis", axis}, {"largest", int64_t{largest}}},
           .constants = {1},
           .outputs = 2});
  INFO(results.status());
  REQUIRE(results.ok());
  return *results;
}

}  // namespace

TEST_CASE("the best k come in order, of equals the first one first", "[graph][topk]") {
  std::vector<Tensor> best = TopK(F32({2, 4}, {1, 3, 3, 2, 0, 0, -1, 0}), 3, 1, true);
  CHECK(ValuesOf(best[0]) == Doubles{3, 3, 2, 0, 0, 0});
  CHECK(ValuesOf(best[1]) == Doubles{1, 2, 3, 0, 1, 3});
  best = TopK(F32({2, 4}, {1, 3, 3, 2, 0, 0, -1, 0}), 1, 0, false);
  CHECK(best[0].shape == Ints{1, 4});
  CHECK(ValuesOf(best[0]) == Doubles{0, 0, -1, 0});
  CHECK(ValuesOf(best[1]) == Doubles{1, 1, 1, 1});
}

TEST_CASE("NaN is greater than every number", "[graph][topk]") {
  Tensor x = F32({5}, {1, NAN, INFINITY, NAN, -INFINITY});
  CHECK(ValuesOf(TopK(x, 5, 0, true)[1]) == Doubles{1, 3, 2, 0, 4});
  CHECK(ValuesOf(TopK(x, 5, 0, false)[1]) == Doubles{4, 0, 2, 1, 3});
}

// Lengths of one block and of several, cut off or without a partner; numbers of results that runs
// do and do not reach.
TEST_CASE("any number of the best of any length agrees with a stable sort", "[graph][topk]") {
  Random random(1);
  for (int64_t n : {1, 2, 3, 5, 8, 33, 64, 65, 130, 200, 321}) {
    Doubles values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(random.Below(6)));
    Doubles order(n);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](double a, double b) {
      return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
    });
    for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{5}, int64_t{64}, n / 2, n}) {
      if (k > n) continue;
      INFO("n " << n << " k " << k);
      Doubles expected(order.begin(), order.begin() + k);
      CHECK(ValuesOf(TopK(F32({n}, values), k, 0, true)[1]) == expected);
    }
  }
}

// Numbers of groups that do and do not divide the length, and groups of groups.
TEST_CASE("a few of many are selected before they are sorted", "[graph][topk]") {
  Random random(2);
  for (bool largest : {true, false}) {
    for (int64_t n : {512, 521, 1000, 7680}) {
      for (int64_t k : {1, 3, 50, 64}) {
        INFO("n " << n << " k " << k << " largest " << largest);
        Doubles values;
        for (int64_t i = 0; i < 2 * n; ++i) {
          double value = static_cast<double>(random.Below(40)) - 20;
          values.push_back(random.OneIn(500) ? NAN : random.OneIn(300) ? -INFINITY : value);
        }
        Doubles expected;
        for (int64_t column = 0; column < 2; ++column) {
          Doubles order(n);
          std::iota(order.begin(), order.end(), 0);
          auto at = [&](double i) { return values[2 * static_cast<size_t>(i) + column]; };
          auto is_greater = [](double a, double b) {
            return std::isnan(a) ? !std::isnan(b) : a > b;
          };
          std::ranges::stable_sort(order, [&](double a, double b) {
            return largest ? is_greater(at(a), at(b)) : is_greater(at(b), at(a));
          });
          expected.insert(expected.end(), order.begin(), order.begin() + k);
        }
        Doubles got = ValuesOf(TopK(F32({n, 2}, values), k, 0, largest)[1]);
        for (int64_t i = 0; i < k; ++i) {
          CHECK(got[2 * i] == expected[i]);
          CHECK(got[2 * i + 1] == expected[k + i]);
        }
      }
    }
  }
}

TEST_CASE("the least integers of many are selected, too", "[graph][topk]") {
  Random random(3);
  Tensor x = MakeZeroTensor(kInt32, {1500});
  std::vector<std::pair<int64_t, int64_t>> order;
  for (int64_t i = 0; i < 1500; ++i) {
    int64_t value = random.Below(200) == 0 ? INT32_MIN : random.Between(-90, 90);
    SetElementInt(x, i, value);
    order.emplace_back(value, i);
  }
  std::ranges::sort(order);
  Doubles got = ValuesOf(TopK(x, 40, 0, false)[1]);
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == static_cast<double>(order[i].second));
}

TEST_CASE("a TopK of many out of many does not double its kernel with each step of a search",
          "[graph][topk]") {
  TestGraph builder;
  ValueId x = builder.Input("x", kFloat32, {1, 4000});
  ValueId k = builder.Constant("k", I64({1}, {300}));
  builder.Output(builder.Add("best", OpKind::kTopK, {x, k}, {{"axis", int64_t{1}}}));
  Graph graph = builder.Build();
  REQUIRE(RunGraphPasses(graph).ok());
  StatusOr<Task> task = BuildTask(graph, FuseGraph(graph)[0]);
  INFO(task.status());
  REQUIRE(task.ok());
  // Fifty steps of at most kMaxWrittenSize nodes; it was some 3^9 for each merge.
  CHECK(Print(task->variants[0].fn).size() < 1000000);
}
