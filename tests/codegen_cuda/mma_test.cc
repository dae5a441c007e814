#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "codegen_cuda/emulator/emulator.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/prelude.h"
#include "support/dtype.h"
#include "support/random.h"
#include "tests/codegen_cuda/nvrtc_rig.h"

using namespace tcc;
using namespace tcc::test;

namespace {

// An instruction D = A B + C of one warp. B has 8 columns.
struct Mma {
  const char* name;
  DType dtype;       // of A and B
  const char* type;  // as it is spelled
  int rows;
  int depth;
  int sm;  // the first that has it
};

const Mma kMmas[] = {
    {"m16n8k16_f16", DType(DTypeCode::kFloat16), "TccF16", 16, 16, 80},
    {"m16n8k16_bf16", DType(DTypeCode::kBFloat16), "TccBF16", 16, 16, 80},
    {"m16n8k8_tf32", kFloat32, "float", 16, 8, 80},
    {"m16n8k8_tf32", DType(DTypeCode::kTFloat32), "TccTF32", 16, 8, 80},
    {"m16n8k8_3xtf32", kFloat32, "float", 16, 8, 80},
    {"m16n8k8_f16", DType(DTypeCode::kFloat16), "TccF16", 16, 8, 75},
    {"m16n8k32_s8", DType(DTypeCode::kInt8), "signed char", 16, 32, 80},
    {"m8n8k16_s8", DType(DTypeCode::kInt8), "signed char", 8, 16, 75},
};

bool IsWhole(const Mma& mma) {
  return mma.dtype.is_integer();
}

// How B lies in memory: a column after the other, or a row after the other (16-bit types only).
enum class Order { kColumns, kRows };

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
TCC_KERNEL(mma, 32)(TCC_INPUT({type}, a), TCC_INPUT({type}, b), TCC_INPUT({sum}, c),
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
TCC_END_KERNEL(mma)
)",
                     fmt::arg("type", mma.type), fmt::arg("sum", IsWhole(mma) ? "int" : "float"),
                     fmt::arg("a_count", mma.rows * mma.depth), fmt::arg("b_count", 8 * mma.depth),
                     fmt::arg("a_words", a_words), fmt::arg("b_words", b_words),
                     fmt::arg("rows", mma.rows), fmt::arg("depth", mma.depth),
                     fmt::arg("part", part), fmt::arg("sums", mma.rows / 4), fmt::arg("b", b),
                     fmt::arg("name", mma.name));
}

// Small integers: every order of summing gives the same in every type.
Tensor Integers(DType dtype, int64_t count, Random& random) {
  Tensor tensor = MakeZeroTensor(dtype, {count});
  for (int64_t i = 0; i < count; ++i) SetElementInt(tensor, i, random.Between(-8, 8));
  return tensor;
}

std::vector<double> Expected(const Mma& mma, Order order, const std::vector<Tensor>& operands) {
  std::vector<double> d;
  for (int row = 0; row < mma.rows; ++row) {
    for (int column = 0; column < 8; ++column) {
      double sum = ElementAsDouble(operands[2], row * 8 + column);
      for (int k = 0; k < mma.depth; ++k) {
        int b = order == Order::kColumns ? column * mma.depth + k : k * 8 + column;
        sum += ElementAsDouble(operands[0], row * mma.depth + k) * ElementAsDouble(operands[1], b);
      }
      d.push_back(sum);
    }
  }
  return d;
}

std::vector<Tensor> OperandsOf(const Mma& mma) {
  Random random(3);
  std::vector<Tensor> operands;
  DType sum = IsWhole(mma) ? kInt32 : kFloat32;
  for (int count : {mma.rows * mma.depth, 8 * mma.depth}) {
    operands.push_back(Integers(mma.dtype, count, random));
  }
  operands.push_back(Integers(sum, mma.rows * 8, random));
  operands.push_back(MakeZeroTensor(sum, {mma.rows * 8}));
  return operands;
}

