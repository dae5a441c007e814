#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/graph/one_node.h"

using namespace tcc;

namespace {

using Doubles = std::vector<double>;

// One batch, one query head of size 1: scores are the keys' values.
Doubles Attended(const Doubles& keys, const Doubles& values, const Attributes& attributes = {},
                 const Tensor& mask = {}) {
  auto count = static_cast<int64_t>(keys.size());
  Tensor q = F32({1, 1, 1, 1}, {1});
  Tensor k = F32({1, 1, count, 1}, keys);
  Tensor v = F32({1, 1, count, 1}, values);
  return ValuesOf(
      ResultOf({.op = OpKind::kAttention, .inputs = {q, k, v, mask}, .attributes = attributes}));
}

// Four query heads of size 3, two of keys; causal, with a mask for each head.
struct Problem {
  int64_t queries = 1;
  int64_t keys = 1;
  Tensor q = RandomF32({1, 4, queries, 3}, 1);
  Tensor k = RandomF32({1, 2, keys, 3}, 2);
  Tensor v = RandomF32({1, 2, keys, 2}, 3);
  Tensor mask = RandomF32({4, 1, keys}, 4);

  OneNode AsNode() const {
    return {.op = OpKind::kAttention,
            .inputs = {q, k, v, mask},
            .attributes = {{"is_causal", int64_t{1}}, {"scale", 0.5}}};
  }

  // From the definition, in double.
  Doubles Expected() const {
    Doubles result;
    for (int64_t row = 0; row < 4 * queries; ++row) {
      int64_t head = row / queries;
      int64_t seen = std::min(row % queries + 1, keys);
      Doubles weights;
      for (int64_t t = 0; t < seen; ++t) {
        double score = 0;
        for (int64_t d = 0; d < 3; ++d) {
          score +=
              ElementAsDouble(q, row * 3 + d) * ElementAsDouble(k, (head / 2 * keys + t) * 3 + d);
        }
        weights.push_back(std::exp(0.5 * score + ElementAsDouble(mask, head * keys + t)));
      }
      double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (int64_t d = 0; d < 2; ++d) {
        double sum = 0;
        for (int64_t t = 0; t < seen; ++t) {
          sum += weights[t] * ElementAsDouble(v, (head / 2 * keys + t) * 2 + d);
        }
        result.push_back(sum / total);
      }
    }
    return result;
  }
};

}  // namespace

TEST_CASE("attention weighs values by the softmax of scores", "[graph][ops]") {
  double a = std::exp(2) / (std::exp(2) + std::exp(-1));
  CHECK(Attended({2, -1}, {10, 20})[0] == Approx(10 * a + 20 * (1 - a)));
  double b = 1 / (1 + std::exp(-1.5));
  CHECK(Attended({2, -1}, {10, 20}, {{"scale", 0.5}})[0] == Approx(10 * b + 20 * (1 - b)));
  double gap = 3 * (std::tanh(2.0 / 3) - std::tanh(-1.0 / 3));
  double c = 1 / (1 + std::exp(-gap));
  CHECK(Attended({2, -1}, {10, 20}, {{"softcap", 3.0}})[0] == Approx(10 * c + 20 * (1 - c)));
}

TEST_CASE("a mask hides keys or is added to scores", "[graph][ops]") {
  Tensor hides = Of(kBool, {1, 2}, {0, 1});
  CHECK(Attended({2, -1}, {10, 20}, {}, hides)[0] == 20);
  double a = 1 / (1 + std::exp(-3.0 - 1));
  CHECK(Attended({2, -1}, {10, 20}, {}, F32({1, 2}, {1, 0}))[0] == Approx(10 * a + 20 * (1 - a)));
}

TEST_CASE("keys beyond the mask's columns are not seen", "[graph][ops]") {
  CHECK(Attended({2, -1, 50}, {10, 20, 30}, {}, Of(kBool, {1, 2}, {0, 1}))[0] == 20);
}

TEST_CASE("a query that sees no key gives 0 and no NaN", "[graph][ops]") {
  CHECK(Attended({2, -1}, {10, 20}, {}, Of(kBool, {1, 2}, {0, 0})) == Doubles{0});
}

TEST_CASE("causal queries see the past and what came until them", "[graph][ops]") {
  // Equal scores: the result is the mean of the values seen.
  Tensor q = F32({1, 1, 2, 1}, {0, 0});
  Tensor k = F32({1, 1, 2, 1}, {0, 0});
  Tensor v = F32({1, 1, 2, 1}, {3, 6});
  Tensor past = F32({1, 1, 1, 1}, {0});
  Tensor past_value = F32({1, 1, 1, 1}, {9});
  StatusOr<std::vector<Tensor>> got = Run({.op = OpKind::kAttention,
                                           .inputs = {q, k, v, Tensor{}, past, past_value},
                                           .attributes = {{"is_causal", int64_t{1}}},
                                           .outputs = 3});
  INFO(Message(got.status()));
  REQUIRE(got.ok());
  CHECK(ValuesOf((*got)[0]) == Doubles{6, 6});
  CHECK(ValuesOf((*got)[2]) == Doubles{9, 3, 6});
  CHECK((*got)[1].shape == Ints{1, 1, 3, 1});
}

