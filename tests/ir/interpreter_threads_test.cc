#include <catch2/catch.hpp>

#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward,
                                   ThreadOrder::kShuffled};

InterpretOptions In(ThreadOrder order) {
  return {.order = order, .seed = 7, .detect_races = true};
}

// Reverses blocks of 5 of A through shared memory; `barrier` stands between copy and use.
std::string ReverseText(const std::string& barrier) {
  return R"(fn f(A: f32[20], B: f32[20]) scheduled {
    for o in 0..4 blockIdx.x @b/o {
      alloc S: f32[20] shared window [o * 5] size [5]
      for t in 0..5 threadIdx.x @s/t {
        block s(v: spatial 20 = o * 5 + t) { S[v] = A[v] }
      }
      )" +
         barrier + R"(
      for t in 0..5 threadIdx.x @b/t {
        block b(w: spatial 4 = o, x: spatial 5 = t) { B[w * 5 + x] = S[w * 5 + 4 - x] }
      }
    }
  })";
}

}  // namespace

TEST_CASE("threads meet at barriers, in every order", "[ir][interpreter][threads]") {
  for (ThreadOrder order : kOrders) {
    std::vector<Tensor> tensors = {RandomTensor({20}, 1), BlankTensor({20})};
    InterpretReport report = RunText(ReverseText("barrier(shared)"), tensors, In(order));
    CHECK(report.barriers == 4);
    std::vector<double> in = ValuesOf(tensors[0]);
    std::vector<double> out = ValuesOf(tensors[1]);
    for (int i = 0; i < 20; ++i) REQUIRE(out[i] == in[i / 5 * 5 + 4 - i % 5]);
  }
}

TEST_CASE("a missing barrier is caught in every order", "[ir][interpreter][threads]") {
  for (ThreadOrder order : kOrders) {
    Status status =
        FailureOf(ReverseText(""), {RandomTensor({20}, 1), BlankTensor({20})}, In(order));
    INFO(status);
    CHECK(Message(status).find("never written") != std::string::npos);
  }
}

TEST_CASE("threads that share a cell without a barrier race", "[ir][interpreter][threads]") {
  auto text = [](const std::string& barrier) {
    return R"(fn f(A: f32[5], B: f32[5]) scheduled {
      for t in 0..5 threadIdx.x @a/t {
        block a(v: spatial 5 = t) { A[v] = 1.0 }
        )" +
           barrier + R"(
        block b(v: spatial 5 = t) { B[v] = A[4 - v] }
      }
    })";
  };
  for (ThreadOrder order : kOrders) {
    std::vector<Tensor> tensors = {RandomTensor({5}, 1), BlankTensor({5})};
    Status status = FailureOf(text(""), tensors, In(order));
    INFO(status);
    CHECK(Message(status).find("a race") != std::string::npos);
    RunText(text("barrier(global)"), tensors, In(order));
    CHECK(ValuesOf(tensors[1]) == std::vector<double>(5, 1));
  }
}

TEST_CASE("a warp does its intrinsics once, in order with what its lanes do",
          "[ir][interpreter][threads]") {
  // Lane t sets cell t, the warp sums neighbours in place, and each lane reads its own.
  const std::string text = R"(fn f(A: f32[2, 32], B: f32[2, 32]) scheduled {
    for w in 0..2 threadIdx.y @f/w {
      alloc T: f32[2, 32] warp window [w, 0] size [1, 32]
      for t in 0..32 threadIdx.x @a/t {
        block a(v: spatial 2 = w, u: spatial 32 = t) { T[v, u] = A[v, u] }
      }
      for r in 0..2 @i/r {
        intrinsic sum_neighbours {
          for s in 0..31 @i/s {
            block i(v: spatial 2 = w, u: spatial 31 = s) { T[v, u] = T[v, u] + T[v, u + 1] }
          }
        }
      }
      for t in 0..32 threadIdx.x @b/t {
        block b(v: spatial 2 = w, u: spatial 32 = t) { B[v, u] = T[v, u] }
      }
    }
  })";
  for (ThreadOrder order : kOrders) {
    std::vector<Tensor> tensors = {RandomTensor({2, 32}, 1), BlankTensor({2, 32})};
    RunText(text, tensors, In(order));
    std::vector<double> want = ValuesOf(tensors[0]);
    for (int w = 0; w < 2; ++w) {
      for (int round = 0; round < 2; ++round) {
        for (int t = 0; t < 31; ++t) want[w * 32 + t] += want[w * 32 + t + 1];
      }
    }
    std::vector<double> got = ValuesOf(tensors[1]);
    for (size_t i = 0; i < want.size(); ++i) REQUIRE(got[i] == Approx(want[i]).margin(1e-5));
  }
}

