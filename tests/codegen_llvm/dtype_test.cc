#include <algorithm>
#include <cmath>
#include <limits>

#include "codegen_llvm/object_code.h"
#include "tests/codegen_llvm/kernel_rig.h"

namespace tcc::test {
namespace {

constexpr DTypeCode kAllTypes[] = {
#define TCC_CODE(text, code, bits, kind) DTypeCode::code,
    TCC_DTYPES(TCC_CODE)
#undef TCC_CODE
};

// A small binary float, read by its definition.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  uint32_t largest;   // code of the largest finite number
  uint32_t infinity;  // its code, or `largest` where the format saturates
  uint32_t nan;
  int unused_bits = 0;  // below the mantissa's
  bool halves_to_even = true;
};

const Format* FormatOf(DType dtype) {
  static constexpr Format kHalf = {5, 10, 0x7bff, 0x7c00, 0x7e00};
  static constexpr Format kBFloat = {8, 7, 0x7f7f, 0x7f80, 0x7fc0};
  static constexpr Format kTFloat = {8, 10, 0x3fbff, 0x3fc00, 0x3fe00, 13, false};
  static constexpr Format kE4M3 = {4, 3, 0x7e, 0x7e, 0x7f};
  static constexpr Format kE5M2 = {5, 2, 0x7b, 0x7b, 0x7f};
  if (dtype.code() == DTypeCode::kFloat16) return &kHalf;
  if (dtype.code() == DTypeCode::kBFloat16) return &kBFloat;
  if (dtype.code() == DTypeCode::kTFloat32) return &kTFloat;
  if (dtype.code() == DTypeCode::kFloat8E4M3) return &kE4M3;
  return dtype.code() == DTypeCode::kFloat8E5M2 ? &kE5M2 : nullptr;
}

double MagnitudeOf(const Format& format, uint32_t code) {
  int bias = (1 << (format.exponent_bits - 1)) - 1;
  int exponent = static_cast<int>(code >> format.mantissa_bits);
  double mantissa = code & ((1u << format.mantissa_bits) - 1);
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
  return std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
}

double Decode(const Format& format, uint32_t code) {
  uint32_t sign = 1u << (format.exponent_bits + format.mantissa_bits);
  uint32_t magnitude = code & (sign - 1);
  double value = MagnitudeOf(format, magnitude);
  if (magnitude > format.largest)
    value = format.infinity != format.largest && magnitude == format.infinity ? INFINITY : NAN;
  if (format.exponent_bits == 5 && format.mantissa_bits == 2 && magnitude == 0x7c) value = INFINITY;
  return code & sign ? -value : value;
}

// The nearest code by comparing distances; of two the even or the larger one.
uint32_t Encode(const Format& format, long double value) {
  uint32_t sign = 1u << (format.exponent_bits + format.mantissa_bits);
  if (std::isnan(value)) return format.nan;
  long double magnitude = fabsl(value);
  uint32_t low = 0;
  uint32_t high = format.largest;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (MagnitudeOf(format, middle) <= magnitude) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  long double below = magnitude - MagnitudeOf(format, low);
  long double above = MagnitudeOf(format, low + 1) - magnitude;
  if (above < below || (above == below && (low % 2 == 1 || !format.halves_to_even))) {
    ++low;
  }
  if (low > format.largest) low = format.infinity;
  return std::signbit(value) ? low | sign : low;
}

bool IsFloat(DType dtype) {
  return dtype.is_float() || FormatOf(dtype);
}
bool IsSigned(DType dtype) {
  return dtype.is_signed_integer() || dtype.code() == DTypeCode::kInt4 ||
         dtype.code() == DTypeCode::kInt2;
}

using Wide = __int128;

// The integer that `value` wraps to in the type.
long double Wrapped(DType dtype, long double value) {
  Wide modulus = Wide(1) << dtype.bits();
  Wide bits = static_cast<Wide>(value) & (modulus - 1);
  if (IsSigned(dtype) && bits >= modulus / 2) bits -= modulus;
  return static_cast<long double>(bits);
}

long double Get(DType dtype, const std::vector<uint8_t>& data, size_t i) {
  if (const size_t bits = dtype.bits(); bits < 8) {
    return Wrapped(dtype, data[i * bits / 8] >> (i * bits % 8));
  }
  const uint8_t* at = data.data() + i * dtype.bytes();
  uint64_t bits = 0;
  memcpy(&bits, at, dtype.bytes());
  if (const Format* format = FormatOf(dtype)) {
    return Decode(*format, static_cast<uint32_t>(bits >> format->unused_bits));
  }
  if (dtype == kFloat32) return __builtin_bit_cast(float, static_cast<uint32_t>(bits));
  if (dtype == kFloat64) return __builtin_bit_cast(double, bits);
  return Wrapped(dtype, bits);
}

// Rounds or wraps, as Cast does.
void Set(DType dtype, std::vector<uint8_t>& data, size_t i, long double value) {
  uint64_t bits = 0;
  if (const Format* format = FormatOf(dtype)) {
    bits = uint64_t{Encode(*format, value)} << format->unused_bits;
  } else if (dtype == kFloat32) {
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(value));
  } else if (dtype == kFloat64) {
    bits = __builtin_bit_cast(uint64_t, static_cast<double>(value));
  } else if (dtype.is_bool()) {
    bits = value != 0;
  } else {
    bits = static_cast<uint64_t>(static_cast<Wide>(Wrapped(dtype, truncl(value))));
  }
  if (const size_t width = dtype.bits(); width < 8) {
    const int shift = static_cast<int>(i * width % 8), ones = (1 << width) - 1;
    uint8_t& byte = data[i * width / 8];
    byte =
        static_cast<uint8_t>((byte & ~(ones << shift)) | (static_cast<int>(bits) & ones) << shift);
  } else {
    memcpy(data.data() + i * dtype.bytes(), &bits, dtype.bytes());
  }
}