TEST_CASE("query heads share keys and values, packed or not", "[graph][ops]") {
  // Four query heads, two of keys; one key: the result is the value of the head's group.
  Tensor q = RandomF32({1, 3, 8}, 1);
  Tensor k = RandomF32({1, 1, 4}, 2);
  Tensor v = F32({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  Tensor packed =
      ResultOf({.op = OpKind::kAttention,
                .inputs = {q, k, v},
                .attributes = {{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}}});
  CHECK(packed.shape == Ints{1, 3, 12});
  Doubles row = {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6};
  Doubles expected;
  for (int i = 0; i < 3; ++i) expected.insert(expected.end(), row.begin(), row.end());
  CHECK(ValuesOf(packed) == expected);
}

TEST_CASE("a query that sees no key gives NaN where that is asked for", "[graph][ops]") {
  Tensor blind = Of(kBool, {1, 2}, {0, 0});
  CHECK(std::isnan(Attended({2, -1}, {10, 20}, {{"empty_rows", std::string("nan")}}, blind)[0]));
}

TEST_CASE("rows of scores are right whatever fills up their last vector", "[graph][ops]") {
  // Below and above the length from which keys are transposed and rows filled up.
  for (int64_t queries : {3, 5}) {
    for (int64_t keys : {7, 16, 19, 32}) {
      Problem problem{.queries = queries, .keys = keys};
      Doubles expected = problem.Expected();
      Doubles got = ValuesOf(ResultOf(problem.AsNode()));
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-6));
    }
  }
}

TEST_CASE("attention as one reduction gives what its parts give", "[graph][ops]") {
  Attributes tuple = {{"core", std::string("tuple")}};
  for (int64_t keys : {1, 5, 20}) {
    for (int64_t queries : {1, 3, 6}) {
      Problem problem{.queries = queries, .keys = keys};
      OneNode node = problem.AsNode();
      node.attributes.merge(Attributes(tuple));
      Doubles got = ValuesOf(ResultOf(node));
      Doubles expected = problem.Expected();
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(expected[i]).margin(1e-6));
    }
  }
  CHECK(Attended({2, -1}, {10, 20}, tuple, Of(kBool, {1, 2}, {0, 1}))[0] == 20);
  CHECK(Attended({2, -1}, {10, 20}, tuple, Of(kBool, {1, 2}, {0, 0})) == Doubles{0});
  tuple["empty_rows"] = std::string("nan");
  CHECK(std::isnan(Attended({2, -1}, {10, 20}, tuple, Of(kBool, {1, 2}, {0, 0}))[0]));
}

TEST_CASE("attention over heads that do not divide is refused", "[graph][ops][error]") {
  CHECK(ErrorOf({.op = OpKind::kAttention,
                 .inputs = {RandomF32({1, 3, 2, 4}, 1), RandomF32({1, 2, 2, 4}, 2),
                            RandomF32({1, 2, 2, 4}, 3)}}) ==
        "node 'node' (Attention): 3 query heads and 2 key heads; expected a multiple");
}

TEST_CASE("a rotary embedding turns pairs by their angles", "[graph][ops]") {
  // One head of six elements; the last two stay.
  Tensor x = F32({1, 1, 1, 6}, {1, 2, 3, 4, 5, 6});
  Tensor cosines = F32({3, 2}, {9, 9, 0, 1, 9, 9});
  Tensor sines = F32({3, 2}, {9, 9, 1, 0, 9, 9});
  auto rotated = [&](int64_t interleaved) {
    return ValuesOf(ResultOf(
        {.op = OpKind::kRotaryEmbedding,
         .inputs = {x, cosines, sines, I64({1, 1}, {1})},
         .attributes = {{"interleaved", interleaved}, {"rotary_embedding_dim", int64_t{4}}}}));
  };
  // Pair 0 by a quarter turn, pair 1 not at all.
  CHECK(rotated(0) == Doubles{-3, 2, 1, 4, 5, 6});
  CHECK(rotated(1) == Doubles{-2, 1, 3, 4, 5, 6});
}

TEST_CASE("a rotary embedding finds the heads of packed elements", "[graph][ops]") {
  Tensor x = F32({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  Tensor cosines = F32({1, 2, 1}, {0, 1});
  Tensor sines = F32({1, 2, 1}, {1, 0});
  Tensor y = ResultOf({.op = OpKind::kRotaryEmbedding,
                       .inputs = {x, cosines, sines},
                       .attributes = {{"num_heads", int64_t{2}}}});
  CHECK(ValuesOf(y) == Doubles{-2, 1, -4, 3, 5, 6, 7, 8});
}
