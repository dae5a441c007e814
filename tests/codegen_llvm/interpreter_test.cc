#include "ir/interpret/interpreter.h"

#include <cmath>

#include "ir/text/printer.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

constexpr int64_t kCells = 96;

// Random kLowered functions: nests of serial and parallel loops round stores of random float
// expressions, scalar or in lanes, with tails, guarded loads, tiles in local buffers and names.
class RandomKernel {
 public:
  explicit RandomKernel(uint64_t seed)
      : random_(seed),
        x_(FlatBuffer("X", kFloat32, kCells)),
        y_(FlatBuffer("Y", kFloat32, kCells)),
        indices_(FlatBuffer("I", kInt64, kCells)),
        z_(FlatBuffer("Z", kFloat32, kCells)) {}

  Function Build() {
    lanes_ = random_.OneIn(3) ? 1 : static_cast<int>(int64_t{1} << random_.Between(1, 5));
    outer_ = LoopVar("o");
    inner_ = LoopVar("i");
    name_ = LoopVar("v");
    int64_t width = lanes_ * random_.Between(1, 3);
    int64_t rows = (kCells + width - 1) / width;
    // Cell z[o * width + i * lanes + l], each once; the last row hangs over.
    Expr base = Expr(outer_) * Expr(width) + Expr(inner_) * Expr(lanes_);
    Expr place = Spread(base, 1);
    Expr exists = place < Same(kCells);
    Stmt body = random_.OneIn(2) ? Direct(place, exists) : ThroughTile(place, exists);
    body = Loop(inner_, width / lanes_, body);
    body = MakeStmt<Let>(name_, FloorModulo(Expr(outer_) * Expr(7) + Expr(3), 11), body);
    ForKind kind = random_.OneIn(2) ? ForKind::kParallel : ForKind::kSerial;
    return LoweredFunction("random", {x_, y_, indices_, z_}, Loop(outer_, rows, body, kind));
  }

 private:
  Expr Spread(const Expr& base, int64_t stride) {
    return lanes_ == 1 ? base : Lanes(base, lanes_, stride);
  }
  Expr Same(const Expr& scalar) { return lanes_ == 1 ? scalar : Splatted(scalar, lanes_); }
  Expr Real(double value) { return Same(FloatConst(kFloat32, value)); }

  Stmt Direct(const Expr& place, const Expr& exists) {
    return StoreTo(z_, place, Value(4), exists);
  }

  // tile = sum over k of something; z = tile.
  Stmt ThroughTile(const Expr& place, const Expr& exists) {
    Buffer tile = FlatBuffer("tile", kFloat32, lanes_, Scope::kLocal);
    Expr cell = Spread(0, 1);
    Stmt update = StoreTo(tile, cell, LoadOf(tile, cell) * Real(0.5) + Value(3));
    Stmt body =
        SeqOf({StoreTo(tile, cell, Real(0)), Loop(LoopVar("k"), random_.Between(0, 5), update),
               StoreTo(z_, place, LoadOf(tile, cell), exists)});
    if (random_.OneIn(3)) body = MakeStmt<If>(Expr(name_) < Expr(8), body);
    return MakeStmt<Allocate>(tile, body);
  }

  // An index of i64, anywhere from below the buffers to behind them.
  Expr Index(int depth) {
    switch (random_.Below(depth > 0 ? 7 : 3)) {
      case 0:
        return Spread(Expr(inner_) * Expr(lanes_) + Expr(random_.Between(-9, 9)),
                      random_.Between(-2, 3));
      case 1:
        return Same(Expr(outer_) + Expr(name_));
      case 2:
        return Spread(outer_, 1);
      case 3:
        return FloorDivide(Index(depth - 1), Same(random_.Between(1, 5)));
      case 4:
        return FloorModulo(Index(depth - 1), Same(random_.Between(1, 90)));
      case 5:
        return CeilDivide(Index(depth - 1) - Same(20), Same(random_.Between(1, 5)));
      default:
        return Guarded(indices_, Index(depth - 1), Same(5));
    }
  }