// A float out of the integer's range is undefined.
bool IsDefined(DType from, DType to, long double value) {
  if (!IsFloat(from) || IsFloat(to) || to.is_bool()) return true;
  if (std::isnan(value) || std::isinf(value)) return false;
  long double whole = truncl(value);
  long double half = ldexpl(1, to.bits() - 1);
  return IsSigned(to) ? whole >= -half && whole < half : whole >= 0 && whole < 2 * half;
}

std::vector<long double> Samples() {
  std::vector<long double> samples = {
      0, -0.0L, 1, -1, 0.5L, 1.5L, 2.5L, 7, -8, 15, 127, -128, 255, 256.5L, 448, 464, 465, 57344,
      65504, 65519.9L, 65520, 1e-3L, 1e-7L, 6e-8L, 2e-8L, 1e-40L, 3e38L, 3.4e38L, 1e300L, NAN,
      INFINITY, -INFINITY, 1.00048828125L,
      // Between two f16 (bf16), a hair above: one rounding goes up.
      1.00048828125L + 0x1p-40L, 1.00390625L + 0x1p-40L, 1.00390625L};
  Random random(12);
  while (samples.size() < 512) {
    double scale = std::ldexp(1.0, static_cast<int>(random.Between(-30, 30)));
    samples.push_back((random.Unit() * 2 - 1) * (random.OneIn(3) ? scale : 200));
  }
  return samples;
}

}  // namespace

TEST_CASE("every type is loaded, cast to every other and stored", "[codegen_llvm]") {
  const std::vector<long double> samples = Samples();
  int64_t count = static_cast<int64_t>(samples.size());
  for (DTypeCode from_code : kAllTypes) {
    // All casts from one type in one kernel, vectors and scalars.
    DType from(from_code);
    Buffer x = FlatBuffer("X", from, count);
    std::vector<Buffer> params = {x};
    std::vector<Stmt> stmts;
    std::vector<std::vector<uint8_t>> data(1, std::vector<uint8_t>(count * 8));
    for (int64_t i = 0; i < count; ++i) {
      bool fits = IsDefined(kFloat64, from, samples[i]);
      Set(from, data[0], i, fits ? samples[i] : 3);
    }
    for (DTypeCode to_code : kAllTypes) {
      DType to(to_code);
      for (int lanes : {16, 1}) {
        Buffer y = FlatBuffer("Y", to, count);
        Var i = LoopVar("i");
        Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
        Expr value = CastTo(to.WithLanes(lanes), LoadOf(x, index));
        stmts.push_back(Loop(i, count / lanes, StoreTo(y, index, value)));
        params.push_back(y);
        data.emplace_back(count * 8, 0);
      }
    }
    std::vector<void*> buffers;
    std::vector<size_t> bytes;
    for (std::vector<uint8_t>& part : data) {
      buffers.push_back(part.data());
      bytes.push_back(part.size());
    }
    Run(LoweredFunction("casts", params, SeqOf(stmts)), buffers, bytes);

    size_t buffer = 1;
    for (DTypeCode to_code : kAllTypes) {
      DType to(to_code);
      for (int lanes : {16, 1}) {
        std::vector<uint8_t> expected(count * 8, 0);
        for (int64_t i = 0; i < count; ++i) {
          long double value = Get(from, data[0], i);
          if (!IsDefined(from, to, value)) continue;
          Set(to, expected, i, value);
          long double want = Get(to, expected, i);
          long double got = Get(to, data[buffer], i);
          bool same = std::isnan(want) ? std::isnan(got)
                                       : got == want && std::signbit(got) == std::signbit(want);
          if (same) continue;
          INFO(ToString(from) << " to " << ToString(to) << ", lanes " << lanes << ": "
                              << static_cast<double>(value) << " (sample " << i << ")");
          REQUIRE(static_cast<double>(got) == static_cast<double>(want));
          FAIL("the sign differs");
        }
        ++buffer;
      }
    }
  }
}