// Runs the kernel of one warp; the last operand receives the result.
Status RunOnEmulator(const std::string& text, std::vector<Tensor>& operands) {
  TCC_ASSIGN_OR_RETURN(auto shared, emulator::CompiledProgram(text));
  emulator::DeviceMemory memory;
  std::vector<void*> buffers;
  for (const Tensor& operand : operands) {
    TCC_ASSIGN_OR_RETURN(buffers.emplace_back(), memory.Allocate(std::ssize(operand.bytes)));
    memcpy(buffers.back(), operand.bytes.data(), operand.bytes.size());
  }
  emulator::LaunchOptions launch = {.kernel = "mma", .grid = {1}, .block = {32}};
  for (void*& buffer : buffers) launch.arguments.push_back(static_cast<const void*>(&buffer));
  TCC_RETURN_IF_ERROR(emulator::Launch(*shared->program, memory, launch));
  Tensor& result = operands.back();
  memcpy(MutableBytes(result).data(), buffers.back(), result.bytes.size());
  return OkStatus();
}

bool IsRight(const Mma& mma, Order order, const std::string& text) {
  std::vector<Tensor> operands = OperandsOf(mma);
  Status status = RunOnEmulator(text, operands);
  INFO(Message(status));
  REQUIRE(status.ok());
  std::vector<double> expected = Expected(mma, order, operands);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (ElementAsDouble(operands.back(), static_cast<int64_t>(i)) != expected[i]) return false;
  }
  return true;
}

std::string Replaced(std::string text, const std::string& piece, const std::string& by) {
  size_t at = text.rfind(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), by);
}

}  // namespace

TEST_CASE("every mma gives the exact product of small integers, loaded by ldmatrix",
          "[codegen_cuda][mma]") {
  for (const Mma& mma : kMmas) {
    INFO(mma.name);
    CHECK(IsRight(mma, Order::kColumns, TextOf(mma, Order::kColumns)));
    if (mma.dtype.bytes() == 2) CHECK(IsRight(mma, Order::kRows, TextOf(mma, Order::kRows)));
  }
}

TEST_CASE("a fragment of another lane, row or register gives another product",
          "[codegen_cuda][mma]") {
  for (const Mma& mma : kMmas) {
    INFO(mma.name);
    std::string text = TextOf(mma, Order::kColumns);
    std::string first = fmt::format("(sa, lane % {}", mma.rows);
    CHECK_FALSE(IsRight(mma, Order::kColumns,
                        Replaced(text, first, fmt::format("(sa, (lane ^ 1) % {}", mma.rows))));
    CHECK_FALSE(
        IsRight(mma, Order::kColumns, Replaced(text, "(sb, lane % 8", "(sb, (lane + 1) % 8")));
    CHECK_FALSE(
        IsRight(mma, Order::kColumns,
                Replaced(text, "lane % 4 * 2 + i % 2] = fc", "lane % 4 * 2 + 1 - i % 2] = fc")));
    if (mma.rows == 8) continue;
    CHECK_FALSE(IsRight(mma, Order::kColumns,
                        Replaced(text, "fc = tcc_mma", "fa.v[0] = fa.v[1];\n  fc = tcc_mma")));
  }
}

TEST_CASE("a row for ldmatrix that is not aligned to 16 bytes is named", "[codegen_cuda][mma]") {
  const Mma& mma = kMmas[0];
  std::vector<Tensor> operands = OperandsOf(mma);
  Status status = RunOnEmulator(
      Replaced(TextOf(mma, Order::kColumns), "(sb, lane % 8 * 16", "(sb, lane % 8 * 4"), operands);
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(Message(status).find("sb[4] is misaligned") != std::string::npos);
}

TEST_CASE("an mma that some lanes skip is named", "[codegen_cuda][mma]") {
  const Mma& mma = kMmas[0];
  std::vector<Tensor> operands = OperandsOf(mma);
  Status status = RunOnEmulator(
      Replaced(TextOf(mma, Order::kColumns), "fc = tcc_mma", "if (lane > 3) fc = tcc_mma"),
      operands);
  REQUIRE_FALSE(status.ok());
  INFO(Message(status));
  CHECK(Message(status).find("tcc_mma_m16n8k16_f16") != std::string::npos);
}

