#include "tests/codegen_cuda/kernels/group_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "codegen_cuda/text/prelude.h"
#include "support/dtype.h"
#include "support/integer_division.h"

namespace tcc::test {
namespace {

constexpr Form kForms[] = {
    {GroupType::kF16, 128, {1}, {1}},
    {GroupType::kF16, 24, {2}, {2}},
    {GroupType::kF16, 8, {3}, {3}},
    {GroupType::kF16, 16, {0}, {0}},
    {GroupType::kF16, 256, {1}, {1}, 2},
    {GroupType::kF16, 128, {1}, {1, true}, 2},
    {GroupType::kF16, 256, {2}, {1}},
    {GroupType::kF16, 24, {2}, {1, true}},
    {GroupType::kF16, 8, {1, true}, {1}},
    {GroupType::kF16, 64, {2, true}, {2, true}, 2},
    {GroupType::kF16, 40, {3, true}, {3, true}},
    {GroupType::kF16, 32, {0, true}, {0, true}},
    {GroupType::kBF16, 128, {1}, {1}},
    {GroupType::kBF16, 24, {2}, {3}},
    {GroupType::kBF16, 256, {1, true}, {1, true}, 2},
    {GroupType::kBF16, 8, {3}, {2, true}},
    {GroupType::kTf32, 128, {1}, {1}, 2},
    {GroupType::kTf32, 24, {2}, {2}},
    {GroupType::kTf32, 8, {3}, {3}},
    {GroupType::kTf32, 256, {1}, {2}},
    {GroupType::kS8, 128, {1}, {1}, 2},
    {GroupType::kS8, 24, {2}, {2}},
    {GroupType::kS8, 8, {3}, {3}},
    {GroupType::kS8, 256, {2}, {1}},
};

struct TypeNames {
  DType dtype;
  const char* type;
  const char* sum;
};

TypeNames NamesOf(GroupType type) {
  switch (type) {
    case GroupType::kF16:
      return {DType(DTypeCode::kFloat16), "TccF16", "float"};
    case GroupType::kBF16:
      return {DType(DTypeCode::kBFloat16), "TccBF16", "float"};
    case GroupType::kTf32:
      return {kFloat32, "float", "float"};
    case GroupType::kS8:
      return {DType(DTypeCode::kInt8), "signed char", "int"};
  }
  __builtin_unreachable();
}

int BytesOf(const Form& form) {
  return NamesOf(form.type).dtype.bytes();
}

int DepthOf(const Form& form) {
  return 128 / BytesOf(form);
}

GroupMma MmaOf(const Form& form) {
  return {form.type, form.columns, form.a.transposed, form.b.transposed};
}

int WidthOf(const Place& place) {
  return place.mode == 0 ? 16 : 256 >> place.mode;
}

// One operand: `rows` of A, or columns of B. Its panels of W bytes follow each other, each of all
// rows, or transposed of all k.
struct Operand {
  Place place;
  int rows;
  int depth;
  int bytes;  // of an element

  int Elements() const { return WidthOf(place) / bytes; }  // of a row of memory
  int Down() const { return place.transposed ? depth : rows; }
  int Across() const { return place.transposed ? rows : depth; }
  int Count() const {
    return static_cast<int>(CeilDivision(Across(), Elements())) * Down() * Elements();
  }

