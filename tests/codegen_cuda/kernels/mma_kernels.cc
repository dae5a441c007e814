#include "tests/codegen_cuda/kernels/mma_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>

#include "codegen_cuda/text/prelude.h"
#include "support/dtype.h"

namespace tcc::test {
namespace {

constexpr Mma kMmas[] = {
    {"m16n8k16_f16", DType(DTypeCode::kFloat16), "TccF16", 16, 16, 80},
    {"m16n8k16_bf16", DType(DTypeCode::kBFloat16), "TccBF16", 16, 16, 80},
    {"m16n8k8_tf32", kFloat32, "float", 16, 8, 80},
    {"m16n8k8_3xtf32", kFloat32, "float", 16, 8, 80},
    {"m16n8k8_tf32", DType(DTypeCode::kTFloat32), "TccTF32", 16, 8, 80},
    {"m16n8k8_f16", DType(DTypeCode::kFloat16), "TccF16", 16, 8, 75},
    {"m16n8k32_s8", DType(DTypeCode::kInt8), "signed char", 16, 32, 80},
    {"m8n8k16_s8", DType(DTypeCode::kInt8), "signed char", 8, 16, 75},
    {"m16n8k256_b1", kInt32, "int", 16, 8, 80},
};
constexpr Mma kTf32 = kMmas[2], kThreeTf32 = kMmas[3];

bool IsWhole(const Mma& mma) {
  return mma.dtype.is_integer();
}

// Whether its operands are of tf32 in memory, so that the product does not round them.
bool IsStored(const Mma& mma) {
  return mma.dtype.code() == DTypeCode::kTFloat32;
}

std::string SymbolOf(const Mma& mma, Order order) {
  return fmt::format("{}{}{}", mma.name, IsStored(mma) ? "_stored" : "",
                     order == Order::kRows ? "_rows" : "");
}

// Rows of A and columns of B are 16-byte parts of what ldmatrix reads as 8 rows.
std::string TextOf(const Mma& mma, Order order) {
  int part = 16 / mma.dtype.bytes();
  int a_words = mma.rows / 8 * mma.depth / part;
  int b_words = mma.depth / part;
  std::string b =
      order == Order::kColumns
          ? fmt::format("tcc_load_matrix<{}>(sb, lane % 8 * {} + lane / 8 % {} * {})", b_words,
                        mma.depth, b_words, part)
          : fmt::format("tcc_load_matrix_transposed<{}>(sb, lane % {} * 8)", b_words, 8 * b_words);
  return std::string(CudaPrelude()) +
         fmt::format(R"(
TCC_KERNEL({symbol}, 32)(TCC_INPUT({type}, a), TCC_INPUT({type}, b), TCC_INPUT({sum}, c),
                    TCC_OUTPUT({sum}, d)) {{
  TCC_SHARED({type}, sa, {a_count});
  TCC_SHARED({type}, sb, {b_count});
  const int lane = tcc_thread_x();
  for (int i = lane; i < {a_count}; i += 32) sa[i] = a[i];
  for (int i = lane; i < {b_count}; i += 32) sb[i] = b[i];
  tcc_barrier();
  auto fa =
      tcc_load_matrix<{a_words}>(sa, lane % {rows} * {depth} + lane / {rows} % {b_words} * {part});
  const auto fb = {b};
  TccVector<{sum}, {sums}> fc;
  for (int i = 0; i < {sums}; ++i) {{
    fc.v[i] = c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2];
  }}
  fc = tcc_mma_{name}(fa, fb, fc);
  for (int i = 0; i < {sums}; ++i) {{
    d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = fc.v[i];
  }}
}}
TCC_END_KERNEL({symbol})
)",
                     fmt::arg("symbol", SymbolOf(mma, order)), fmt::arg("type", mma.type),
                     fmt::arg("sum", IsWhole(mma) ? "int" : "float"),
                     fmt::arg("a_count", mma.rows * mma.depth), fmt::arg("b_count", 8 * mma.depth),
                     fmt::arg("a_words", a_words), fmt::arg("b_words", b_words),
                     fmt::arg("rows", mma.rows), fmt::arg("depth", mma.depth),
                     fmt::arg("part", part), fmt::arg("sums", mma.rows / 4), fmt::arg("b", b),
                     fmt::arg("name", mma.name));
}

// Whether elements are words of bits.
bool IsOfBits(const Mma& mma) {
  return mma.dtype == kInt32;
}

// Returns the product of an element of A and one of B.
double Times(const Mma& mma, const Tensor& a, int64_t at_a, const Tensor& b, int64_t at_b) {
  if (!IsOfBits(mma)) return ElementAsDouble(a, at_a) * ElementAsDouble(b, at_b);
  return std::popcount(static_cast<uint32_t>(ElementAsInt(a, at_a) & ElementAsInt(b, at_b)));
}

// Returns what the operands give, exactly, rounded once.
Tensor Product(const Mma& mma, Order order, const std::vector<Tensor>& operands) {
  Tensor d = MakeZeroTensor(operands[2].dtype, operands[2].shape);
  for (int row = 0; row < mma.rows; ++row) {
    for (int column = 0; column < 8; ++column) {
      double sum = ElementAsDouble(operands[2], row * 8 + column);
      for (int k = 0; k < mma.depth; ++k) {
        int b = order == Order::kColumns ? column * mma.depth + k : k * 8 + column;
        sum += Times(mma, operands[0], row * mma.depth + k, operands[1], b);
      }
      SetElement(d, row * 8 + column, sum);
    }
  }
  return d;
}