TEST_CASE("shared memory is the same in each lifetime of a buffer", "[ir][interpreter][threads]") {
  auto text = [](const std::string& barrier) {
    return R"(fn f(A: f32[5], B: f32[5]) scheduled {
      for s in 0..3 @s/s {
        )" +
           barrier + R"(
        alloc S: f32[5] shared
        for t in 0..5 threadIdx.x @a/t { block a(v: spatial 5 = t) { S[v] = A[v] } }
        barrier(shared)
        for t in 0..5 threadIdx.x @b/t { block b(v: spatial 5 = t) { B[v] = S[4 - v] } }
      }
    })";
  };
  for (ThreadOrder order : kOrders) {
    std::vector<Tensor> tensors = {RandomTensor({5}, 1), BlankTensor({5})};
    Status status = FailureOf(text(""), tensors, In(order));
    INFO(status);
    CHECK(Message(status).find("a race") != std::string::npos);
    RunText(text("barrier(shared)"), tensors, In(order));
  }
}

TEST_CASE("a leaf runs below the extent of its innermost loop of an axis",
          "[ir][interpreter][threads]") {
  // The launch has 8 threads: 3 store to A; the inner loop rebinds the axis for B.
  std::vector<Tensor> tensors = {BlankTensor({8}), BlankTensor({8})};
  InterpretReport report = RunText(R"(fn f(A: f32[8], B: f32[8]) scheduled {
    for t in 0..3 threadIdx.x @a/t {
      block a(v: spatial 8 = t) { A[v] = 1.0 }
      for u in 0..8 threadIdx.x @b/u {
        block b(v: spatial 8 = u) { B[v] = 2.0 }
      }
    }
  })",
                                   tensors, {.detect_races = true});
  CHECK(report.instances_executed == 11);
  CHECK(ValuesOf(tensors[0])[2] == 1);
  CHECK(std::isnan(ValuesOf(tensors[0])[3]));
  CHECK(ValuesOf(tensors[1]) == std::vector<double>(8, 2));
}

TEST_CASE("a leaf that ignores an axis stores to shared or global memory at index 0 of it",
          "[ir][interpreter][threads]") {
  std::vector<Tensor> tensors = {BlankTensor({4}), BlankTensor({4})};
  InterpretReport report = RunText(R"(fn f(A: f32[4], B: f32[4]) scheduled {
    for y in 0..2 threadIdx.y @b/y {
      for v in 0..3 vthread @b/v {
        for x in 0..4 threadIdx.x @b/x {
          block once(i: spatial 4 = x) { A[i] = 1.0 }
          alloc L: f32[1] local
          block each(k: spatial 1 = 0) { L[k] = 5.0 }
          block b(i: spatial 4 = x) { B[i] = L[0] }
        }
      }
    }
  })",
                                   tensors, {.detect_races = true});
  // once and b: 4 threads; each, into registers: 2 * 3 * 4.
  CHECK(report.instances_executed == 32);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>(4, 5));
}

