#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "codegen_llvm/object_code.h"
#include "ir/expr/constant_fold.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

using Wide = __int128;

template <typename T>
struct IntegerType;
#define TCC_TYPE(T, code)                                   \
  template <>                                               \
  struct IntegerType<T> {                                   \
    static constexpr DType kDType = DType(DTypeCode::code); \
  };
TCC_TYPE(int8_t, kInt8)
TCC_TYPE(int16_t, kInt16)
TCC_TYPE(int32_t, kInt32)
TCC_TYPE(int64_t, kInt64)
TCC_TYPE(uint8_t, kUInt8)
TCC_TYPE(uint16_t, kUInt16)
TCC_TYPE(uint32_t, kUInt32)
TCC_TYPE(uint64_t, kUInt64)
#undef TCC_TYPE

Wide FloorQuotient(Wide x, Wide y) {
  Wide q = x / y;
  return q - (x % y < 0);
}

template <typename T>
struct Operation {
  const char* name;
  Expr (*build)(const Expr&, const Expr&);
  Wide (*exact)(Wide, Wide);
  enum Divisor { kAnyOperand, kNotZero, kPositive } divisor = kAnyOperand;
};

template <typename T>
constexpr int kBits = sizeof(T) * 8;

template <ScalarOp op>
Expr CallBinary(const Expr& a, const Expr& b) {
  return CallOf(op, {a, b});
}
template <ScalarOp op>
Expr CallUnary(const Expr& a, const Expr&) {
  return CallOf(op, {a});
}

template <typename T>
std::vector<Operation<T>> Operations() {
  using Op = Operation<T>;
  return {
      {"add", [](const Expr& a, const Expr& b) { return a + b; },
       [](Wide x, Wide y) { return x + y; }},
      {"sub", [](const Expr& a, const Expr& b) { return a - b; },
       [](Wide x, Wide y) { return x - y; }},
      {"mul", [](const Expr& a, const Expr& b) { return a * b; },
       [](Wide x, Wide y) {
         return static_cast<Wide>(static_cast<unsigned __int128>(x) *
                                  static_cast<unsigned __int128>(y));
       }},
      {"min", MinOf, [](Wide x, Wide y) { return std::min(x, y); }},
      {"max", MaxOf, [](Wide x, Wide y) { return std::max(x, y); }},
      {"floor_div", FloorDivide, FloorQuotient, Op::kPositive},
      {"floor_mod", FloorModulo, [](Wide x, Wide y) { return x - FloorQuotient(x, y) * y; },
       Op::kPositive},
      {"ceil_div", CeilDivide, [](Wide x, Wide y) { return -FloorQuotient(-x, y); }, Op::kPositive},
      {"trunc_div", CallBinary<ScalarOp::kTruncDiv>, [](Wide x, Wide y) { return x / y; },
       Op::kNotZero},
      {"trunc_mod", CallBinary<ScalarOp::kTruncMod>, [](Wide x, Wide y) { return x % y; },
       Op::kNotZero},
      {"bit_and", CallBinary<ScalarOp::kBitAnd>, [](Wide x, Wide y) { return x & y; }},
      {"bit_or", CallBinary<ScalarOp::kBitOr>, [](Wide x, Wide y) { return x | y; }},
      {"bit_xor", CallBinary<ScalarOp::kBitXor>, [](Wide x, Wide y) { return x ^ y; }},
      {"bit_not", CallUnary<ScalarOp::kBitNot>, [](Wide x, Wide) { return ~x; }},
      {"popcount", CallUnary<ScalarOp::kPopcount>,
       [](Wide x, Wide) { return Wide(std::popcount(static_cast<std::make_unsigned_t<T>>(x))); }},
      {"abs", CallUnary<ScalarOp::kAbs>, [](Wide x, Wide) { return x < 0 ? -x : x; }},
      {"sign", CallUnary<ScalarOp::kSign>, [](Wide x, Wide) { return Wide((x > 0) - (x < 0)); }},
      {"shift_left", CallBinary<ScalarOp::kShiftLeft>,
       [](Wide x, Wide y) {
         return y < 0 || y >= kBits<T> ? 0
                                       : static_cast<Wide>(static_cast<unsigned __int128>(x) << y);
       }},
      {"shift_right", CallBinary<ScalarOp::kShiftRight>,
       [](Wide x, Wide y) {
         Wide bits = static_cast<std::make_unsigned_t<T>>(x);
         return y < 0 || y >= kBits<T> ? 0 : bits >> y;
       }},
      {"lt", [](const Expr& a, const Expr& b) { return CastTo(a.dtype(), a < b); },
       [](Wide x, Wide y) { return Wide(x < y); }},
      {"le", [](const Expr& a, const Expr& b) { return CastTo(a.dtype(), a <= b); },
       [](Wide x, Wide y) { return Wide(x <= y); }},
      {"eq", [](const Expr& a, const Expr& b) { return CastTo(a.dtype(), Make<Eq>(a, b)); },
       [](Wide x, Wide y) { return Wide(x == y); }},
  };
}