// Makes the product of an A whose rows and a B whose columns have one value each.
Twin OfValues(const Mma& mma, const std::string& name, std::span<const float> rows,
              std::span<const float> columns) {
  Twin twin = TwinOf(mma);
  twin.name = name;
  for (int i = 0; i < mma.rows * mma.depth; ++i) {
    SetElement(twin.operands[0], i, rows[i / mma.depth % rows.size()]);
  }
  for (int i = 0; i < 8 * mma.depth; ++i) {
    SetElement(twin.operands[1], i, columns[i / mma.depth % columns.size()]);
  }
  twin.operands[2] = MakeZeroTensor(kFloat32, {mma.rows, 8});
  twin.expected = Product(mma, Order::kColumns, twin.operands);
  return twin;
}

// Multiplies values by each other, as A and as B. Infinities and the largest numbers once became
// NaN: inf - inf was the small part, and the big one of the largest float was infinite. The small
// part of 4098.5 is not below 1: products of it and the largest numbers overflow by themselves.
std::vector<Twin> ThreeTf32OfExtremes() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  const float values[] = {kInfinity,
                          -kInfinity,
                          NAN,
                          kMost,
                          -kMost,
                          0x1.ffep127f,
                          -0x1.ffcp127f,
                          1e30f * (1 - 0x1p-12f),
                          1,
                          2,
                          1e-2f,
                          1 + 0x1p-12f,
                          1 + 3 * 0x1p-12f,
                          0,
                          0x1p-13f,
                          -1e-15f};
  const float few[] = {kInfinity, -kInfinity, NAN, 4098.5f, -4098.5f, 1 + 0x1p-12f, 1, 0};
  std::vector<Twin> twins = {
      OfValues(kThreeTf32, "mma 3xtf32 by infinities and the largest numbers", values,
               std::span(values).first(8)),
      OfValues(kThreeTf32, "mma 3xtf32 of infinities and the largest numbers", values,
               std::span(values).last(8)),
      OfValues(kThreeTf32, "mma 3xtf32 of infinities and large remainders", few, few)};
  // Tensor cores cut sums off.
  for (Twin& twin : twins) twin.tolerance = 0x1p-18;
  return twins;
}

Twin RoundedToTf32() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::pair<float, float> samples[] = {
      {1, 1},
      {1 + 0x1p-10f, 1 + 0x1p-10f},
      {1 + 0x1p-11f, 1 + 0x1p-10f},  // halves away from zero
      {1 + 3 * 0x1p-11f, 1 + 0x1p-9f},
      {-(1 + 0x1p-11f), -(1 + 0x1p-10f)},
      {1 + 0x1p-11f - 0x1p-23f, 1},
      {1 + 0x1p-12f, 1},
      {2 - 0x1p-23f, 2},
      {0x1p-130f, 0x1p-130f},
      {-0.0f, -0.0f},
      {kInfinity, kInfinity},
      {-kInfinity, -kInfinity},
      {NAN, NAN},
      {-NAN, NAN},
      {0x1.ffdp127f, 0x1.ffcp127f},
      {0x1.ffep127f, kInfinity},
  };
  std::vector<float> values(32), rounded(64);
  for (size_t i = 0; i < 64; ++i) std::tie(values[i % 32], rounded[i]) = samples[i % 16];
  return {.name = "rounding to tf32",
          .target = "sm_80",
          .text = std::string(CudaPrelude()) + R"(
TCC_KERNEL(to_tf32, 32)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  y[tcc_thread_x()] = tcc_bits_to_float(tcc_to_tf32(x[tcc_thread_x()]));
  y[tcc_thread_x() + 32] = tcc_widen(tcc_tf32(x[tcc_thread_x()]));
}
TCC_END_KERNEL(to_tf32)
)",
          .kernel = OneLaunch("to_tf32", {1, 1}, {32, 1}, 2),
          .operands = {Floats({32}, values)},
          .expected = Floats({64}, rounded)};
}

}  // namespace

std::span<const Mma> Mmas() {
  return kMmas;
}

Twin TwinOf(const Mma& mma, Order order) {
  Random random(3);
  DType sum = IsWhole(mma) ? kInt32 : kFloat32;
  Twin twin = {.name = fmt::format("mma {}{}{}", mma.name, IsStored(mma) ? " of stored words" : "",
                                   order == Order::kRows ? ", B transposed by ldmatrix" : ""),
               .target = fmt::format("sm_{}", mma.sm),
               .text = TextOf(mma, order),
               .kernel = OneLaunch(SymbolOf(mma, order), {1, 1}, {32, 1}, 4),
               .operands = {Integers(mma.dtype, {mma.rows * mma.depth}, random),
                            Integers(mma.dtype, {8 * mma.depth}, random),
                            Integers(sum, {mma.rows, 8}, random)}};
  twin.expected = Product(mma, order, twin.operands);
  return twin;
}

std::vector<Twin> MmaTwins() {
  std::vector<Twin> twins;
  for (const Mma& mma : kMmas) {
    twins.push_back(TwinOf(mma));
    if (mma.dtype.bytes() == 2) twins.push_back(TwinOf(mma, Order::kRows));
  }
  twins.push_back(RoundedToTf32());
  // Three products keep all but e * e of the square of 1 + e, one keeps 1.
  const float x[] = {1 + 0x1p-12f};
  twins.push_back(OfValues(kTf32, "mma tf32 of 1 + 2^-12", x, x));
  twins.back().expected = Floats({16, 8}, std::vector<float>(128, 8));
  twins.push_back(OfValues(kThreeTf32, "mma 3xtf32 of 1 + 2^-12", x, x));
  twins.back().expected = Floats({16, 8}, std::vector<float>(128, 8 * (1 + 0x1p-11f)));
  std::ranges::move(ThreeTf32OfExtremes(), std::back_inserter(twins));
  return twins;
}

}  // namespace tcc::test