  Expr Guarded(const Buffer& buffer, const Expr& index, const Expr& otherwise) {
    Expr inside = BothOf(Same(0) <= index, index < Same(kCells));
    if (lanes_ > 1 && random_.OneIn(4)) inside = BothOf(inside, Same(Expr(name_) < Expr(9)));
    return SelectOf(inside, LoadOf(buffer, index), otherwise);
  }

  Expr Loaded() {
    const Buffer& buffer = random_.OneIn(2) ? x_ : y_;
    return Guarded(buffer, Index(2), random_.OneIn(2) ? Real(0) : Real(0.25));
  }

  // Exact in both evaluators, so that they decide alike.
  Expr Condition() {
    switch (random_.Below(4)) {
      case 0:
        return Loaded() < Real(0.1);
      case 1:
        return EitherOf(Index(1) <= Same(12), Make<Eq>(Index(1), Same(40)));
      case 2:
        return Make<Not>(BothOf(Same(3) < Index(1), Loaded() <= Loaded()));
      default:
        return Expr(name_) < Expr(6);
    }
  }

  Expr Value(int depth) {
    if (depth == 0 || random_.OneIn(6)) return random_.OneIn(4) ? Real(0.75) : Loaded();
    Expr a = Value(depth - 1);
    switch (random_.Below(9)) {
      case 0:
        return a + Value(depth - 1);
      case 1:
        return a - Value(depth - 1);
      case 2:
        return a * Value(depth - 1);
      case 3:
        return MinOf(a, Value(depth - 1));
      case 4:
        return MaxOf(a, Value(depth - 1));
      case 5:
        return CallOf(random_.OneIn(2) ? ScalarOp::kTanh : ScalarOp::kSigmoid, {a});
      case 6:
        return CallOf(ScalarOp::kExp, {MinOf(a, Real(1))});
      case 7:
        return Make<Div>(a, Real(2) + CallOf(ScalarOp::kAbs, {Loaded()}));
      default: {
        Expr condition = Condition();
        if (condition.dtype().lanes() != lanes_ && lanes_ == 1) condition = True();
        return SelectOf(condition, a, Value(depth - 1));
      }
    }
  }

  Random random_;
  Buffer x_;
  Buffer y_;
  Buffer indices_;
  Buffer z_;
  Var outer_;
  Var inner_;
  Var name_;
  int lanes_ = 1;
};

Tensor TensorOf(DType dtype, const void* data, int64_t count) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  return MakeTensor(dtype, {count}, {bytes, bytes + count * dtype.bytes()});
}

}  // namespace

TEST_CASE("random kernels give what the interpreter gives", "[codegen_llvm]") {
  std::vector<float> x = RandomFloats(kCells, 1);
  std::vector<float> y = RandomFloats(kCells, 2);
  std::vector<int64_t> indices(kCells);
  for (int64_t i = 0; i < kCells; ++i) indices[i] = (i * 37) % 101 - 2;
  int compared = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Function fn = RandomKernel(seed).Build();
    INFO("seed " << seed << "\n" << Print(fn));
    std::vector<float> z(kCells, 9);
    std::vector<Tensor> arguments = {
        TensorOf(kFloat32, x.data(), kCells), TensorOf(kFloat32, y.data(), kCells),
        TensorOf(kInt64, indices.data(), kCells), TensorOf(kFloat32, z.data(), kCells)};
    auto report = Interpret(fn, arguments);
    INFO(report.status().ToString());
    REQUIRE(report.ok());

    const char* target = seed % 2 == 0 ? "native" : "x86-64-v3";
    TestRuntime runtime;
    void* buffers[] = {x.data(), y.data(), indices.data(), z.data()};
    std::unique_ptr<JitModule> jit = JitOf(fn, FindTarget(target).value());
    REQUIRE(jit->Find("random")(&runtime.table, buffers, nullptr) == TCC_KERNEL_OK);
    for (int64_t i = 0; i < kCells; ++i) {
      double want = ElementAsDouble(arguments[3], i);
      INFO("cell " << i << ": " << z[i] << ", expected " << want);
      REQUIRE(std::abs(z[i] - want) <= 1e-4 * (1 + std::abs(want)));
      ++compared;
    }
  }
  CHECK(compared == 300 * kCells);
}

}  // namespace tcc::test
