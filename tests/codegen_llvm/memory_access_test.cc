#include "codegen_llvm/object_code.h"
#include "ir/text/parser.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

constexpr int kLanes = 16;

Expr Zeros() {
  return Splatted(FloatConst(kFloat32, 0), kLanes);
}

// Runs on buffers that end at forbidden pages, or begin behind them: touching a cell outside ends
// the test with a fault.
std::vector<float> RunFenced(const Function& fn, const std::vector<float>& input,
                             std::vector<float> output, const std::vector<int64_t>& shape_args,
                             Fence fence) {
  FencedFloats in(input, fence);
  FencedFloats out(output, fence);
  Run(fn, {in.data(), out.data()}, {input.size() * 4, output.size() * 4}, shape_args);
  std::copy(out.data(), out.data() + output.size(), output.begin());
  return output;
}

// Lanes of a strided load, of which the first or the last ones are off, at the end or the start of
// a buffer that lies against a forbidden page: pieces that reach further would fault.
struct StridedTail {
  DType dtype = kFloat32;
  int64_t stride = 2;
  int lanes = kLanes;
  int active = 1;
  Fence fence = Fence::kAtEnd;

  int64_t Reach() const { return stride * (active - 1) + 1; }
  // The cells of whole floats that hold them.
  int64_t Cells() const { return dtype.bytes() == 2 ? (Reach() + 1) / 2 * 2 : Reach(); }
  int64_t Base() const {
    return fence == Fence::kAtEnd ? Cells() - Reach() : -stride * (lanes - active);
  }
  bool IsOn(int lane) const {
    return fence == Fence::kAtEnd ? lane < active : lane >= lanes - active;
  }
};

// What lanes that are off get, by a select or by a masked store that leaves them alone.
enum class Otherwise { kSelected, kNotStored };

std::vector<float> LoadTail(const StridedTail& t, Otherwise otherwise,
                            const std::vector<float>& input) {
  Var n = ShapeVar("n", 0, 1000);  // lanes that are on at the end, or off at the start
  Buffer x = FlatBuffer("X", t.dtype, t.Cells());
  Buffer y = FlatBuffer("Y", kFloat32, t.lanes);
  Expr all = Lanes(0, t.lanes);
  Expr split = Splatted(n, t.lanes);
  bool at_end = t.fence == Fence::kAtEnd;
  Expr mask = at_end ? all < split : split <= all;
  Expr base = at_end ? Expr(t.Base()) : Expr(0) - Expr(n) * Expr(t.stride);
  Expr load = LoadOf(x, Lanes(base, t.lanes, t.stride));
  if (otherwise == Otherwise::kSelected) {
    load = SelectOf(
        mask, load,
        Splatted(t.dtype == kFloat32 ? FloatConst(kFloat32, 7) : IntConst(t.dtype, 7), t.lanes));
  }
  Expr value = t.dtype == kFloat32 ? load : CastTo(kFloat32.WithLanes(t.lanes), load);
  Stmt body = StoreTo(y, all, value, otherwise == Otherwise::kSelected ? Expr() : mask);
  return RunFenced(LoweredFunction("tail", {x, y}, body, {n}), input,
                   std::vector<float>(static_cast<size_t>(t.lanes), 7),
                   {at_end ? t.active : t.lanes - t.active}, t.fence);
}

void CheckTail(const StridedTail& t) {
  auto bytes = static_cast<size_t>(t.Cells()) * static_cast<size_t>(t.dtype.bytes());
  std::vector<float> input = RandomFloats(bytes / sizeof(float), 3);
  std::vector<uint16_t> halves(2 * input.size());
  memcpy(halves.data(), input.data(), bytes);
  for (Otherwise otherwise : {Otherwise::kSelected, Otherwise::kNotStored}) {
    INFO(ToString(t.dtype) << " stride " << t.stride << ", " << t.active << " of " << t.lanes);
    std::vector<float> output = LoadTail(t, otherwise, input);
    for (int lane = 0; lane < t.lanes; ++lane) {
      float wanted = 7;
      if (t.IsOn(lane)) {
        auto cell = static_cast<size_t>(t.Base() + t.stride * lane);
        wanted = t.dtype == kFloat32 ? input[cell] : static_cast<float>(halves[cell]);
      }
      REQUIRE(output[static_cast<size_t>(lane)] == wanted);
    }
  }
}

}  // namespace