  // The index of an element, as text.
  std::string Index(const std::string& row, const std::string& k) const {
    const std::string& down = place.transposed ? k : row;
    const std::string& across = place.transposed ? row : k;
    int chunks = WidthOf(place) / 16, of_chunk = 16 / bytes;
    return fmt::format(
        "{across} / {elements} * {panel} + {down} * {elements} + "
        "({across} / {of_chunk} % {chunks} ^ {down} * {width} / 128 % {chunks}) * "
        "{of_chunk} + {across} % {of_chunk}",
        fmt::arg("across", across), fmt::arg("down", down), fmt::arg("elements", Elements()),
        fmt::arg("panel", Down() * Elements()), fmt::arg("of_chunk", of_chunk),
        fmt::arg("chunks", chunks), fmt::arg("width", WidthOf(place)));
  }
  // The index at which product `step` begins.
  int Start(int step) const {
    int k = step * 32 / bytes;
    if (place.transposed) return k * Elements();
    return k / Elements() * Down() * Elements() + k % Elements();
  }
  std::string Matrix(const std::string& array, const std::string& index) const {
    int panel = Down() * WidthOf(place), rows8 = 8 * WidthOf(place);
    bool trade = place.mode == 0 && place.transposed;
    return fmt::format("tcc_matrix<{}, {}, {}>({}, {})", place.mode, trade ? rows8 : panel,
                       trade ? panel : rows8, array, index);
  }
};

Operand AOf(const Form& form) {
  return {form.a, 64 * form.groups, DepthOf(form), BytesOf(form)};
}

Operand BOf(const Form& form) {
  return {form.b, form.columns, DepthOf(form), BytesOf(form)};
}

int OffsetOfB(const Form& form) {
  return static_cast<int>(RoundUp(AOf(form).Count() * BytesOf(form), 1024));
}

int SharedBytesOf(const Form& form) {
  return OffsetOfB(form) + BOf(form).Count() * BytesOf(form);
}

// The first tile of `f` is not of the product.
std::string KernelOf(const Form& form, const std::string& name) {
  Operand a = AOf(form), b = BOf(form);
  TypeNames names = NamesOf(form.type);
  return fmt::format(
      R"(
TCC_KERNEL({name}, {threads})(TCC_INPUT({type}, a), TCC_INPUT({type}, b), TCC_INPUT({sum}, c),
                    TCC_OUTPUT({sum}, d)) {{
  TCC_SHARED_AT({type}, sa, 0, {a_count});
  TCC_SHARED_AT({type}, sb, {b_offset}, {b_count});
  TCC_FRAGMENTS({sum}, 4, f, {tiles});
  const int lane = tcc_thread_x(), warp = tcc_thread_y(), thread = warp * 32 + lane;
  for (int i = thread; i < {a_elements}; i += {threads}) sa[{a_index}] = a[i];
  for (int i = thread; i < {b_elements}; i += {threads}) sb[{b_index}] = b[i];
#pragma unroll
  for (int i = 0; i < {words}; ++i) {{
    f[i / 4 + 1].v[i % 4] =
        c[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * {columns} + i / 4 * 8 + lane % 4 * 2 + i % 2];
  }}
  tcc_proxy_fence();
  tcc_barrier();
  tcc_group_fence();
{products}  tcc_group_commit();
  tcc_group_wait<0>(f);
#pragma unroll
  for (int i = 0; i < {words}; ++i) {{
    d[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * {columns} + i / 4 * 8 + lane % 4 * 2 + i % 2] =
        f[i / 4 + 1].v[i % 4];
  }}
}}
TCC_END_KERNEL({name})
)",
      fmt::arg("name", name), fmt::arg("threads", 128 * form.groups), fmt::arg("type", names.type),
      fmt::arg("sum", names.sum), fmt::arg("a_count", a.Count()), fmt::arg("b_count", b.Count()),
      fmt::arg("b_offset", OffsetOfB(form)), fmt::arg("tiles", form.columns / 8 + 1),
      fmt::arg("words", form.columns / 2), fmt::arg("a_elements", a.rows * a.depth),
      fmt::arg("b_elements", b.rows * b.depth),
      fmt::arg("a_index",
               a.Index(fmt::format("(i / {})", a.depth), fmt::format("(i % {})", a.depth))),
      fmt::arg("b_index",
               b.Index(fmt::format("(i / {})", b.depth), fmt::format("(i % {})", b.depth))),
      fmt::arg("columns", form.columns), fmt::arg("products", ProductsOf(form)));
}

// Draws A, B and C.
std::vector<Tensor> OperandsOf(const Form& form) {
  Random random(3);
  DType dtype = NamesOf(form.type).dtype;
  DType sum = form.type == GroupType::kS8 ? kInt32 : kFloat32;
  return {Integers(dtype, {64 * form.groups, DepthOf(form)}, random),
          Integers(dtype, {form.columns, DepthOf(form)}, random),
          Integers(sum, {64 * form.groups, form.columns}, random)};
}

// Returns what the operands give, exactly; a sum of s8 wraps.
Tensor Product(const Form& form, const std::vector<Tensor>& operands) {
  Tensor d = MakeZeroTensor(operands[2].dtype, operands[2].shape);
  const int depth = DepthOf(form);
  for (int row = 0; row < 64 * form.groups; ++row) {
    for (int column = 0; column < form.columns; ++column) {
      const int at = row * form.columns + column;
      double sum = ElementAsDouble(operands[2], at);
      for (int k = 0; k < depth; ++k) {
        sum += ElementAsDouble(operands[0], row * depth + k) *
               ElementAsDouble(operands[1], column * depth + k);
      }
      if (form.type == GroupType::kS8) {
        SetElementInt(d, at, static_cast<int64_t>(sum));
      } else {
        SetElement(d, at, sum);
      }
    }
  }
  return d;
}

std::string Describe(const Form& form) {
  auto place = [](const Place& place) {
    return fmt::format("{}{}", place.mode, place.transposed ? " transposed" : "");
  };
  return fmt::format("wgmma {} 64x{}, modes {} and {}{}", Name(form.type), form.columns,
                     place(form.a), place(form.b), form.groups > 1 ? ", two groups" : "");
}

Twin TwinOf(const Form& form, const std::string& symbol, const std::string& text) {
  Twin twin = {.name = Describe(form),
               .target = "sm_90a",
               .text = text,
               .kernel = OneLaunch(symbol, {1, 1}, {32, static_cast<uint32_t>(4 * form.groups)}, 4,
                                   SharedBytesOf(form)),
               .operands = OperandsOf(form)};
  twin.expected = Product(form, twin.operands);
  return twin;
}

void Fill(Tensor& tensor, const std::function<double(int64_t)>& value) {
  const int64_t count = ElementCount(tensor.shape).value();
  for (int64_t i = 0; i < count; ++i) SetElement(tensor, i, value(i));
}

// Makes a product of 64 x 8 with these values of A and B, and zeros in C.
Twin OfValues(GroupType type, const std::string& symbol, const std::string& name,
              const std::function<double(int64_t)>& a, double b) {
  const Form form = {type, 8, kAlongK, kAlongK};
  Twin twin =
      TwinOf(form, symbol,
             std::string(CudaPrelude()) + GroupMmaText(MmaOf(form)) + KernelOf(form, symbol));
  twin.name = name;
  Fill(twin.operands[0], a);
  Fill(twin.operands[1], [b](int64_t) { return b; });
  Fill(twin.operands[2], [](int64_t) { return 0; });
  twin.expected = Product(form, twin.operands);
  return twin;
}

// Makes products that tell what becomes of values which are no small integers.
std::vector<Twin> ValueTwins() {
  std::vector<Twin> twins;
  auto tf32 = [](int64_t) { return 2 - 0x1p-11; };
  twins.push_back(OfValues(GroupType::kTf32, "cut", "wgmma tf32 cuts off", tf32, -(1 + 0x1p-11)));
  Fill(twins.back().expected, [](int64_t) { return -32 * (2 - 0x1p-10); });

  auto least = [](int64_t) { return -128; };
  twins.push_back(OfValues(GroupType::kS8, "wrap", "wgmma s8 wraps", least, -128));
  SetElementInt(twins.back().operands[2], 0, std::numeric_limits<int32_t>::max());
  SetElementInt(twins.back().expected, 0,
                int64_t{std::numeric_limits<int32_t>::max()} + 128 * 16384);

  // A row has one of them, at k = 0.
  auto halves = [](int64_t i) {
    const double values[] = {0x1p-24, 3 * 0x1p-20, 0x1p-14, 65504, -1.5, INFINITY, -INFINITY, NAN};
    return i % 64 == 0 ? values[i / 64 % 8] : 0;
  };
  twins.push_back(
      OfValues(GroupType::kF16, "extremes", "wgmma f16 of subnormals and infinities", halves, 2));
  return twins;
}

constexpr int kLoopSteps = 6;  // each stage is reused

std::string LoopText() {
  return std::string(CudaPrelude()) + GroupMmaText({GroupType::kF16, 128, false, true}) +
         fmt::format(R"(
TCC_KERNEL(loop, 256)(TCC_INPUT(TccF16, a), TCC_INPUT(TccF16, b), TCC_OUTPUT(float, c)) {{
  TCC_SHARED_AT(TccF16, sa, 0, 32768);
  TCC_SHARED_AT(TccF16, sb, 65536, 32768);
  TCC_FRAGMENTS(float, 4, sum, 16);
  const int lane = tcc_thread_x(), warp = tcc_thread_y(), thread = warp * 32 + lane;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum[i] = TccVector<float, 4>{{{{0, 0, 0, 0}}}};
#pragma unroll 1
  for (int step = -2; step < {steps}; ++step) {{
    if (step >= 0) {{
      const int stage = step % 4 * 8192;
      tcc_async_wait<1>();
      tcc_proxy_fence();
      tcc_barrier();
      tcc_group_fence();
#pragma unroll
      for (int k = 0; k < 4; ++k) {{
        tcc_group_mma_f16<128, false, true>(
            sum, 0, tcc_matrix<1, 16, 1024>(sa, stage + warp / 4 * 4096 + k * 16),
            tcc_matrix<1, 8192, 1024>(sb, stage + k * 1024));
      }}
      tcc_group_commit();
      tcc_group_wait<1>(sum);
    }}
    if (step + 2 < {steps}) {{
      const int next = step + 2, stage = next % 4 * 8192;
#pragma unroll
      for (int i = 0; i < 4; ++i) {{
        const int chunk = i * 256 + thread, row = chunk / 8, k = chunk / 16;
        tcc_async_copy<8>(sa, stage + row * 64 + (chunk % 8 ^ row % 8) * 8, a,
                          row * {depth} + next * 64 + chunk % 8 * 8);
        tcc_async_copy<8>(sb,
                          stage + chunk % 16 / 8 * 4096 + k * 64 + (chunk % 8 ^ k % 8) * 8, b,
                          (next * 64 + k) * 128 + chunk % 16 * 8);
      }}
    }}
    tcc_async_commit();
  }}
  tcc_group_wait<0>(sum);
#pragma unroll
  for (int i = 0; i < 64; ++i) {{
    c[(warp * 16 + lane / 4 + i / 2 % 2 * 8) * 128 + i / 4 * 8 + lane % 4 * 2 + i % 2] =
        sum[i / 4].v[i % 4];
  }}
}}
TCC_END_KERNEL(loop)
)",
                     fmt::arg("steps", kLoopSteps), fmt::arg("depth", 64 * kLoopSteps));
}

}  // namespace