template <typename T>
void FillOperands(std::vector<T>& xs, std::vector<T>& ys) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {0,
                            1,
                            2,
                            3,
                            7,
                            8,
                            63,
                            64,
                            T(-1),
                            T(-2),
                            T(-8),
                            Limits::min(),
                            static_cast<T>(Limits::min() + 1),
                            Limits::max(),
                            static_cast<T>(Limits::max() - 1)};
  for (T x : special) {
    for (T y : special) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  Random random(3);
  while (xs.size() < 2048) {
    xs.push_back(static_cast<T>(random.Next() >> random.Below(64)));
    ys.push_back(static_cast<T>(random.Next() >> random.Below(64)));
  }
}

template <typename T>
void CheckOperations(int lanes) {
  constexpr DType kType = IntegerType<T>::kDType;
  std::vector<T> xs;
  std::vector<T> all_ys;
  FillOperands(xs, all_ys);
  int64_t count = static_cast<int64_t>(xs.size());
  for (const Operation<T>& op : Operations<T>()) {
    std::vector<T> ys = all_ys;
    for (T& y : ys) {
      if (op.divisor == Operation<T>::kNotZero && y == 0) y = 5;
      if (op.divisor == Operation<T>::kPositive && !(y > 0)) y = 5;
    }
    Buffer x = FlatBuffer("X", kType, count);
    Buffer y = FlatBuffer("Y", kType, count);
    Buffer z = FlatBuffer("Z", kType, count);
    Var i = LoopVar("i");
    Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
    Expr value = op.build(LoadOf(x, index), LoadOf(y, index));
    std::vector<T> zs(xs.size(), T(77));
    RunOn(LoweredFunction("f", {x, y, z}, Loop(i, count / lanes, StoreTo(z, index, value))), xs, ys,
          zs);
    for (size_t k = 0; k < xs.size(); ++k) {
      T expected = static_cast<T>(op.exact(xs[k], ys[k]));
      if (zs[k] == expected) continue;
      INFO(op.name << " of " << ToString(kType) << " " << +xs[k] << ", " << +ys[k] << " lanes "
                   << lanes);
      REQUIRE(+zs[k] == +expected);
    }
  }
}

}  // namespace

TEST_CASE("integer operations wrap, divide and compare as the IR says", "[codegen_llvm]") {
  for (int lanes : {1, 16}) {
    CheckOperations<int8_t>(lanes);
    CheckOperations<int16_t>(lanes);
    CheckOperations<int32_t>(lanes);
    CheckOperations<int64_t>(lanes);
    CheckOperations<uint8_t>(lanes);
    CheckOperations<uint16_t>(lanes);
    CheckOperations<uint32_t>(lanes);
    CheckOperations<uint64_t>(lanes);
  }
}

TEST_CASE("halves of words are multiplied and added by every number of lanes", "[codegen_llvm]") {
  std::vector<int32_t> xs, ys;
  FillOperands(xs, ys);
  int64_t count = static_cast<int64_t>(xs.size());
  for (int lanes : {1, 2, 4, 8, 16, 32}) {
    Buffer x = FlatBuffer("X", kInt32, count);
    Buffer y = FlatBuffer("Y", kInt32, count);
    Buffer z = FlatBuffer("Z", kInt32, count);
    Var i = LoopVar("i");
    Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
    Expr value = CallOf(ScalarOp::kDotI16x2, {LoadOf(x, index), LoadOf(y, index)});
    std::vector<int32_t> zs(xs.size(), 77);
    RunOn(LoweredFunction("f", {x, y, z}, Loop(i, count / lanes, StoreTo(z, index, value))), xs, ys,
          zs);
    for (size_t k = 0; k < xs.size(); ++k) {
      auto half = [](int32_t word, int shift) { return Wide(static_cast<int16_t>(word >> shift)); };
      Wide sum = half(xs[k], 0) * half(ys[k], 0) + half(xs[k], 16) * half(ys[k], 16);
      INFO(xs[k] << ", " << ys[k] << ", lanes " << lanes);
      REQUIRE(zs[k] == static_cast<int32_t>(sum));
    }
  }
}