TEST_CASE("strided lanes with a masked tail touch no cell outside of the buffer",
          "[codegen_llvm]") {
  for (DType dtype : {kFloat32, DType(DTypeCode::kUInt16)}) {
    for (int64_t stride : {2, 3, 4, 5, 7, 8, 9}) {
      for (int lanes : {2, 5, 16}) {
        for (int active : {1, 2, lanes - 1, lanes}) {
          for (Fence fence : {Fence::kAtEnd, Fence::kAtStart}) {
            CheckTail({dtype, stride, lanes, active, fence});
          }
        }
      }
    }
  }
}

TEST_CASE("a masked tail touches no cell behind the buffer", "[codegen_llvm]") {
  Var n = ShapeVar("n", 0, 1000);
  Buffer x = FlatBuffer("X", kFloat32, n);
  Buffer y = FlatBuffer("Y", kFloat32, n);
  Var i = LoopVar("i");
  Expr index = Lanes(Expr(i) * Expr(kLanes), kLanes);
  Stmt body =
      Loop(i, CeilDivide(n, kLanes),
           StoreTo(y, index, LoadOf(x, index) + LoadOf(x, index), index < Splatted(n, kLanes)));
  Function fn = LoweredFunction("twice", {x, y}, body, {n});
  for (int64_t count : {1, 7, 15, 16, 17, 100, 331}) {
    std::vector<float> input = RandomFloats(count, count);
    std::vector<float> output =
        RunFenced(fn, input, std::vector<float>(count, -1), {count}, Fence::kAtEnd);
    for (int64_t k = 0; k < count; ++k) REQUIRE(output[k] == 2 * input[k]);
  }
}

// The accumulators of a softmax over 197 columns lived on the stack for the sake of the last five.
TEST_CASE("masked lanes of bytes far apart are no branches, of which LLVM would take seconds",
          "[codegen_llvm]") {
  constexpr int kBytes = 32;
  const DType byte(DTypeCode::kUInt8);
  Buffer x = FlatBuffer("X", byte, 9 * kBytes);
  Buffer y = FlatBuffer("Y", byte, kBytes);
  Var n = ShapeVar("n", 0, kBytes);
  for (int64_t stride : {3, 5, 9}) {
    for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
      Expr all = Lanes(0, kBytes);
      Expr load = LoadOf(x, Lanes(0, kBytes, stride));
      Expr value = SelectOf(all < Splatted(n, kBytes), load, Splatted(IntConst(byte, 7), kBytes));
      Function fn = LoweredFunction("bytes", {x, y}, StoreTo(y, all, value), {n});
      std::string text = KernelText(fn, FindTarget(target).value(), "asm").value();
      INFO(target << ", stride " << stride << "\n" << text);
      CHECK(text.find("\tj") == std::string::npos);
    }
  }
}

TEST_CASE("an accumulator with a masked tail stays in registers", "[codegen_llvm]") {
  constexpr int kColumns = 3 * kLanes + 5;
  Buffer x = FlatBuffer("X", kFloat32, kColumns);
  Buffer y = FlatBuffer("Y", kFloat32, kLanes);
  Buffer sum = FlatBuffer("S", kFloat32, kLanes, Scope::kLocal);
  Expr all = Lanes(0, kLanes);
  std::vector<Stmt> stmts = {StoreTo(sum, all, Zeros())};
  for (int64_t first = 0; first < kColumns; first += kLanes) {
    Expr index = Lanes(first, kLanes);
    Expr mask = first + kLanes > kColumns ? index < Splatted(kColumns, kLanes) : Expr();
    stmts.push_back(StoreTo(sum, all, LoadOf(sum, all) + LoadOf(x, index), mask));
  }
  stmts.push_back(StoreTo(y, all, LoadOf(sum, all)));
  Function fn = LoweredFunction("tail", {x, y}, MakeStmt<Allocate>(sum, SeqOf(stmts)));
  std::string source = KernelText(fn, NativeTarget(), "source").value();
  INFO(source);
  CHECK(source.find("alloca") == std::string::npos);
  std::vector<float> input = RandomFloats(kColumns, 3);
  std::vector<float> output =
      RunFenced(fn, input, std::vector<float>(kLanes, -1), {}, Fence::kAtEnd);
  for (int lane = 0; lane < kLanes; ++lane) {
    float wanted = 0;
    for (int k = lane; k < kColumns; k += kLanes) wanted += input[k];
    CHECK(output[lane] == wanted);
  }
}

