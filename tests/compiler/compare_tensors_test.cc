#include "compiler/check/compare_tensors.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace tcc {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor Of(const std::vector<double>& values) {
  Tensor tensor = MakeZeroTensor(kFloat32, {1, static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) SetElement(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

int64_t Different(double got, double expected) {
  return Compare(Of({got}), Of({expected}), {.rtol = 0.25, .atol = 0.5}).different;
}

TEST_CASE("an element may be off by atol plus rtol times what is expected", "[compiler]") {
  CHECK(Different(4, 4) == 0);
  CHECK(Different(5.5, 4) == 0);
  CHECK(Different(2.5, 4) == 0);
  CHECK(Different(5.625, 4) == 1);
  CHECK(Different(-0.5, 0) == 0);
  CHECK(Different(-0.625, 0) == 1);
}

TEST_CASE("what is not finite must be the same", "[compiler]") {
  CHECK(Different(kNaN, kNaN) == 0);
  CHECK(Different(kInfinity, kInfinity) == 0);
  CHECK(Different(kNaN, 1) == 1);
  CHECK(Different(1, kNaN) == 1);
  CHECK(Different(kInfinity, -kInfinity) == 1);
  CHECK(Different(1e30, kInfinity) == 1);
  CHECK(Compare(Of({kNaN, 1}), Of({2, 1}), {}).max_abs_error == kInfinity);
}

TEST_CASE("errors are given in absolute terms, relative ones and deviations", "[compiler]") {
  Comparison result = Compare(Of({1, 3.5, 1, 3}), Of({1, 3, 1, 3}), {});
  CHECK(result.elements == 4);
  CHECK(result.different == 1);
  CHECK(result.first_different == 1);
  CHECK(result.max_abs_error == 0.5);
  CHECK(result.max_rel_error == Approx(0.5 / 3));
  CHECK(result.max_error_in_deviations == Approx(0.5));  // the deviation of 1, 3, 1, 3 is 1
}

TEST_CASE("the first output and element that differ are named", "[compiler]") {
  std::vector<Tensor> expected = {Of({1, 2}), Of({3, 4, 5})};
  std::vector<Tensor> got = {Of({1, 2}), Of({3, 4, 6})};
  Comparison report;
  Status status = CompareOutputs(got, expected, {"a", "b"}, {}, &report);
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(Message(status) ==
        "output 'b' differs in 1 of 3 elements, first at [0, 2]: got 6, expected 5");
  CHECK(report.elements == 5);
  CHECK(report.different == 1);
  CHECK(CompareOutputs(expected, expected, {"a", "b"}, {}).ok());
}

TEST_CASE("outputs of another shape or number are wrong", "[compiler]") {
  CHECK(Message(CompareOutputs({Of({1, 2})}, {Of({1})}, {"a"}, {})) ==
        "output 'a' is f32[1x2]; expected f32[1x1]");
  CHECK(Message(CompareOutputs({Of({1})}, {Of({1}), Of({1})}, {"a"}, {})) ==
        "got 1 outputs; expected 2");
}

}  // namespace
}  // namespace tcc