// Words of a product and words of memory have no bits that tensor cores would drop.
TEST_CASE("tf32 rounds to ten bits of mantissa, halves away from zero", "[codegen_cuda][mma]") {
  std::string text = std::string(CudaPrelude()) + R"(
TCC_KERNEL(mma, 32)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  y[tcc_thread_x()] = tcc_bits_to_float(tcc_to_tf32(x[tcc_thread_x()]));
  y[tcc_thread_x() + 32] = tcc_widen(tcc_tf32(x[tcc_thread_x()]));
}
TCC_END_KERNEL(mma)
)";
  const float low_nan = std::bit_cast<float>(0xff800001);
  const float samples[] = {
      1,     1 + 0x1p-10f,  1 + 0x1p-11f,  1 + 0x1p-12f, -(1 + 0x1p-11f), 2 - 0x1p-23f, 0x1p-130f,
      -0.0f, 0x1.ffcp+127f, 0x1.ffep+127f, INFINITY,     -INFINITY,       NAN,          low_nan};
  const float rounded[] = {
      1,     1 + 0x1p-10f,  1 + 0x1p-10f, 1,        -(1 + 0x1p-10f), 2.0f, 0x1p-130f,
      -0.0f, 0x1.ffcp+127f, INFINITY,     INFINITY, -INFINITY,       NAN,  NAN};
  std::vector<Tensor> operands = {MakeZeroTensor(kFloat32, {32}), MakeZeroTensor(kFloat32, {64})};
  std::memcpy(MutableBytes(operands[0]).data(), samples, sizeof(samples));
  REQUIRE(RunOnEmulator(text, operands).ok());
  for (size_t i = 0; i < std::size(samples); ++i) {
    INFO(samples[i]);
    for (size_t at : {i, i + 32}) {
      const float got = operands[1].values<float>()[at];
      CHECK((got == rounded[i] || (std::isnan(got) && std::isnan(rounded[i]))));
      const uint32_t bits = std::bit_cast<uint32_t>(got);
      // A NaN of cvt.rna has all bits set.
      CHECK(((bits & 0x1fff) == 0 || bits == 0x7fffffff));
    }
  }
}

TEST_CASE("words of tf32 give what words give that the product rounds", "[codegen_cuda][mma]") {
  const float most = std::numeric_limits<float>::max();
  const std::pair<float, float> pairs[] = {{1 + 0x1p-11f, 3}, {INFINITY, 2},   {-INFINITY, 0},
                                           {NAN, 0},          {most, 0x1p-9f}, {0x1.ffcp+127f, 1},
                                           {1e-40f, 1e20f},   {-most, -most}};
  for (auto [x, y] : pairs) {
    std::vector<double> results;
    for (const Mma& mma : kMmas) {
      if (mma.name != std::string("m16n8k8_tf32")) continue;
      std::vector<Tensor> operands = OperandsOf(mma);
      for (int n : {0, 1}) {
        for (int64_t i = 0; i < operands[n].shape[0]; ++i)
          SetElement(operands[n], i, n == 0 ? x : y);
      }
      REQUIRE(RunOnEmulator(TextOf(mma, Order::kColumns), operands).ok());
      results.push_back(ElementAsDouble(operands[3], 0));
    }
    INFO(x << " * " << y << " gives " << results[0] << " and " << results[1]);
    REQUIRE(results.size() == 2);
    CHECK((results[0] == results[1] || (std::isnan(results[0]) && std::isnan(results[1]))));
  }
}