TEST_CASE("the lanes that a constant mask leaves out are no instruction of a multiply-add's own",
          "[codegen_llvm]") {
  constexpr int kRows = 50, kColumns = 8;
  Buffer x = FlatBuffer("X", kFloat32, kRows * kColumns);
  Buffer y = FlatBuffer("Y", kFloat32, kColumns);
  Buffer sum = FlatBuffer("S", kFloat32, kLanes, Scope::kLocal);
  Var k = LoopVar("k");
  Expr all = Lanes(0, kLanes);
  Expr mask = all < Splatted(kColumns, kLanes);
  Expr row = LoadOf(x, Lanes(Expr(k) * Expr(kColumns), kLanes));
  Stmt add = StoreTo(sum, all, LoadOf(sum, all) + row * Splatted(LoadOf(x, k), kLanes), mask);
  Stmt body = SeqOf({StoreTo(sum, all, Zeros(), mask), Loop(k, kRows, add),
                     StoreTo(y, all, LoadOf(sum, all), mask)});
  Function fn = LoweredFunction("columns", {x, y}, MakeStmt<Allocate>(sum, body));
  std::string text = KernelText(fn, *FindTarget("x86-64-v4"), "asm").value();
  INFO(text);
  CHECK(text.find("vfmadd231ps") != std::string::npos);
  for (const char* word : {"vshuf", "vblend", "vperm"}) CHECK(text.find(word) == std::string::npos);
  std::vector<float> input = RandomFloats(kRows * kColumns, 3);
  std::vector<float> output =
      RunFenced(fn, input, std::vector<float>(kColumns, -1), {}, Fence::kAtEnd);
  for (int c = 0; c < kColumns; ++c) {
    double wanted = 0;
    for (int r = 0; r < kRows; ++r) wanted += double{input[r * kColumns + c]} * input[r];
    CHECK(output[c] == Approx(wanted).margin(1e-5));
  }
}

TEST_CASE("an asynchronous copy has arrived when it is awaited", "[codegen_llvm]") {
  Buffer x = FlatBuffer("X", kFloat32, 32);
  Buffer y = FlatBuffer("Y", kFloat32, 32);
  Buffer s = FlatBuffer("S", kFloat32, 4);
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  Stmt copy = MakeStmt<AsyncCopy>(Access{s.var, {Expr(0)}}, Access{x.var, {Expr(i) * Expr(4)}}, 4);
  Stmt body = SeqOf(
      {copy, MakeStmt<AsyncCommit>(AsyncKind::kCopies), MakeStmt<AsyncWait>(AsyncKind::kCopies, 0),
       Loop(j, 4, StoreTo(y, Expr(i) * Expr(4) + Expr(j), LoadOf(s, Expr(3) - Expr(j))))});
  Function fn = LoweredFunction("staged", {x, y}, MakeStmt<Allocate>(s, Loop(i, 8, body)));
  std::vector<float> input = RandomFloats(32, 5);
  std::vector<float> output = RunFenced(fn, input, std::vector<float>(32, -1), {}, Fence::kAtEnd);
  for (int64_t k = 0; k < 32; ++k) REQUIRE(output[k] == input[k / 4 * 4 + 3 - k % 4]);
}

TEST_CASE("zeros arrive where an asynchronous copy is not kept", "[codegen_llvm]") {
  Buffer x = FlatBuffer("X", kFloat32, 24);
  Buffer y = FlatBuffer("Y", kFloat32, 32);
  Buffer s = FlatBuffer("S", kFloat32, 4);
  Var i = LoopVar("i");
  Var j = LoopVar("j");
  Expr inside = BothOf(Expr(0) < Expr(i), Expr(i) < Expr(7));
  Stmt copy = MakeStmt<AsyncCopy>(Access{s.var, {Expr(0)}},
                                  Access{x.var, {Expr(i) * Expr(4) - Expr(4)}}, 4, inside);
  Stmt body = SeqOf({copy, MakeStmt<AsyncCommit>(AsyncKind::kCopies),
                     MakeStmt<AsyncWait>(AsyncKind::kCopies, 0),
                     Loop(j, 4, StoreTo(y, Expr(i) * Expr(4) + Expr(j), LoadOf(s, Expr(j))))});
  Function fn = LoweredFunction("padded", {x, y}, MakeStmt<Allocate>(s, Loop(i, 8, body)));
  std::vector<float> input = RandomFloats(24, 5);
  std::vector<float> output = RunFenced(fn, input, std::vector<float>(32, -1), {}, Fence::kAtEnd);
  for (int64_t k = 0; k < 32; ++k) {
    REQUIRE(output[k] == (k < 4 || k >= 28 ? 0.0F : input[k - 4]));
  }
}