// z = x + dot of the bytes of x and y, or the dot alone.
Function DotOfBytes(int64_t count, int lanes, bool is_added, ScalarOp op = ScalarOp::kDotU8I8x4) {
  Buffer x = FlatBuffer("X", kInt32, count);
  Buffer y = FlatBuffer("Y", kInt32, count);
  Buffer z = FlatBuffer("Z", kInt32, count);
  Var i = LoopVar("i");
  Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
  Expr value = CallOf(op, {LoadOf(x, index), LoadOf(y, index)});
  if (is_added) value = LoadOf(x, index) + value;
  return LoweredFunction("f", {x, y, z}, Loop(i, count / lanes, StoreTo(z, index, value)));
}

TEST_CASE("bytes of words are multiplied and added by every number of lanes", "[codegen_llvm]") {
  std::vector<int32_t> xs, ys;
  FillOperands(xs, ys);
  int64_t count = static_cast<int64_t>(xs.size());
  for (int lanes : {1, 2, 4, 8, 16, 32}) {
    for (auto [is_added, op] : {std::pair(false, ScalarOp::kDotU8I8x4),
                                {true, ScalarOp::kDotU8I8x4},
                                {false, ScalarOp::kDotI8I8x4},
                                {true, ScalarOp::kDotI8I8x4}}) {
      std::vector<int32_t> zs(xs.size(), 77);
      RunOn(DotOfBytes(count, lanes, is_added, op), xs, ys, zs);
      for (size_t k = 0; k < xs.size(); ++k) {
        Wide sum = is_added ? Wide(xs[k]) : Wide(0);
        for (int shift = 0; shift < 32; shift += 8) {
          Wide byte = static_cast<uint8_t>(xs[k] >> shift);
          if (op == ScalarOp::kDotI8I8x4) byte = static_cast<int8_t>(xs[k] >> shift);
          sum += byte * Wide(static_cast<int8_t>(ys[k] >> shift));
        }
        INFO(xs[k] << ", " << ys[k] << ", lanes " << lanes << ", added " << is_added);
        REQUIRE(zs[k] == static_cast<int32_t>(sum));
      }
    }
  }
}

TEST_CASE("a CPU that dots bytes adds them by one instruction, others by two of halves",
          "[codegen_llvm]") {
  Target with = *FindTarget("x86-64-v4"), without = with;
  with.llvm_cpu = "icelake-server";
  for (int lanes : {4, 8, 16}) {
    Function fn = DotOfBytes(256, lanes, true);
    std::string quads = KernelText(fn, with, "asm").value();
    INFO(quads);
    CHECK(quads.find("vpdpbusd") != std::string::npos);
    CHECK(quads.find("vpaddd") == std::string::npos);
    std::string halves = KernelText(fn, without, "asm").value();
    CHECK(halves.find("vpmaddwd") != std::string::npos);
    CHECK(halves.find("vpdpbusd") == std::string::npos);
  }
}

// z = x + dot of the bf16 halves of x and y, packed from four buffers of f32.
Function AddedPairs(int64_t count, int lanes) {
  std::vector<Buffer> buffers;
  for (const char* name : {"A", "B", "C", "D", "Z"}) {
    buffers.push_back(FlatBuffer(name, kFloat32, count));
  }
  Var i = LoopVar("i");
  Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
  auto load = [&](int k) { return LoadOf(buffers[k], index); };
  auto pack = [&](int k) { return CallOf(ScalarOp::kPackBf16x2, {load(k), load(k + 1)}); };
  Expr value = load(0) + CallOf(ScalarOp::kDotBf16x2, {pack(0), pack(2)});
  return LoweredFunction("f", buffers, Loop(i, count / lanes, StoreTo(buffers[4], index, value)));
}