TEST_CASE("three products of tf32 keep what one loses", "[codegen_cuda][mma]") {
  const float x = 1 + 0x1p-12f;
  for (const Mma& mma : kMmas) {
    if (mma.dtype != kFloat32) continue;
    std::vector<Tensor> operands = OperandsOf(mma);
    for (int n : {0, 1}) {
      for (int64_t i = 0; i < operands[n].shape[0]; ++i) SetElement(operands[n], i, x);
    }
    for (int64_t i = 0; i < operands[2].shape[0]; ++i) SetElement(operands[2], i, 0);
    REQUIRE(RunOnEmulator(TextOf(mma, Order::kColumns), operands).ok());
    // Of the square of 1 + e all but e * e, of each of the products.
    bool three = std::string(mma.name) == "m16n8k8_3xtf32";
    double expected = three ? mma.depth * (1 + 0x1p-11) : mma.depth;
    INFO(mma.name);
    CHECK(ElementAsDouble(operands[3], 0) == expected);
    CHECK(ElementAsDouble(operands[3], mma.rows * 8 - 1) == expected);
  }
}

// They became NaN: inf - inf was the small part, and the big one of the largest float was infinite.
TEST_CASE("three products of tf32 keep infinities and the largest numbers", "[codegen_cuda][mma]") {
  const float most = std::numeric_limits<float>::max();
  const Mma& mma = *std::find_if(std::begin(kMmas), std::end(kMmas), [](const Mma& row) {
    return std::string(row.name) == "m16n8k8_3xtf32";
  });
  std::string text = TextOf(mma, Order::kColumns);
  // 1 + 2^-12 and 4098.5 have small parts below and above 0, of 4098.5 one that is not below 1.
  const std::pair<float, float> pairs[] = {
      {INFINITY, 1},
      {INFINITY, 1 + 0x1p-12f},
      {INFINITY, -4098.5f},
      {-INFINITY, 1e30f * (1 - 0x1p-12f)},
      {INFINITY, most},
      {INFINITY, -INFINITY},
      {INFINITY, 0},
      {NAN, 1},
      {NAN, 0},
      {most, 1e-3f},
      {most, -1e-30f},
      {-most, 0x1p-13f},
      {0x1.ffep127f, 1e-2f},
      {-0x1.ffcp127f, 1e-2f},
      {most, 2},
      {1, 3},
  };
  for (auto [x, y] : pairs) {
    for (bool turned : {false, true}) {
      std::vector<Tensor> operands = OperandsOf(mma);
      for (int n : {0, 1}) {
        for (int64_t i = 0; i < operands[n].shape[0]; ++i)
          SetElement(operands[n], i, (n == 1) != turned ? y : x);
      }
      for (int64_t i = 0; i < operands[2].shape[0]; ++i) SetElement(operands[2], i, 0);
      REQUIRE(RunOnEmulator(text, operands).ok());
      double exact = mma.depth * (static_cast<double>(x) * y);
      double expected = std::fabs(exact) > most ? std::copysign(INFINITY, exact) : exact;
      double got = ElementAsDouble(operands[3], 0);
      INFO(x << " * " << y << " gives " << got);
      bool same = std::isfinite(expected) ? std::fabs(got - expected) <= 1e-6 * std::fabs(expected)
                                          : got == expected || (got != got && exact != exact);
      CHECK(same);
    }
  }
}

TEST_CASE("every mma compiles for the GPUs that have it", "[codegen_cuda][nvrtc][mma]") {
  const Nvrtc* nvrtc = FindNvrtc();
  if (!nvrtc) return;
  for (const std::string& target : GpuTargets()) {
    int sm = GpuTarget(target).sm;
    for (const Mma& mma : kMmas) {
      if (sm < mma.sm) continue;
      for (Order order : {Order::kColumns, Order::kRows}) {
        if (order == Order::kRows && mma.dtype.bytes() != 2) continue;
        INFO(mma.name << " " << target);
        std::string text = TextOf(mma, order);
        StatusOr<Cubin> cubin = CompileOnce(text, target);
        INFO(Message(cubin.status()));
        REQUIRE(cubin.ok());
        CHECK(cubin->kernels[0].spill_stores == 0);
        std::string ptx = nvrtc->CompileToPtx(text, sm).value_or("");
        CHECK(ptx.find("mma.sync") != std::string::npos);
        CHECK(ptx.find("ldmatrix") != std::string::npos);
      }
    }
  }
}
