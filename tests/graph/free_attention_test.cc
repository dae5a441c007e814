#include <catch2/catch.hpp>

#include "support/random.h"
#include "tests/graph/free_node.h"

using namespace tcc;

namespace {

// Heads of size 4, two of them for keys; everything but the heads is free.
FreeNode RandomAttention(Random& random) {
  int64_t batch = random.Between(1, 2);
  int64_t queries = random.Between(1, 5);
  int64_t past = random.Between(0, 1) * random.Between(1, 4);
  bool packed = random.OneIn(2);
  auto projection = [&](int64_t heads) {
    Ints shape = packed ? Ints{batch, queries, heads * 4} : Ints{batch, heads, queries, 4};
    return RandomF32(shape, random.Next());
  };
  FreeNode free = {.node = {.op = OpKind::kAttention,
                            .inputs = {projection(4), projection(2), projection(2)},
                            .attributes = {{"is_causal", random.Between(0, 1)}}},
                   .dims = {}};
  if (packed) {
    free.node.attributes["q_num_heads"] = int64_t{4};
    free.node.attributes["kv_num_heads"] = int64_t{2};
  }
  for (size_t i = 0; i < 3; ++i) {
    free.dims.push_back({i, 0, "B"});
    free.dims.push_back({i, packed ? size_t{1} : size_t{2}, i == 0 ? "S" : "T"});
  }
  free.node.inputs.resize(6);
  if (random.OneIn(2)) {
    free.node.inputs[3] = RandomF32({queries, past + queries}, random.Next());
    free.dims.push_back({3, 0, "S"});
    free.dims.push_back({3, 1, "M"});
  }
  if (past > 0) {
    for (size_t i : {4, 5}) {
      free.node.inputs[i] = RandomF32({batch, 2, past, 4}, random.Next());
      free.dims.push_back({i, 0, "B"});
      free.dims.push_back({i, 2, i == 4 ? "P" : "Q"});
    }
    free.node.outputs = 3;
  }
  return free;
}

}  // namespace

TEST_CASE("attention of free lengths is that of bound ones", "[graph][ops][free]") {
  Random random(21);
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    CHECK(CheckSameAsBound(RandomAttention(random)));
  }
}

TEST_CASE("lengths that attention takes to be equal are noted", "[graph][ops][free]") {
  FreeNode free = {.node = {.op = OpKind::kAttention,
                            .inputs = {RandomF32({1, 2, 3, 4}, 1), RandomF32({1, 2, 3, 4}, 2),
                                       RandomF32({1, 2, 3, 4}, 3), RandomF32({3, 3}, 4)}},
                   .dims = {{1, 2, "T"}, {2, 2, "T"}, {3, 1, "M"}}};
  CHECK(RunFree(free)->agrees);
  free.node.inputs[3] = RandomF32({3, 2}, 4);
  CHECK_FALSE(RunFree(free)->agrees);
  free.dims = {{0, 3, "D"}, {1, 3, "D"}};
  CHECK(FreeShapeOf(free) ==
        "node 'node' (Attention): heads of size D, no scale; expected known dimensions");
}

TEST_CASE("a free number of heads, width or head size is refused by name", "[graph][ops][free]") {
  Tensor packed = RandomF32({1, 3, 4}, 1);
  FreeNode free = {
      .node = {.op = OpKind::kAttention,
               .inputs = {packed, packed, packed},
               .attributes = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}},
      .dims = {{0, 2, "W"}}};
  CHECK(FreeShapeOf(free) ==
        "node 'node' (Attention): input 0 ('in0', shape 1x3xW) in dimension 2; expected known "
        "dimensions");
}

TEST_CASE("keys are transposed for as many queries as are usual", "[graph][ops][free]") {
  FreeNode free = {.node = {.op = OpKind::kAttention,
                            .inputs = {RandomF32({1, 2, 3, 4}, 1), RandomF32({1, 2, 5, 4}, 2),
                                       RandomF32({1, 2, 5, 4}, 3)}},
                   .dims = {{0, 2, "S"}},
                   .high = 3};
  CHECK(RunFree(free)->program.find("columns") == std::string::npos);
  free.high = 64;
  CHECK(RunFree(free)->program.find("columns") != std::string::npos);
  CHECK(CheckSameAsBound(free));
}

TEST_CASE("positions of a free length are rotated as of a bound one", "[graph][ops][free]") {
  for (int64_t length = 1; length <= 5; ++length) {
    INFO("length " << length);
    FreeNode free = {
        .node = {.op = OpKind::kRotaryEmbedding,
                 .inputs = {RandomF32({2, 3, length, 8}, 1), RandomF32({2, length, 4}, 2),
                            RandomF32({2, length, 4}, 3)}},
        .dims = {{0, 0, "B"}, {0, 2, "S"}, {1, 0, "B"}, {1, 1, "S"}, {2, 1, "T"}}};
    CHECK(CheckSameAsBound(free));
    FreeNode table = {.node = {.op = OpKind::kRotaryEmbedding,
                               .inputs = {RandomF32({2, length, 24}, 1), RandomF32({9, 4}, 2),
                                          RandomF32({9, 4}, 3), I64({1, length}, Ints(length, 3))},
                               .attributes = {{"num_heads", int64_t{3}}}},
                      .dims = {{0, 0, "B"}, {0, 1, "S"}, {1, 0, "R"}, {2, 0, "R"}, {3, 1, "T"}}};
    CHECK(CheckSameAsBound(table));
  }
}

TEST_CASE("normalizations over free images are those over bound ones", "[graph][ops][free]") {
  Random random(22);
  for (int round = 0; round < 20; ++round) {
    INFO("round " << round);
    Tensor image =
        RandomF32({random.Between(1, 2), 4, random.Between(1, 5), random.Between(1, 5)}, round);
    auto parameter = [&] { return RandomF32({4}, random.Next()); };
    FreeNode free = {
        .node = {.op = OpKind::kInstanceNormalization, .inputs = {image, parameter(), parameter()}},
        .dims = {{0, 0, "N"}, {0, 2, "H"}, {0, 3, "W"}},
        .tolerance = 1e-4};
    CHECK(CheckSameAsBound(free));
    free.node.op = OpKind::kGroupNormalization;
    free.node.attributes["num_groups"] = int64_t{2};
    CHECK(CheckSameAsBound(free));
    free.node = {.op = OpKind::kLRN, .inputs = {image}, .attributes = {{"size", int64_t{3}}}};
    CHECK(CheckSameAsBound(free));
    for (OpKind op : {OpKind::kGlobalAveragePool, OpKind::kGlobalMaxPool, OpKind::kGlobalLpPool}) {
      free.node = {.op = op, .inputs = {image}};
      CHECK(CheckSameAsBound(free));
    }
  }
}