std::span<const Form> GroupForms() {
  return kForms;
}

std::string ProductsOf(const Form& form) {
  std::string text;
  Operand a = AOf(form), b = BOf(form);
  // A group's rows are panels of their own where A is transposed.
  int group = 64 * (form.a.transposed ? DepthOf(form) : a.Elements());
  for (int step = 0; step < 4; ++step) {
    text += fmt::format("  tcc_group_mma_{}<{}, {}, {}>(f, 1, {}, {});\n", Name(form.type),
                        form.columns, form.a.transposed, form.b.transposed,
                        a.Matrix("sa", fmt::format("warp / 4 * {} + {}", group, a.Start(step))),
                        b.Matrix("sb", fmt::format("{}", b.Start(step))));
  }
  return text;
}

std::string TextOf(std::span<const Form> forms) {
  std::string text(CudaPrelude());
  for (size_t i = 0; i < forms.size(); ++i) {
    text += GroupMmaText(MmaOf(forms[i])) + KernelOf(forms[i], fmt::format("k{}", i));
  }
  return text;
}

Twin TwinOf(const Form& form) {
  return TwinOf(form, "k0", TextOf({&form, 1}));
}

Twin LoopTwin() {
  Random random(5);
  constexpr int kDepth = 64 * kLoopSteps;
  const DType half(DTypeCode::kFloat16);
  Twin twin = {
      .name = "wgmma in flight across the steps of a loop",
      .target = "sm_90a",
      .text = LoopText(),
      .kernel = OneLaunch("loop", {1, 1}, {32, 8}, 3, 131072),
      .operands = {Integers(half, {128, kDepth}, random), Integers(half, {kDepth, 128}, random)},
      .expected = MakeZeroTensor(kFloat32, {128, 128})};
  for (int row = 0; row < 128; ++row) {
    for (int column = 0; column < 128; ++column) {
      double sum = 0;
      for (int k = 0; k < kDepth; ++k) {
        sum += ElementAsDouble(twin.operands[0], row * kDepth + k) *
               ElementAsDouble(twin.operands[1], k * 128 + column);
      }
      SetElement(twin.expected, row * 128 + column, sum);
    }
  }
  return twin;
}

std::vector<Twin> GroupTwins() {
  std::vector<Twin> twins;
  const std::string text = TextOf(kForms);
  for (size_t i = 0; i < std::size(kForms); ++i) {
    twins.push_back(TwinOf(kForms[i], fmt::format("k{}", i), text));
  }
  std::ranges::move(ValueTwins(), std::back_inserter(twins));
  twins.push_back(LoopTwin());
  return twins;
}

}  // namespace tcc::test