TEST_CASE("a prefetch is one instruction, and harmless outside the buffer", "[codegen_llvm]") {
  Buffer x = FlatBuffer("X", kFloat32, 100);
  Buffer y = FlatBuffer("Y", kFloat32, 100);
  Var i = LoopVar("i");
  auto hint = [&](const Buffer& buffer, const Expr& index) {
    return MakeStmt<PrefetchLine>(Access{buffer.var, {index}});
  };
  Stmt body = Loop(
      i, 100,
      SeqOf({hint(x, Expr(i) + Expr(64)), hint(y, Expr(i) * Expr(int64_t{1} << 40) - Expr(1) * i),
             StoreTo(y, i, LoadOf(x, i) * FloatConst(kFloat32, 2))}));
  Function fn = LoweredFunction("ahead", {x, y}, body);
  std::vector<float> input = RandomFloats(100, 5);
  std::vector<float> output = RunFenced(fn, input, std::vector<float>(100, -1), {}, Fence::kAtEnd);
  for (int64_t k = 0; k < 100; ++k) REQUIRE(output[k] == 2 * input[k]);
  std::string text = MakeLlvmBackend(NativeTarget())->Emit({{fn}}, "asm").value();
  CHECK(text.find("prefetcht0") != std::string::npos);
}

TEST_CASE("a select reads only the arm that it picks, in vectors and in scalars",
          "[codegen_llvm]") {
  // y[i] = 0 <= i - 2 && i - 2 < n ? x[i - 2] : -1: a padded copy.
  Var n = ShapeVar("n", 1, 1000);
  Buffer x = FlatBuffer("X", kFloat32, n);
  Buffer y = FlatBuffer("Y", kFloat32, Expr(n) + Expr(4));
  Var i = LoopVar("i");
  Expr total = Expr(n) + Expr(4);

  Expr scalar = Expr(i) - Expr(2);
  Expr scalar_in = BothOf(Expr(0) <= scalar, scalar < Expr(n));
  Expr minus_one = FloatConst(kFloat32, -1);
  Stmt scalars = Loop(i, total, StoreTo(y, i, SelectOf(scalar_in, LoadOf(x, scalar), minus_one)));

  Expr place = Lanes(Expr(i) * Expr(kLanes), kLanes);
  Expr vector = place - Splatted(2, kLanes);
  Expr vector_in = BothOf(Splatted(0, kLanes) <= vector, vector < Splatted(n, kLanes));
  Stmt vectors =
      Loop(i, CeilDivide(total, kLanes),
           StoreTo(y, place, SelectOf(vector_in, LoadOf(x, vector), Splatted(minus_one, kLanes)),
                   place < Splatted(total, kLanes)));
  for (const Stmt& body : {scalars, vectors}) {
    Function fn = LoweredFunction("pad", {x, y}, body, {n});
    for (int64_t count : {1, 13, 64, 100}) {
      for (Fence fence : {Fence::kAtEnd, Fence::kAtStart}) {
        std::vector<float> input = RandomFloats(count, 3);
        std::vector<float> output =
            RunFenced(fn, input, std::vector<float>(count + 4, 7), {count}, fence);
        for (int64_t k = 0; k < count + 4; ++k) {
          bool inside = k >= 2 && k - 2 < count;
          REQUIRE(output[k] == (inside ? input[k - 2] : -1.0f));
        }
      }
    }
  }
}