TEST_CASE("floats beyond an integer's range saturate and NaN becomes 0", "[codegen_llvm]") {
  constexpr int kLanes = 16;
  const std::vector<float> samples = {NAN,     INFINITY, -INFINITY, 1e30f, -1e30f, 3e9f,
                                      -3e9f,   70000,    -70000,    300,   -300,   -1.5f,
                                      127.75f, -128.5f,  255.5f,    0};
  Buffer x = FlatBuffer("X", kFloat32, kLanes);
  auto check = [&]<typename T>(DTypeCode code, T) {
    DType to(code);
    for (int lanes : {kLanes, 1}) {
      Buffer y = FlatBuffer("Y", to, kLanes);
      Var i = LoopVar("i");
      Expr index = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
      Stmt store = StoreTo(y, index, CastTo(to.WithLanes(lanes), LoadOf(x, index)));
      std::vector<float> in = samples;
      std::vector<T> out(kLanes);
      RunOn(LoweredFunction("f", {x, y}, Loop(i, kLanes / lanes, store)), in, out);
      for (int s = 0; s < kLanes; ++s) {
        INFO(ToString(to) << " of " << samples[s] << ", lanes " << lanes);
        long double low = std::numeric_limits<T>::min();
        long double high = std::numeric_limits<T>::max();
        long double whole = std::isnan(samples[s]) ? 0 : truncl(samples[s]);
        REQUIRE(out[s] == static_cast<T>(std::clamp(whole, low, high)));
      }
    }
  };
  check(DTypeCode::kInt8, int8_t{});
  check(DTypeCode::kUInt8, uint8_t{});
  check(DTypeCode::kInt16, int16_t{});
  check(DTypeCode::kInt32, int32_t{});
  check(DTypeCode::kUInt32, uint32_t{});
  check(DTypeCode::kInt64, int64_t{});
  check(DTypeCode::kUInt64, uint64_t{});
}

TEST_CASE("vectors of f32 become i32 at once, not lane by lane", "[codegen_llvm]") {
  Buffer x = FlatBuffer("X", kFloat32, 16), y = FlatBuffer("Y", kInt32, 16);
  Expr all = Lanes(0, 16);
  Stmt store = StoreTo(y, all, CastTo(kInt32.WithLanes(16), LoadOf(x, all)));
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    std::string text =
        KernelText(LoweredFunction("f", {x, y}, store), *FindTarget(target), "asm").value();
    INFO(text);
    CHECK(text.find("vcvttps2dq") != std::string::npos);
    CHECK(text.find("vcvttss2si") == std::string::npos);
  }
}

