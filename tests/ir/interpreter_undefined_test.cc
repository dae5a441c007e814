#include <catch2/catch.hpp>

#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

void CheckFails(const std::string& text, const std::vector<Tensor>& tensors,
                const std::string& part, const InterpretOptions& options = {}) {
  for (int lanes : {1, 256}) {
    InterpretOptions with = options;
    with.max_lanes = lanes;
    Status status = FailureOf(text, tensors, with);
    INFO(text);
    INFO(status);
    REQUIRE(status.code() == absl::StatusCode::kInternal);
    CHECK(Message(status).find(part) != std::string::npos);
  }
}

Tensor Zeros(int64_t count) {
  return MakeZeroTensor(kFloat32, {count});
}

}  // namespace

TEST_CASE("an index outside the buffer is reported with its loops", "[ir][interpreter]") {
  CheckFails("fn f(A: f32[4], B: f32[5]) { for i in 0..5 { B[i] = A[i] } }", {Zeros(4), Zeros(5)},
             "A[4] lies outside dimension 0, which keeps [0, 4); in store to B i=4");
  CheckFails("fn f(B: f32[5]) { for i in 0..5 { B[i - 1] = 1.0 } }", {Zeros(5)}, "B[-1]");
}

TEST_CASE("an index outside the window is reported", "[ir][interpreter]") {
  CheckFails(R"(fn f(A: f32[8], B: f32[8]) scheduled {
    for i in 0..8 @b/i {
      alloc T: f32[8] local window [i] size [1]
      block b(v: spatial 8 = i) { T[v + 1] = A[v] }
    }
  })",
             {Zeros(8), Zeros(8)}, "T[1] lies outside dimension 0, which keeps [0, 1)");
}

TEST_CASE("a read of a cell never written is reported", "[ir][interpreter]") {
  for (const char* type : {"f32", "i32", "bool"}) {
    std::string text = R"(fn f(B: TYPE[4]) {
      alloc T: TYPE[4]
      for i in 0..3 { T[i] = B[i] }
      for i in 0..4 { B[i] = T[i] }
    })";
    while (text.find("TYPE") != std::string::npos) text.replace(text.find("TYPE"), 4, type);
    CheckFails(text, {MakeZeroTensor(*ParseDType(type), {4})},
               "T[3] is read but was never written");
  }
}

TEST_CASE("a read of a cell never written may give garbage", "[ir][interpreter]") {
  for (const char* type : {"f32", "i8", "i32", "i64"}) {
    INFO(type);
    std::string text = R"(fn f(B: TYPE[2]) {
      alloc T: TYPE[2]
      T[0] = B[0]
      for i in 0..2 { B[i] = T[i] }
    })";
    while (text.find("TYPE") != std::string::npos) text.replace(text.find("TYPE"), 4, type);
    std::vector<Tensor> tensors = {MakeZeroTensor(*ParseDType(type), {2})};
    RunText(text, tensors, {.reads_garbage = true});
    CHECK(ElementAsDouble(tensors[0], 0) == 0);
    CHECK_FALSE(ElementAsDouble(tensors[0], 1) < 64);
  }
}

TEST_CASE("a condition that reads memory waits for the conditions before it", "[ir][interpreter]") {
  // The second one is the same in all iterations of the inner loop.
  for (int lanes : {1, 256}) {
    std::vector<Tensor> tensors = {Zeros(4), Zeros(8)};
    RunText(R"(fn f(A: f32[4], B: f32[8]) lowered {
      for i in 0..2 { for j in 0..4 {
        if i * 4 + j < 3 { if A[i * 4] < 1.0 { B[i * 4 + j] = 1.0 } }
      } }
    })",
            tensors, {.max_lanes = lanes});
    CHECK(ValuesOf(tensors[1]) == std::vector<double>{1, 1, 1, 0, 0, 0, 0, 0});
  }
}

TEST_CASE("a buffer is undefined again each time its lifetime begins", "[ir][interpreter]") {
  CheckFails(R"(fn f(B: f32[4]) {
    for i in 0..2 {
      alloc T: f32[1]
      if i == 0 { T[0] = 1.0 }
      B[i] = T[0]
    }
  })",
             {Zeros(4)}, "T[0] is read but was never written");
}

TEST_CASE("division by zero is reported where it is performed", "[ir][interpreter]") {
  Tensor divisors = Values(kInt32, {2, 0, 3});
  Tensor out = MakeZeroTensor(kInt32, {3});
  CheckFails("fn f(A: i32[3], B: i32[3]) { for i in 0..3 { B[i] = 7:i32 div A[i] } }",
             {divisors, out}, "division of 7 by zero");
  std::vector<Tensor> tensors = {divisors, out};
  RunText(R"(fn f(A: i32[3], B: i32[3]) {
    for i in 0..3 { B[i] = select(A[i] != 0:i32, 7:i32 div A[i], -1:i32) }
  })",
          tensors);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>{3, -1, 2});
}

TEST_CASE("iterations of a parallel loop that share a cell are a race", "[ir][interpreter]") {
  const char* same_cell = "fn f(B: f32[1]) { for i in 0..4 parallel { B[0] = 1.0 } }";
  CheckFails(same_cell, {Zeros(1)}, "a race", {.detect_races = true});
  const char* neighbour = R"(fn f(B: f32[5]) {
    for i in 0..4 parallel { B[i] = B[i + 1] }
  })";
  CheckFails(neighbour, {Zeros(5)}, "a race", {.detect_races = true});
  std::vector<Tensor> tensors = {Zeros(5)};
  RunText("fn f(B: f32[5]) { for i in 0..5 parallel { B[i] = B[i] + 1.0 } }", tensors,
          {.detect_races = true});
  RunText(
      "fn f(B: f32[5]) { for k in 0..2 { for i in 0..5 parallel { B[4 - i] = B[4 - i] + 1.0 } } }",
      tensors, {.detect_races = true});
  CHECK(ValuesOf(tensors[0]) == std::vector<double>(5, 3));
}

TEST_CASE("wrong tensors and too many instances have their own codes", "[ir][interpreter]") {
  const char* text =
      "fn f(B: f32[5]) tensor { for i in 0..5 @b/i { block b(v: spatial 5 = i) { B[v] = 1.0 } } }";
  CHECK(FailureOf(text, {}).code() == absl::StatusCode::kInvalidArgument);
  CHECK(FailureOf(text, {Zeros(4)}).code() == absl::StatusCode::kInvalidArgument);
  CHECK(FailureOf(text, {MakeZeroTensor(kInt32, {5})}).code() ==
        absl::StatusCode::kInvalidArgument);
  CHECK(FailureOf(text, {Zeros(5)}, {.max_instances = 4}).code() ==
        absl::StatusCode::kResourceExhausted);
  CHECK(FailureOf(text, {Zeros(5)}, {.max_instances = 5}).ok());
}