TEST_CASE("a load that a condition has read is not read again under it", "[codegen_llvm]") {
  Buffer x = FlatBuffer("X", kFloat32, kLanes);
  Buffer y = FlatBuffer("Y", kFloat32, kLanes);
  // A load of its own each time: what is equal need not be the same node.
  auto load = [&] { return LoadOf(x, Lanes(0, kLanes)); };
  Expr tenth = Splatted(FloatConst(kFloat32, 0.1), kLanes);
  Stmt body = StoreTo(y, Lanes(0, kLanes), SelectOf(load() < Zeros(), load() * tenth, load()));
  Function fn = LoweredFunction("leaky", {x, y}, body);
  std::string source = KernelText(fn, NativeTarget(), "source").value();
  INFO(source);
  CHECK(source.find("masked.load") == std::string::npos);
  std::vector<float> input = RandomFloats(kLanes, 3);
  std::vector<float> output =
      RunFenced(fn, input, std::vector<float>(kLanes, 7), {}, Fence::kAtEnd);
  for (size_t l = 0; l < kLanes; ++l) {
    REQUIRE(output[l] == (input[l] < 0 ? input[l] * 0.1f : input[l]));
  }
}

TEST_CASE("a scalar load under a vector mask is not performed when no lane is on",
          "[codegen_llvm]") {
  // y[16 i + l] += x[i] where 16 i + l < n; x has one cell for each group that has a lane.
  Var n = ShapeVar("n", 1, 100000);
  Buffer x = FlatBuffer("X", kFloat32, CeilDivide(n, kLanes));
  Buffer y = FlatBuffer("Y", kFloat32, n);
  Var i = LoopVar("i");
  Expr place = Lanes(Expr(i) * Expr(kLanes), kLanes);
  Stmt body = Loop(i, 3000,
                   StoreTo(y, place, LoadOf(y, place) + Splatted(LoadOf(x, i), kLanes),
                           place < Splatted(n, kLanes)));
  std::vector<float> input = RandomFloats(2, 5);
  std::vector<float> output = RunFenced(LoweredFunction("spread", {x, y}, body, {n}), input,
                                        std::vector<float>(20, 1), {20}, Fence::kAtEnd);
  for (int k = 0; k < 20; ++k) REQUIRE(output[k] == 1 + input[k / 16]);
}

TEST_CASE("and and or stop before a load that they do not need", "[codegen_llvm]") {
  Var n = ShapeVar("n", 1, 1000);
  Buffer x = FlatBuffer("X", kFloat32, n);
  Buffer y = FlatBuffer("Y", kFloat32, Expr(n) * Expr(2));
  Var i = LoopVar("i");
  // Far outside for i >= n.
  Expr far = Expr(i) * Expr(1 << 20);
  Expr index = SelectOf(Expr(i) < Expr(n), i, far);
  Expr positive = FloatConst(kFloat32, 0) < LoadOf(x, index);
  Expr both = BothOf(Expr(i) < Expr(n), positive);
  Expr either = EitherOf(Expr(n) <= Expr(i), positive);
  Expr value = CastTo(kFloat32, both) + FloatConst(kFloat32, 2) * CastTo(kFloat32, either);
  Function fn =
      LoweredFunction("decide", {x, y}, Loop(i, Expr(n) * Expr(2), StoreTo(y, i, value)), {n});
  std::vector<float> input = RandomFloats(9, 8);
  std::vector<float> output = RunFenced(fn, input, std::vector<float>(18, -1), {9}, Fence::kAtEnd);
  for (int k = 0; k < 18; ++k) {
    float expected = k >= 9 ? 2.0f : (input[k] > 0 ? 3.0f : 0.0f);
    REQUIRE(output[k] == expected);
  }
}

