#include "codegen_opencl/opencl_prelude.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "support/check.h"

namespace tcc {
namespace {

// The declarations that kernels consist of. The driver hands over a buffer as an object and a
// place in it, in bytes.
constexpr std::string_view kDeclarations = R"(#define TCC_KERNEL(name, x, y, z) \
  __kernel __attribute__((reqd_work_group_size(x, y, z))) void name
#define TCC_INPUT(type, name) __global type* name##_base, long name##_at
#define TCC_OUTPUT(type, name) __global type* name##_base, long name##_at
#define TCC_SHAPE(name) long name
#define TCC_INPUT_AT(type, name) \
  const __global type* restrict name = \
      (const __global type*)((const __global uchar*)name##_base + name##_at)
#define TCC_OUTPUT_AT(type, name) \
  __global type* restrict name = (__global type*)((__global uchar*)name##_base + name##_at)
#define TCC_SHARED(type, name, count) __local type name[count] __attribute__((aligned(16)))
#define TCC_SHARED_BYTES(count) \
  __local uchar tcc_shared_bytes[count] __attribute__((aligned(16)))
#define TCC_SHARED_AT(type, name, offset, count) \
  __local type* const name = (__local type*)(tcc_shared_bytes + (offset))
#define TCC_LOCAL(type, name, count) type name[count]
)";

constexpr std::string_view kDouble = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";

// A function that kernels or later functions call. "@T" and "@U" stand for the types that its name
// ends in, each behind an underscore; in `text` they stand in the name, too.
struct FunctionRow {
  std::string_view name;
  int types;
  std::string_view text;
};

// ir/expr/expr.h and ir/expr/scalar_op.h define what they do. Each calls earlier ones only.
constexpr FunctionRow kFunctions[] = {
    {"tcc_thread_x", 0, "#define tcc_thread_x() ((int)get_local_id(0))\n"},
    {"tcc_thread_y", 0, "#define tcc_thread_y() ((int)get_local_id(1))\n"},
    {"tcc_thread_z", 0, "#define tcc_thread_z() ((int)get_local_id(2))\n"},
    {"tcc_block_x", 0, "#define tcc_block_x() ((int)get_group_id(0))\n"},
    {"tcc_block_y", 0, "#define tcc_block_y() ((int)get_group_id(1))\n"},
    {"tcc_block_z", 0, "#define tcc_block_z() ((int)get_group_id(2))\n"},
    {"tcc_barrier", 0, "#define tcc_barrier() barrier(CLK_LOCAL_MEM_FENCE)\n"},
    {"tcc_global_barrier", 0,
     "#define tcc_global_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)\n"},
    {"tcc_bits_to_float", 0, "#define tcc_bits_to_float(bits) as_float(bits)\n"},
    {"tcc_bits_to_double", 0, "#define tcc_bits_to_double(bits) as_double(bits)\n"},
    {"tcc_half_to_float", 0, R"(float tcc_half_to_float(ushort bits) {
  return vload_half(0, (const half*)&bits);
}
)"},
    {"tcc_float_to_half", 0, R"(ushort tcc_float_to_half(float x) {
  ushort bits;
  vstore_half_rte(x, 0, (half*)&bits);
  return bits;
}
)"},
    {"tcc_float_to_bfloat", 0, R"(ushort tcc_float_to_bfloat(float x) {
  const uint bits = as_uint(x);
  if (x != x) return (ushort)(bits >> 16 | 0x40);
  return (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
)"},
    {"tcc_f16", 0, "#define tcc_f16(x) tcc_float_to_half(x)\n"},
    {"tcc_bf16", 0, "#define tcc_bf16(x) tcc_float_to_bfloat(x)\n"},
    // Halves away from zero. A NaN is made quiet, or it could lose all its bits.
    {"tcc_tf32", 0, R"(uint tcc_tf32(float x) {
  const uint bits = as_uint(x);
  return (x != x ? bits | 0x400000u : bits + 0x1000u) & ~0x1fffu;
}
)"},
    // To odd: a second rounding, to a narrower float, then gives the same as one from the exact
    // value would.
    {"tcc_to_odd_double", 0, R"(float tcc_to_odd_double(double x) {
  const float nearest = (float)x;
  if ((double)nearest == x || x != x) return nearest;
  uint bits = as_uint(nearest);
  if (fabs((double)nearest) > fabs(x)) bits -= 1;
  return as_float(bits | 1u);
}
)"},
    {"tcc_to_odd", 1, R"(float tcc_to_odd_@T(@T x) {
  const float toward_zero = convert_float_rtz(x);
  return (@T)toward_zero == x ? toward_zero : as_float(as_uint(toward_zero) | 1u);
}
)"},
    {"tcc_widen_f16", 0, "#define tcc_widen_f16(x) tcc_half_to_float(x)\n"},
    {"tcc_widen_bf16", 0, "#define tcc_widen_bf16(x) as_float((uint)(x) << 16)\n"},
    {"tcc_widen_tf32", 0, "#define tcc_widen_tf32(x) as_float(x)\n"},
    // The upper half of an f16.
    {"tcc_widen_f8e5m2", 0, "#define tcc_widen_f8e5m2(x) tcc_half_to_float((ushort)((x) << 8))\n"},
    // A bias of 7, no infinity, one NaN: an f16 of the same fields is 2^8 too small.
    {"tcc_widen_f8e4m3", 0, R"(float tcc_widen_f8e4m3(uchar x) {
  if ((x & 0x7f) == 0x7f) return as_float(0x7fc00000u);
  const uint fields = (x & 0x80u) << 8 | (x & 0x7fu) << 7;
  return tcc_half_to_float((ushort)fields) * 256.0f;
}
)"},
    // Saturates at `largest`; adding 2^23 spacings of the narrow format rounds to one of them.
    {"tcc_narrow_f8", 0,
     R"(uchar tcc_narrow_f8(float x, int mantissa, int smallest, float largest, float scale) {
  const uint sign = as_uint(x) >> 24 & 0x80u;
  if (x != x) return (uchar)(sign | 0x7fu);
  float magnitude = fabs(x);
  if (magnitude > largest) magnitude = largest;
  int exponent = (int)(as_uint(magnitude) >> 23) - 127;
  if (exponent < smallest) exponent = smallest;
  const float shifter = as_float((uint)(exponent + 127 + 23 - mantissa) << 23);
  volatile float sum = magnitude + shifter;
  float rounded = sum - shifter;
  if (rounded > largest) rounded = largest;
  const uint fields = (uint)tcc_float_to_half(rounded * scale) >> (10 - mantissa);
  return (uchar)(sign | fields);
}
)"},
    {"tcc_f8e4m3", 0, "#define tcc_f8e4m3(x) tcc_narrow_f8(x, 3, -6, 448.0f, 0.00390625f)\n"},
    // A loaded infinity stays; a cast makes none.
    {"tcc_finite_e5m2", 0, R"(float tcc_finite_e5m2(float x) {
  return x > 57344.0f ? 57344.0f : x < -57344.0f ? -57344.0f : x;
}
)"},
    {"tcc_f8e5m2", 0, R"(uchar tcc_f8e5m2(float x) {
  const uint bits = as_uint(x);
  if ((bits & 0x7fffffffu) == 0x7f800000u) return (uchar)((bits >> 24 & 0x80u) | 0x7cu);
  return tcc_narrow_f8(x, 2, -14, 57344.0f, 1.0f);
}
)"},
    // The place of an element of 2 or 4 bits in its byte, the first low.
    {"tcc_packed_shift", 0,
     "#define tcc_packed_shift(index, bits) ((int)((index) & (8 / (bits) - 1)) * (bits))\n"},
    // The byte with another element `index`.
    {"tcc_with_packed", 0, R"(uchar tcc_with_packed(uchar byte, long index, int bits, int value) {
  const int shift = tcc_packed_shift(index, bits), ones = (1 << bits) - 1;
  return (uchar)((byte & ~(ones << shift)) | (value & ones) << shift);
}
)"},
    // Two atomic steps suffice: nobody else touches the element. Buffers begin at multiples of 16.
    {"tcc_store_packed", 1,
     R"(void tcc_store_packed_@T(__@T uchar* buffer, long index, int bits, int value) {
  const int per_byte = 8 / bits;
  const uint ones = (1u << bits) - 1u;
  const long at = index / per_byte;
  volatile __@T uint* word = (volatile __@T uint*)buffer + at / 4;
  const int shift = (int)(at & 3) * 8 + tcc_packed_shift(index, bits);
  atomic_and(word, ~(ones << shift));
  atomic_or(word, ((uint)value & ones) << shift);
}
)"},
    // The low bits of x as a value of a packed type.
    {"tcc_i4", 0, "#define tcc_i4(x) ((char)((((x) & 15) ^ 8) - 8))\n"},
    {"tcc_u4", 0, "#define tcc_u4(x) ((uchar)((x) & 15))\n"},
    {"tcc_i2", 0, "#define tcc_i2(x) ((char)((((x) & 3) ^ 2) - 2))\n"},
    {"tcc_u2", 0, "#define tcc_u2(x) ((uchar)((x) & 3))\n"},
    // Truncates; saturates out of range; NaN gives 0. low and high are the type's range
    // [low, high) as floats, both exact.
    {"tcc_to_integer", 2,
     R"(@T tcc_to_integer_@T_@U(@U x, @U low, @U high, @T least, @T most) {
  if (x != x) return 0;
  if (x <= low) return least;
  if (x >= high) return most;
  return (@T)x;
}
)"},
    // For y > 0.
    {"tcc_floor_div", 1, R"(@T tcc_floor_div_@T(@T x, @T y) {
  const @T quotient = x / y;
  return quotient * y > x ? quotient - 1 : quotient;
}
)"},
    {"tcc_floor_mod", 1, R"(@T tcc_floor_mod_@T(@T x, @T y) {
  const @T rest = x % y;
  return rest < 0 ? rest + y : rest;
}
)"},
    {"tcc_ceil_div", 1, R"(@T tcc_ceil_div_@T(@T x, @T y) {
  const @T quotient = x / y;
  return quotient * y < x ? quotient + 1 : quotient;
}
)"},
    // The halves are signed; the sum wraps.
    {"tcc_dot_i16x2", 1, R"(@T tcc_dot_i16x2_@T(@T x, @T y) {
  const int low = (int)(short)x * (int)(short)y;
  const int high = (int)(short)(x >> 16) * (int)(short)(y >> 16);
  return (@T)((uint)low + (uint)high);
}
)"},
    {"tcc_dot_u8i8x4", 1, R"(@T tcc_dot_u8i8x4_@T(@T x, @T y) {
  int sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += (int)(uchar)(x >> shift) * (int)(char)(y >> shift);
  }
  return (@T)sum;
}
)"},
    {"tcc_dot_i8i8x4", 1, R"(@T tcc_dot_i8i8x4_@T(@T x, @T y) {
  int sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += (int)(char)(x >> shift) * (int)(char)(y >> shift);
  }
  return (@T)sum;
}
)"},
    {"tcc_pack_bf16x2", 1, R"(int tcc_pack_bf16x2_@T(@T low, @T high) {
  return (int)(tcc_float_to_bfloat(low) | (uint)tcc_float_to_bfloat(high) << 16);
}
)"},
    {"tcc_dot_bf16x2", 1, R"(float tcc_dot_bf16x2_@T(@T x, @T y) {
  const float low = as_float((uint)x << 16) * as_float((uint)y << 16);
  return as_float((uint)x & 0xffff0000u) * as_float((uint)y & 0xffff0000u) + low;
}
)"},
    // The smallest value by -1 wraps.
    {"tcc_trunc_div", 1, R"(@T tcc_trunc_div_@T(@T x, @T y) {
  const bool negates = y == (@T)-1 && (@T)-1 < 1;
  return negates ? (@T)(0ul - (ulong)x) : (@T)(x / y);
}
)"},
    {"tcc_trunc_mod", 1, R"(@T tcc_trunc_mod_@T(@T x, @T y) {
  const bool negates = y == (@T)-1 && (@T)-1 < 1;
  return negates ? (@T)0 : (@T)(x % y);
}
)"},
    // Bits of the type, as an unsigned number.
    {"tcc_shift_left", 1, R"(@T tcc_shift_left_@T(@T x, @T count) {
  return (ulong)count < sizeof(@T) * 8 ? (@T)((ulong)x << count) : (@T)0;
}
)"},
    {"tcc_shift_right", 1, R"(@T tcc_shift_right_@T(@T x, @T count) {
  const ulong width = sizeof(@T) * 8;
  const ulong mask = ~0ul >> (64 - width);
  return (ulong)count < width ? (@T)(((ulong)x & mask) >> count) : (@T)0;
}
)"},
    {"tcc_integer_min", 1, "@T tcc_integer_min_@T(@T a, @T b) { return b < a ? b : a; }\n"},
    {"tcc_integer_max", 1, "@T tcc_integer_max_@T(@T a, @T b) { return b > a ? b : a; }\n"},
    {"tcc_integer_sign", 1, "@T tcc_integer_sign_@T(@T x) { return (@T)((x > 0) - (x < 0)); }\n"},
    {"tcc_integer_abs", 1,
     "@T tcc_integer_abs_@T(@T x) { return x < 0 ? (@T)(0ul - (ulong)x) : x; }\n"},
    // NaN if either is.
    {"tcc_min", 1, "@T tcc_min_@T(@T a, @T b) { return a < b || a != a ? a : b; }\n"},
    {"tcc_max", 1, "@T tcc_max_@T(@T a, @T b) { return a > b || a != a ? a : b; }\n"},
    {"tcc_popcount", 1, "@T tcc_popcount_@T(@T x) { return popcount(x); }\n"},
    {"tcc_sign", 1, R"(@T tcc_sign_@T(@T x) {
  return x == 0 ? (@T)0 : x != x ? x : copysign((@T)1, x);
}
)"},
    {"tcc_sigmoid", 1, R"(@T tcc_sigmoid_@T(@T x) {
  const @T decay = exp(-fabs(x));
  return (x < 0 ? decay : (@T)1) / ((@T)1 + decay);
}
)"},
    {"tcc_exp_diff", 1, "@T tcc_exp_diff_@T(@T x, @T y) { return exp(x == y ? (@T)0 : x - y); }\n"},
    {"tcc_is_nan", 1, "bool tcc_is_nan_@T(@T x) { return x != x; }\n"},
    {"tcc_is_inf", 1, "bool tcc_is_inf_@T(@T x) { return fabs(x) == (@T)INFINITY; }\n"},
};