TEST_CASE("16-bit floats are rounded after every operation", "[codegen_llvm]") {
  constexpr int kLanes = 16;
  for (DTypeCode code : {DTypeCode::kFloat16, DTypeCode::kBFloat16}) {
    DType dtype(code);
    Buffer x = FlatBuffer("X", dtype, kLanes);
    Buffer y = FlatBuffer("Y", dtype, kLanes);
    Expr lanes = Lanes(0, kLanes);
    Expr v = LoadOf(x, lanes);
    Expr value = Make<Div>(v * v + v, v - Splatted(FloatConst(dtype, 3), kLanes));
    std::vector<uint8_t> in(kLanes * 2);
    std::vector<uint8_t> out(kLanes * 2);
    for (int i = 0; i < kLanes; ++i) Set(dtype, in, i, 0.37L * i + 0.01L);
    RunOn(LoweredFunction("f", {x, y}, StoreTo(y, lanes, value)), in, out);
    auto round = [&](long double exact) {
      std::vector<uint8_t> cell(2);
      Set(dtype, cell, 0, exact);
      return Get(dtype, cell, 0);
    };
    for (int i = 0; i < kLanes; ++i) {
      long double a = Get(dtype, in, i);
      long double expected = round(round(round(a * a) + a) / round(a - 3));
      REQUIRE(static_cast<double>(Get(dtype, out, i)) == static_cast<double>(expected));
    }
  }
}

TEST_CASE("floats compare and pick as IEEE says, with NaN", "[codegen_llvm]") {
  constexpr int kLanes = 16;
  Buffer x = FlatBuffer("X", kFloat32, kLanes);
  Buffer y = FlatBuffer("Y", kFloat32, kLanes);
  std::vector<Buffer> bools;
  for (int i = 0; i < 4; ++i) bools.push_back(FlatBuffer("B", kBool, kLanes));
  Buffer low = FlatBuffer("low", kFloat32, kLanes);
  Buffer high = FlatBuffer("high", kFloat32, kLanes);
  Buffer relu = FlatBuffer("relu", kFloat32, kLanes);
  Expr lanes = Lanes(0, kLanes);
  Expr a = LoadOf(x, lanes);
  Expr b = LoadOf(y, lanes);
  Expr zero = Splatted(FloatConst(kFloat32, 0), kLanes);
  Stmt body = SeqOf({StoreTo(bools[0], lanes, a < b), StoreTo(bools[1], lanes, a <= b),
                     StoreTo(bools[2], lanes, Make<Eq>(a, b)),
                     StoreTo(bools[3], lanes, Make<Ne>(a, b)), StoreTo(low, lanes, MinOf(a, b)),
                     StoreTo(high, lanes, MaxOf(a, b)), StoreTo(relu, lanes, MaxOf(zero, a))});
  Function fn =
      LoweredFunction("f", {x, y, bools[0], bools[1], bools[2], bools[3], low, high, relu}, body);
  std::vector<float> xs;
  std::vector<float> ys;
  for (float first : {1.0f, -2.0f, NAN, INFINITY}) {
    for (float second : {1.0f, NAN, -INFINITY, 3.0f}) {
      xs.push_back(first);
      ys.push_back(second);
    }
  }
  std::vector<uint8_t> lt(16), le(16), eq(16), ne(16);
  std::vector<float> lows(16), highs(16), relus(16);
  RunOn(fn, xs, ys, lt, le, eq, ne, lows, highs, relus);
  auto same = [](float got, float want) {
    return std::isnan(want) ? std::isnan(got) : got == want;
  };
  for (int i = 0; i < kLanes; ++i) {
    REQUIRE(lt[i] == (xs[i] < ys[i]));
    REQUIRE(le[i] == (xs[i] <= ys[i]));
    REQUIRE(eq[i] == (xs[i] == ys[i]));
    REQUIRE(ne[i] == (xs[i] != ys[i]));
    bool nan = std::isnan(xs[i]) || std::isnan(ys[i]);
    REQUIRE(same(lows[i], nan ? NAN : std::min(xs[i], ys[i])));
    REQUIRE(same(highs[i], nan ? NAN : std::max(xs[i], ys[i])));
    REQUIRE(same(relus[i], std::isnan(xs[i]) ? NAN : std::max(xs[i], 0.0f)));
  }
}