TEST_CASE("strided, reversed, constant and indirect lanes read and write the right cells",
          "[codegen_llvm]") {
  constexpr int64_t kCells = 64;
  for (int64_t stride : {1, -1, 2, 3, -2, 0}) {
    int64_t base = stride < 0 ? kCells - 1 : 1;
    Buffer x = FlatBuffer("X", kFloat32, kCells);
    Buffer y = FlatBuffer("Y", kFloat32, kLanes);
    Buffer z = FlatBuffer("Z", kFloat32, kCells);
    Expr lanes = Lanes(base, kLanes, stride);
    Expr odd = Splatted(0, kLanes) < Make<FloorMod>(Lanes(0, kLanes), Splatted(2, kLanes));
    std::vector<Stmt> stmts = {
        StoreTo(y, Lanes(0, kLanes), LoadOf(x, lanes)),
        StoreTo(z, lanes, CastTo(kFloat32.WithLanes(kLanes), Lanes(100, kLanes)),
                stride == 0 ? Expr() : odd)};
    std::vector<float> input = RandomFloats(kCells, 11);
    std::vector<float> loaded(kLanes, -5);
    std::vector<float> stored(kCells, -5);
    std::vector<float> expected = stored;
    for (int l = 0; l < kLanes; ++l)
      if (stride == 0 || l % 2 == 1) expected[base + l * stride] = 100.0f + l;
    RunOn(LoweredFunction("lanes", {x, y, z}, SeqOf(stmts)), input, loaded, stored);
    for (int l = 0; l < kLanes; ++l) REQUIRE(loaded[l] == input[base + l * stride]);
    REQUIRE(stored == expected);
  }
}

TEST_CASE("a gather by loaded indices honours its mask", "[codegen_llvm]") {
  Buffer index = FlatBuffer("I", kInt64, kLanes);
  Buffer x = FlatBuffer("X", kFloat32, 10);
  Buffer y = FlatBuffer("Y", kFloat32, kLanes);
  Expr places = LoadOf(index, Lanes(0, kLanes));
  Expr inside = BothOf(Splatted(0, kLanes) <= places, places < Splatted(10, kLanes));
  Stmt body = StoreTo(y, Lanes(0, kLanes), SelectOf(inside, LoadOf(x, places), Zeros()));
  std::vector<int64_t> indices(kLanes);
  for (int l = 0; l < kLanes; ++l) indices[l] = l % 3 == 2 ? (int64_t{1} << 40) * (l - 20) : l % 10;
  std::vector<float> input = RandomFloats(10, 2);
  std::vector<float> output(kLanes, -1);
  RunOn(LoweredFunction("gather", {index, x, y}, body), indices, input, output);
  for (int l = 0; l < kLanes; ++l) REQUIRE(output[l] == (l % 3 == 2 ? 0.0f : input[indices[l]]));
}

TEST_CASE("gathers of 198 lanes run: SIGILL came of a register that was result and index at once",
          "[codegen_llvm]") {
  Function fn = *ParseFunction(R"(
fn f(x: f32[591], y: f32[4158]) lowered {
  for o in 0..21 {
    for k in 0..3 {
      y[ramp(o, 21, 198)] = y[ramp(o, 21, 198)] + x[ramp(k * 3 + o div 7 - 3, 3, 198)] mask broadcast(0, 198) < ramp(k, 1, 198) && ramp(k, 1, 198) < broadcast(198, 198)
    }
  }
}
)");
  std::vector<float> x(591), y(4158, 0);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
  RunOn(fn, x, y);
  for (int l = 0; l < 198; ++l) {
    for (int o = 0; o < 21; ++o) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) {
        if (l + k > 0 && l + k < 198) sum += x[3 * (l + k - 1) + o / 7];
      }
      REQUIRE(y[21 * l + o] == sum);
    }
  }
}

TEST_CASE("a division whose lane is off does not trap", "[codegen_llvm]") {
  DType type(DTypeCode::kInt32);
  Buffer x = FlatBuffer("X", type, kLanes);
  Buffer y = FlatBuffer("Y", type, kLanes);
  Buffer z = FlatBuffer("Z", type, 2 * kLanes);
  Expr a = LoadOf(x, Lanes(0, kLanes));
  Expr b = LoadOf(y, Lanes(0, kLanes));
  Expr zero = Splatted(IntConst(type, 0), kLanes);
  Var i = LoopVar("i");
  Expr sa = LoadOf(x, i);
  Expr sb = LoadOf(y, i);
  Stmt vectors = StoreTo(z, Lanes(0, kLanes),
                         SelectOf(Make<Ne>(b, zero), CallOf(ScalarOp::kTruncDiv, {a, b}), zero));
  Stmt scalars = Loop(i, kLanes,
                      StoreTo(z, Expr(i) + Expr(kLanes),
                              SelectOf(Make<Ne>(sb, IntConst(type, 0)),
                                       CallOf(ScalarOp::kTruncDiv, {sa, sb}), IntConst(type, 0))));
  std::vector<int32_t> dividends(kLanes);
  std::vector<int32_t> divisors(kLanes);
  for (int l = 0; l < kLanes; ++l) {
    dividends[l] = 37 * (l - 8);
    divisors[l] = l % 4 == 0 ? 0 : l - 6;
    if (l == 5) dividends[l] = INT32_MIN;
  }
  std::vector<int32_t> results(2 * kLanes, -1);
  RunOn(LoweredFunction("divide", {x, y, z}, SeqOf({vectors, scalars})), dividends, divisors,
        results);
  for (int l = 0; l < kLanes; ++l) {
    int32_t expected = 0;
    if (divisors[l] != 0)
      expected = static_cast<int32_t>(static_cast<int64_t>(dividends[l]) / divisors[l]);
    REQUIRE(results[l] == expected);
    REQUIRE(results[kLanes + l] == expected);
  }
}