TEST_CASE("halves of words are rounded to bf16, multiplied and added by every number of lanes",
          "[codegen_llvm]") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  // 1 + 2^-8 lies half-way and becomes 1, 1 + 3 * 2^-8 becomes 1 + 2^-6.
  const std::vector<float> some = {0, 1, -2, 0.5f, 1.00390625f, 1.01171875f, 1e30f, -3.14159f};
  for (int lanes : {1, 2, 4, 8, 16, 32}) {
    std::vector<std::vector<float>> in(4);
    for (float a : some) {
      for (float b : {0.0f, -1.7f, 1.0001f, 3.3f}) {
        const float row[] = {a, b, -b, a / 3};
        for (int k = 0; k < 4; ++k) in[k].push_back(row[k]);
      }
    }
    in[0][3] = kInfinity;
    in[2][7] = kNan;
    std::vector<float> out(in[0].size(), 77);
    RunOn(AddedPairs(static_cast<int64_t>(out.size()), lanes), in[0], in[1], in[2], in[3], out);
    for (size_t k = 0; k < out.size(); ++k) {
      double want =
          in[0][k] + DotOfBFloats(PackBFloats(in[0][k], in[1][k]), PackBFloats(in[2][k], in[3][k]));
      double size =
          std::fabs(in[0][k]) + std::fabs(in[0][k] * in[2][k]) + std::fabs(in[1][k] * in[3][k]);
      INFO(k << ", lanes " << lanes << ": " << out[k] << " for " << want);
      bool is_same = std::isnan(want) ? std::isnan(out[k]) : out[k] == want;
      REQUIRE((is_same || std::fabs(out[k] - want) <= 1e-6 * size));
    }
  }
}

TEST_CASE("a CPU that dots bf16 adds two products by one instruction, others by two of f32",
          "[codegen_llvm]") {
  Target with = *FindTarget("x86-64-v4"), without = with;
  with.llvm_cpu = "znver4";
  for (int lanes : {4, 8, 16}) {
    Function fn = AddedPairs(256, lanes);
    std::string pairs = KernelText(fn, with, "asm").value();
    INFO(pairs);
    CHECK(pairs.find("vdpbf16ps") != std::string::npos);
    CHECK(pairs.find("vfmadd") == std::string::npos);
    std::string singles = KernelText(fn, without, "asm").value();
    CHECK(singles.find("vfmadd") != std::string::npos);
    CHECK(singles.find("vdpbf16ps") == std::string::npos);
  }
}

TEST_CASE("ARM dots bytes and bf16 by one instruction where it has it", "[codegen_llvm][arm]") {
  auto text = [](const Function& fn, const char* target) {
    return KernelText(fn, *FindTarget(target), "asm").value();
  };
  const Function bytes = DotOfBytes(256, 4, true);
  CHECK(text(bytes, "aarch64-v8.6").find("usdot") != std::string::npos);
  CHECK(text(bytes, "aarch64-v8.2").find("usdot") == std::string::npos);
  const Function signed_bytes = DotOfBytes(256, 4, true, ScalarOp::kDotI8I8x4);
  CHECK(text(signed_bytes, "aarch64-v8.2").find("sdot") != std::string::npos);
  const Function pairs = AddedPairs(256, 4);
  CHECK(text(pairs, "aarch64-v8.6").find("bfdot") != std::string::npos);
  CHECK(text(pairs, "aarch64-v8.2").find("bfdot") == std::string::npos);
}

TEST_CASE("division by constants is right on both sides of zero, with and without known signs",
          "[codegen_llvm]") {
  for (int64_t divisor : {1, 2, 3, 7, 8, 16, 100}) {
    Buffer y = FlatBuffer("Y", kInt64, 3 * 200);
    Buffer z = FlatBuffer("Z", kInt64, 3 * 200);
    Var i = LoopVar("i");
    // i is known to be >= 0, i - 100 is not.
    auto three = [&](const Buffer& out, const Expr& x) {
      return SeqOf({StoreTo(out, i, FloorDivide(x, divisor)),
                    StoreTo(out, Expr(i) + Expr(200), FloorModulo(x, divisor)),
                    StoreTo(out, Expr(i) + Expr(400), CeilDivide(x, divisor))});
    };
    Stmt body = Loop(i, 200, SeqOf({three(y, i), three(z, Expr(i) - Expr(100))}));
    std::vector<int64_t> ys(600);
    std::vector<int64_t> zs(600);
    RunOn(LoweredFunction("divide", {y, z}, body), ys, zs);
    for (int64_t k = 0; k < 200; ++k) {
      Wide x = k - 100;
      REQUIRE(ys[k] == k / divisor);
      REQUIRE(ys[k + 200] == k % divisor);
      REQUIRE(ys[k + 400] == (k + divisor - 1) / divisor);
      REQUIRE(zs[k] == static_cast<int64_t>(FloorQuotient(x, divisor)));
      REQUIRE(zs[k + 200] == static_cast<int64_t>(x - FloorQuotient(x, divisor) * divisor));
      REQUIRE(zs[k + 400] == static_cast<int64_t>(-FloorQuotient(-x, divisor)));
    }
  }
}

}  // namespace tcc::test