// Every number of the type against others: zeros, infinities, NaN of either sign, neighbours.
TEST_CASE("16-bit floats compare and pick as IEEE says, with NaN of either sign",
          "[codegen_llvm]") {
  constexpr int kCells = 1 << 16;
  for (DTypeCode code : {DTypeCode::kFloat16, DTypeCode::kBFloat16}) {
    DType dtype(code);
    uint32_t infinity = FormatOf(dtype)->infinity;
    std::vector<uint32_t> others = {0, 1, 0x3c00, infinity - 1, infinity, infinity + 1, 0x7fff};
    Random random(4);
    std::vector<uint8_t> xs(kCells * 2), ys(kCells * 2);
    for (int i = 0; i < kCells; ++i) {
      uint32_t near = static_cast<uint32_t>(i) + static_cast<uint32_t>(random.Between(0, 2));
      uint32_t y = random.OneIn(2) ? near : others[random.Between(0, 6)] ^ (i % 2 ? 0x8000 : 0);
      memcpy(xs.data() + 2 * i, &i, 2);
      memcpy(ys.data() + 2 * i, &y, 2);
    }
    for (int lanes : {1, 8, 16, 32}) {
      INFO(ToString(dtype) << ", lanes " << lanes);
      std::vector<Buffer> params = {FlatBuffer("X", dtype, kCells), FlatBuffer("Y", dtype, kCells)};
      for (const char* name : {"low", "high", "relu", "size"}) {
        params.push_back(FlatBuffer(name, dtype, kCells));
      }
      for (const char* name : {"less", "same"}) params.push_back(FlatBuffer(name, kBool, kCells));
      Var i = LoopVar("i");
      Expr at = lanes == 1 ? Expr(i) : Lanes(Expr(i) * Expr(lanes), lanes);
      Expr a = LoadOf(params[0], at);
      Expr b = LoadOf(params[1], at);
      Expr zero = FloatConst(dtype, 0);
      if (lanes > 1) zero = Splatted(zero, lanes);
      std::vector<Expr> values = {MinOf(a, b),    MaxOf(a, b),
                                  MaxOf(zero, a), CallOf(ScalarOp::kAbs, {a}),
                                  a < b,          Make<Eq>(a, b)};
      std::vector<Stmt> stmts;
      for (size_t v = 0; v < values.size(); ++v) {
        stmts.push_back(StoreTo(params[v + 2], at, values[v]));
      }
      std::vector<uint8_t> low(kCells * 2), high(kCells * 2), relu(kCells * 2), size(kCells * 2);
      std::vector<uint8_t> less(kCells), same(kCells);
      RunOn(LoweredFunction("f", params, Loop(i, kCells / lanes, SeqOf(stmts))), xs, ys, low, high,
            relu, size, less, same);
      auto is = [&](const std::vector<uint8_t>& got, int cell, long double want) {
        long double value = Get(dtype, got, cell);
        return std::isnan(want) ? std::isnan(value) : value == want;
      };
      for (int c = 0; c < kCells; ++c) {
        long double x = Get(dtype, xs, c);
        long double y = Get(dtype, ys, c);
        bool nan = std::isnan(x) || std::isnan(y);
        INFO("x " << x << ", y " << y);
        bool right = is(low, c, nan ? NAN : std::min(x, y)) &&
                     is(high, c, nan ? NAN : std::max(x, y)) &&
                     is(relu, c, std::isnan(x) ? NAN : std::max(x, 0.0L)) &&
                     is(size, c, fabsl(x)) && less[c] == (x < y) && same[c] == (x == y);
        if (!right) FAIL();
      }
    }
  }
}

// LLVM made each lane's comparison one of scalars: pools of f16 took twelve times as long.
TEST_CASE("vectors of 16-bit floats are compared and rounded as vectors", "[codegen_llvm]") {
  constexpr int kLanes = 32;
  Buffer x = FlatBuffer("X", kFloat16, kLanes);
  Buffer y = FlatBuffer("Y", kFloat16, kLanes);
  Buffer z = FlatBuffer("Z", kFloat16, kLanes);
  Expr lanes = Lanes(0, kLanes);
  Expr a = LoadOf(x, lanes);
  Expr b = LoadOf(y, lanes);
  Expr one = Splatted(FloatConst(kFloat16, 1), kLanes);
  for (const Expr& value : {MaxOf(a, b), MinOf(a, one), SelectOf(a < b, a, one),
                            CallOf(ScalarOp::kFloor, {a}), CallOf(ScalarOp::kSigmoid, {a})}) {
    for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
      Function fn = LoweredFunction("f", {x, y, z}, StoreTo(z, lanes, value));
      std::string text = KernelText(fn, FindTarget(target).value(), "asm").value();
      INFO(text);
      CHECK(text.find("ucomiss") == std::string::npos);
      CHECK(text.find("roundss") == std::string::npos);
      CHECK(text.find("vpextrw") == std::string::npos);
    }
  }
}

}  // namespace tcc::test