// Each of two threads, which run ranges of three iterations, counts in nibbles whose bytes the
// other counts in as well.
TEST_CASE("parallel iterations that share bytes of i4 undo no stores of each other",
          "[codegen_llvm]") {
  Function fn = *ParseFunction(R"(
fn f(y: i4[16]) lowered {
  for t in 0..6 parallel {
    for j in 0..3000000 {
      y[j mod 8 * 2 + t div 3] = i4(i32(y[j mod 8 * 2 + t div 3]) + 1)
    }
  }
}
)");
  std::vector<uint8_t> y(8, 0);
  RunOn(fn, y);
  constexpr uint8_t kCount = 3 * 3'000'000 / 8 % 16;
  for (uint8_t byte : y) REQUIRE(byte == (kCount | kCount << 4));
}

TEST_CASE("nibbles are stored atomically but in buffers of one thread", "[codegen_llvm]") {
  auto text_of = [](Scope scope) {
    Buffer x = FlatBuffer("X", kInt32, 6);
    Buffer t = FlatBuffer("T", DType(DTypeCode::kInt4), 6, scope);
    Var i = LoopVar("i");
    Stmt fill = Loop(i, 6, StoreTo(t, i, CastTo(t.dtype(), LoadOf(x, i))));
    Var j = LoopVar("j");
    Stmt use = Loop(j, 6, StoreTo(x, j, CastTo(kInt32, LoadOf(t, Expr(5) - Expr(j)))));
    Function fn = LoweredFunction("f", {x}, MakeStmt<Allocate>(t, SeqOf({fill, use})));
    return KernelText(fn, NativeTarget(), "source").value();
  };
  CHECK(text_of(Scope::kGlobal).find("atomicrmw") != std::string::npos);
  CHECK(text_of(Scope::kLocal).find("atomicrmw") == std::string::npos);
}

// The half of the reversed mask that is known to be false was loaded without a mask.
TEST_CASE("a reversed load under two guards keeps the lanes that are off at zero",
          "[codegen_llvm][memory]") {
  Function fn = ParseFunction(R"(
fn reversed(X: f32[96], Z: f32[96]) lowered {
  for o in 0..6 parallel {
    Z[ramp(o * 16, 1, 16)] = select(broadcast(0, 16) <= ramp(4, -1, 16), X[ramp(4, -1, 16)],
      broadcast(0.0, 16)) mask ramp(o * 16, 1, 16) < broadcast(96, 16)
  }
})")
                    .value();
  std::vector<float> around(300, 7);  // a wrong load gets a 7
  for (int i = 0; i < 5; ++i) around[static_cast<size_t>(100 + i)] = static_cast<float>(i);
  for (const char* target : {"native", "x86-64-v3"}) {
    std::vector<float> z(96, -1);
    std::unique_ptr<JitModule> jit = JitOf(fn, FindTarget(target).value());
    TestRuntime runtime;
    void* buffers[] = {around.data() + 100, z.data()};
    REQUIRE(jit->Find("reversed")(&runtime.table, buffers, nullptr) == TCC_KERNEL_OK);
    for (int i = 0; i < 96; ++i) {
      INFO(target << ", cell " << i);
      CHECK(z[static_cast<size_t>(i)] == (i % 16 < 5 ? static_cast<float>(4 - i % 16) : 0.0F));
    }
  }
}

}  // namespace tcc::test
