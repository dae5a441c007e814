#include <catch2/catch.hpp>
#include <cstring>

#include "tests/ir/by_hand.h"

using namespace tcc;
using namespace tcc::by_hand;

namespace {

// Random leaves over three loops, with gathers, guards, selects and sums: what lanes could get
// wrong.
class RandomLeaf {
 public:
  explicit RandomLeaf(uint64_t seed) : random_(seed) {}

  Function Make() {
    for (const char* name : {"i", "j", "k"}) {
      loops_.push_back(LoopVar(name));
      extents_.push_back(random_.Between(1, 40));
    }
    a_ = Declare("A", {kSize, kSize});
    n_ = Declare("N", {kSize}, kInt64);
    bool sum = !random_.OneIn(3);
    std::vector<IterVar> iters;
    for (int l = 0; l < 3; ++l) {
      Expr binding = loops_[l];
      if (random_.OneIn(4)) binding = binding * Expr(2) - Expr(3);
      bool reduced = sum && l == reduce_loop_;
      iters.push_back((reduced ? Reduced : Spatial)("v", binding, extents_[l]));
      vars_.push_back(iters.back().var);
    }
    std::vector<LoopGuard> guards;
    if (random_.OneIn(3)) guards.push_back({Expr(loops_[1]) + Expr(loops_[2]), Expr(30)});
    Expr predicate = random_.OneIn(2) ? True() : Test();
    std::vector<Expr> cell;
    std::vector<Expr> shape;
    for (int l = 0; l < 3; ++l) {
      if (sum && l == reduce_loop_) continue;
      cell.push_back(vars_[l]);
      shape.push_back(extents_[l]);
    }
    out_ = Declare("B", shape);
    Expr value = Value(3);
    Stmt leaf = sum ? SumInto(out_, cell, value, ReduceInit::kDecomposed)
                    : Put(out_, cell, random_.OneIn(3) ? value + At(out_, cell) : value);
    Stmt body = Leaf("b", iters, leaf, guards, predicate);
    for (int l = 2; l >= 0; --l) body = Loop(loops_[l], extents_[l], body);
    return by_hand::Make({a_, n_, out_}, body);
  }

  std::vector<int64_t> output_shape() const {
    std::vector<int64_t> shape;
    for (const Expr& extent : out_.shape) shape.push_back(*AsConstant(extent));
    return shape;
  }

  static constexpr int64_t kSize = 16;

 private:
  Expr Any() { return vars_[random_.Below(3)]; }

  Expr Index() {
    switch (random_.Below(5)) {
      case 0:
        return FloorModulo(Any() + Any() * Expr(3), kSize);
      case 1:
        return FloorModulo(FloorDivide(Any(), Expr(2)) + Any(), kSize);
      case 2:
        return At(n_, {FloorModulo(Any() + Any(), kSize)});
      case 3:
        return MinOf(Any(), kSize - 1);
      default:
        return FloorModulo(Any(), kSize);
    }
  }

  Expr Test() {
    Expr first = Any() + Any() < Expr(random_.Between(0, 60));
    Expr second = Make_Eq(FloorModulo(Any(), Expr(3)), Expr(0));
    return random_.OneIn(2) ? BothOf(first, second) : EitherOf(first, second);
  }
  static Expr Make_Eq(const Expr& a, const Expr& b) { return tcc::Make<Eq>(a, b); }

  Expr Value(int depth) {
    if (depth == 0) return At(a_, {Index(), Index()});
    switch (random_.Below(5)) {
      case 0:
        return Value(depth - 1) * Value(depth - 1);
      case 1:
        return Value(depth - 1) - CastTo(kFloat32, Any());
      case 2:
        return SelectOf(Test(), Value(depth - 1), Value(depth - 1));
      case 3:
        // In range only where the test holds: the other lanes must not be read.
        return SelectOf(Any() < Expr(kSize), Value(0), At(a_, {MinOf(Any(), Expr(3)), Index()}));
      default:
        return CallOf(ScalarOp::kTanh, {Value(depth - 1)});
    }
  }

  Random random_;
  std::vector<Var> loops_;
  std::vector<int64_t> extents_;
  std::vector<Var> vars_;
  Buffer a_, n_, out_;
  int reduce_loop_ = static_cast<int>(random_.Below(3));
};

}  // namespace

TEST_CASE("lanes and real threads change no bit", "[ir][interpreter][lanes]") {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomLeaf leaf(seed);
    Function fn = leaf.Make();
    Tensor gather = MakeZeroTensor(kInt64, {RandomLeaf::kSize});
    for (int64_t i = 0; i < RandomLeaf::kSize; ++i) SetElementInt(gather, i, i * 7 % 16);
    auto run = [&](const InterpretOptions& options) {
      std::vector<Tensor> tensors = {RandomTensor({16, 16}, seed), gather,
                                     RandomTensor(leaf.output_shape(), seed + 1)};
      StatusOr<InterpretReport> report = Interpret(fn, tensors, options);
      INFO("seed " << seed << ": " << report.status());
      REQUIRE(report.ok());
      return std::pair(tensors[2], *report);
    };
    auto [one, report] = run({.max_lanes = 1});
    for (const InterpretOptions& options :
         {InterpretOptions{.max_lanes = 5}, InterpretOptions{.max_lanes = 256},
          InterpretOptions{.threads = 2, .max_lanes = 64}}) {
      auto [many, other] = run(options);
      INFO("seed " << seed);
      REQUIRE(std::memcmp(one.bytes.data(), many.bytes.data(), one.bytes.size()) == 0);
      REQUIRE(report.instances_issued == other.instances_issued);
      REQUIRE(report.instances_executed == other.instances_executed);
    }
  }
}