TEST_CASE("local buffers have a version for each enclosing vthread", "[ir][interpreter][threads]") {
  for (ThreadOrder order : kOrders) {
    std::vector<Tensor> tensors = {RandomTensor({6}, 3), BlankTensor({6})};
    RunText(R"(fn f(A: f32[6], B: f32[6]) scheduled {
      for v in 0..3 vthread @b/v {
        for t in 0..2 threadIdx.x @b/t {
          alloc L: f32[1] local
          block a(i: spatial 6 = v * 2 + t) { L[0] = A[i] }
          barrier(shared)
          block b(i: spatial 6 = v * 2 + t) { B[i] = L[0] }
        }
      }
    })",
            tensors, In(order));
    CHECK(ValuesOf(tensors[0]) == ValuesOf(tensors[1]));
  }
}

TEST_CASE("a barrier that not all threads reach is reported", "[ir][interpreter][threads]") {
  Status status = FailureOf(R"(fn f(A: f32[4]) {
    for t in 0..4 threadIdx.x {
      for i in 0..t { barrier(shared) }
    }
  })",
                            {BlankTensor({4})});
  CHECK(Message(status).find("a barrier is not reached by all threads: the extent of loop i") !=
        std::string::npos);
}

TEST_CASE("an asynchronous copy is made by the threads of its innermost loops alone",
          "[ir][interpreter][threads]") {
  // 8 threads; those from 4 on would copy from beyond the end of A.
  std::vector<Tensor> tensors = {RandomTensor({4}, 5), BlankTensor({8})};
  RunText(
      "fn f(A: f32[4], B: f32[8]) scheduled { for t in 0..8 threadIdx.x @t { "
      "alloc S: f32[4] shared { "
      "for u in 0..4 threadIdx.x @u { async_copy S[u] from A[u] count 1 } "
      "async_commit async_wait(0) barrier(shared) "
      "block b(i: spatial 8 = t) { B[i] = S[i div 2] } } } }",
      tensors);
  std::vector<double> a = ValuesOf(tensors[0]);
  std::vector<double> b = ValuesOf(tensors[1]);
  for (size_t i = 0; i < 8; ++i) CHECK(b[i] == a[i / 2]);
}

TEST_CASE("zeros arrive where an asynchronous copy is not kept, whatever its source",
          "[ir][interpreter][threads]") {
  auto text = [](const char* keep, const char* before_wait) {
    return fmt::format(
        "fn f(A: f32[4], B: f32[8]) {{ alloc S: f32[8] {{ for i in 0..4 {{ "
        "async_copy S[i * 2] from A[i * 2 - 2] count 2 where {} }} async_commit {} async_wait(0) "
        "for i in 0..8 {{ B[i] = S[i] }} }} }}",
        keep, before_wait);
  };
  std::vector<Tensor> tensors = {RandomTensor({4}, 5), BlankTensor({8})};
  RunText(text("0 < i && i < 3", ""), tensors);
  std::vector<double> a = ValuesOf(tensors[0]);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>{0, 0, a[0], a[1], a[2], a[3], 0, 0});

  Status outside = FailureOf(text("i < 3", ""), tensors);
  CHECK(Message(outside).find("A[-2]") != std::string::npos);
  Status early = FailureOf(text("0 < i && i < 3", "B[0] = S[0]"), tensors);
  CHECK(Message(early).find("S[0] is read but was never written") != std::string::npos);
}

TEST_CASE("asynchronous copies arrive when they are awaited, not before",
          "[ir][interpreter][threads]") {
  std::string before =
      "fn f(A: f32[4], B: f32[4]) { alloc S: f32[4] { async_copy S[0] from A[0] count 4 "
      "async_commit ";
  std::vector<Tensor> tensors = {RandomTensor({4}, 5), BlankTensor({4})};
  RunText(before + "async_wait(0) for i in 0..4 { B[i] = S[i] } } }", tensors);
  CHECK(ValuesOf(tensors[0]) == ValuesOf(tensors[1]));
  Status early = FailureOf(before + "for i in 0..4 { B[i] = S[i] } async_wait(0) } }", tensors);
  CHECK(Message(early).find("S[0] is read but was never written") != std::string::npos);
}