// A function that a text names: its row and the types that its name ends in.
struct NamedFunction {
  size_t row;
  std::vector<std::string> types;
};

// Returns the types of a name's end "_T_U"; none of another end.
std::vector<std::string> TypesIn(std::string_view end) {
  std::vector<std::string> types;
  while (end.starts_with('_')) {
    end.remove_prefix(1);
    types.emplace_back(end.substr(0, end.find('_')));
    end.remove_prefix(types.back().size());
  }
  return end.empty() ? types : std::vector<std::string>();
}

// Returns the function whose name is `word`. Every word of the prelude's is in the table.
NamedFunction FunctionNamed(std::string_view word) {
  for (size_t i = 0; i < std::size(kFunctions); ++i) {
    const FunctionRow& row = kFunctions[i];
    if (row.types == 0 && word == row.name) return {i, {}};
    if (row.types == 0 || !word.starts_with(row.name)) continue;
    std::vector<std::string> types = TypesIn(word.substr(row.name.size()));
    if (std::ssize(types) == row.types) return {i, std::move(types)};
  }
  TCC_CHECK(false) << "the prelude has no function " << std::string(word);
  return {};
}

std::string TextOf(const NamedFunction& function) {
  std::string text(kFunctions[function.row].text);
  for (size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    text.replace(at, 2, function.types[text[at + 1] == 'T' ? 0 : 1]);
  }
  return text;
}

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Calls `use` for each word in `text`.
template <typename Use>
void ForEachWord(std::string_view text, const Use& use) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsOfWord(text[end])) ++end;
    if (end > at) use(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
}

// The functions that texts name, by their places in the table and their words.
class NamedFunctions {
 public:
  void Add(std::string_view text) {
    ForEachWord(text, [&](std::string_view word) {
      has_double_ = has_double_ || word == "double";
      if (!word.starts_with("tcc_")) return;
      NamedFunction function = FunctionNamed(word);
      auto [found, fresh] = texts_.try_emplace({function.row, std::string(word)}, TextOf(function));
      if (fresh) Add(std::string(found->second));
    });
  }

  bool has_double() const { return has_double_; }

  std::string Text() const {
    std::string all;
    for (const auto& [place, text] : texts_) all += text;
    return all;
  }

 private:
  std::map<std::pair<size_t, std::string>, std::string> texts_;
  bool has_double_ = false;
};

}  // namespace

std::string OpenClPrelude(std::string_view kernels) {
  NamedFunctions functions;
  functions.Add(kernels);
  std::string text(functions.has_double() ? kDouble : "");
  text += kDeclarations;
  return text + functions.Text() + "\n";
}

}  // namespace tcc