TEST_CASE("a serial loop that reads what it wrote stays serial", "[ir][interpreter][lanes]") {
  std::vector<Tensor> tensors = {Values(kFloat32, {1, 1, 0, 0, 0, 0, 0, 0})};
  RunText("fn f(B: f32[8]) { for i in 0..6 { B[i + 2] = B[i] + B[i + 1] } }", tensors);
  CHECK(ValuesOf(tensors[0]) == std::vector<double>{1, 1, 2, 3, 5, 8, 13, 21});
  tensors = {Values(kFloat32, {0, 0, 0})};
  RunText("fn f(B: f32[3]) { for i in 0..100 { B[i mod 3] = f32(i) } }", tensors);
  CHECK(ValuesOf(tensors[0]) == std::vector<double>{99, 97, 98});
}

TEST_CASE("integers wrap in their own width", "[ir][interpreter]") {
  std::vector<Tensor> tensors = {
      Values(kInt32, {2147483647}), Values(DType(DTypeCode::kInt8), {127}),
      Values(DType(DTypeCode::kUInt8), {3}), MakeZeroTensor(DType(DTypeCode::kUInt64), {1}),
      Values(kBool, {0})};
  RunText(R"(fn f(A: i32[1], B: i8[1], C: u8[1], D: u64[1], E: bool[1]) {
    A[0] = A[0] + 1:i32
    B[0] = i8(B[0]) * 3:i8
    C[0] = C[0] - 5:u8
    D[0] = D[0] - 2:u64
    E[0] = 7:u64 < D[0]
  })",
          tensors);
  CHECK(ElementAsInt(tensors[0], 0) == -2147483648);
  CHECK(ElementAsInt(tensors[1], 0) == 125);
  CHECK(ElementAsInt(tensors[2], 0) == 254);
  CHECK(ElementAsInt(tensors[3], 0) == -2);
  CHECK(ElementAsInt(tensors[4], 0) == 1);
}

TEST_CASE("only a cast rounds before the end", "[ir][interpreter]") {
  // 1 + 2^-30 is no f32; kept as a double until the difference is taken.
  std::vector<Tensor> tensors = {Values(kFloat32, {0x1p-30}), BlankTensor({2})};
  RunText(R"(fn f(A: f32[1], B: f32[2]) {
    alloc T: f32[1]
    T[0] = A[0] + 1.0
    B[0] = T[0] - 1.0
    B[1] = f32(f64(T[0])) - 1.0
  })",
          tensors);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>{0x1p-30, 0});
}

TEST_CASE("vectors, ramps and masks act lane by lane", "[ir][interpreter][lowered]") {
  std::vector<Tensor> tensors = {Values(kFloat32, {1, 2, 3, 4, 5, 6, 7}), BlankTensor({7})};
  RunText(R"(fn f(A: f32[7], B: f32[7]) lowered {
    for o in 0..2 {
      let two = broadcast(2.0, 4)
      B[ramp(6 - o * 4, -1, 4)] = A[ramp(o * 4, 1, 4)] * two mask ramp(o * 4, 1, 4) < broadcast(7, 4)
    }
  })",
          tensors);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>{14, 12, 10, 8, 6, 4, 2});
}

TEST_CASE("windows may begin below zero, and circular dimensions wrap", "[ir][interpreter]") {
  std::vector<Tensor> tensors = {Values(kFloat32, {1, 2, 3, 4}), BlankTensor({4})};
  RunText(R"(fn f(A: f32[4], B: f32[4]) scheduled {
    alloc T: f32[4] window [-1] size [6]
    for i in 0..4 @t/i { block t(v: spatial 4 = i) { T[v] = A[v] } }
    for i in 0..4 @b/i { block b(v: spatial 4 = i) { B[v] = T[v] } }
  })",
          tensors);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>{1, 2, 3, 4});
  RunText(R"(fn f(A: f32[4], B: f32[4]) scheduled {
    alloc T: f32[4] window [0] size [2] circular 0
    for i in 0..4 @t/i {
      block t(v: spatial 4 = i) { T[v] = A[v] }
      block b(v: spatial 3 = i - 1) { B[v] = T[v] + T[v + 1] }
    }
  })",
          tensors);
  CHECK(ValuesOf(tensors[1]) == std::vector<double>{3, 5, 7, 4});
}

TEST_CASE("a reduction whose predicate never holds is its identity", "[ir][interpreter]") {
  std::vector<Tensor> tensors = {RandomTensor({5}, 1), BlankTensor({3})};
  RunText(R"(fn f(A: f32[5], B: f32[3]) tensor {
    for i in 0..3 @b/i {
      for k in 0..5 @b/k {
        block b(v: spatial 3 = i, r: reduce 5 = k) where v == 1 {
          reduce max_f32 init (B[v]) with (A[r])
        }
      }
    }
  })",
          tensors);
  std::vector<double> out = ValuesOf(tensors[1]);
  CHECK(std::isinf(out[0]));
  CHECK(std::isfinite(out[1]));
  CHECK(std::isinf(out[2]));
}
