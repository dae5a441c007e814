#include "codegen_cuda/text/group_prelude.h"

#include <fmt/format.h>

#include "support/check.h"

namespace tcc {
namespace {

// The empty asm of tcc_group_results keeps the compiler from moving a read of C ahead of the wait.
constexpr std::string_view kText = R"(
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
TCC_DEVICE void tcc_proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
TCC_DEVICE void tcc_group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
TCC_DEVICE void tcc_group_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N>
TCC_DEVICE void tcc_group_results(TccVector<float, 4> (&c)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    asm volatile("" : "+f"(c[i].v[0]), "+f"(c[i].v[1]), "+f"(c[i].v[2]), "+f"(c[i].v[3])
                 :: "memory");
  }
}
template <int N>
TCC_DEVICE void tcc_group_results(TccVector<int, 4> (&c)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    asm volatile("" : "+r"(c[i].v[0]), "+r"(c[i].v[1]), "+r"(c[i].v[2]), "+r"(c[i].v[3])
                 :: "memory");
  }
}
template <int pending, class C>
TCC_DEVICE void tcc_group_wait(C& c) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
  tcc_group_results(c);
}
template <int mode, int lead_bytes, int stride_bytes, class T, class Index>
TCC_DEVICE unsigned long long tcc_matrix(const T* shared, Index index) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(shared + index);
  return (unsigned long long)mode << 62 | (unsigned long long)(stride_bytes >> 4) << 32 |
         (unsigned long long)(lead_bytes >> 4) << 16 | (address >> 4 & 0x3fffu);
}
// The definitions follow in the kernels' text (GroupMmaText).
#define TCC_GROUP_MMA(name, type)                                                               \
  template <int columns, bool a_transposed, bool b_transposed>                                 \
  struct TccGroupMma_##name;                                                                   \
  template <int columns, bool a_transposed, bool b_transposed, int N>                          \
  TCC_DEVICE void tcc_group_mma_##name(TccVector<type, 4> (&c)[N], int first,                  \
                                       unsigned long long a, unsigned long long b) {           \
    TccGroupMma_##name<columns, a_transposed, b_transposed>::Issue(c + first, a, b);            \
  }
TCC_GROUP_MMA(f16, float) TCC_GROUP_MMA(bf16, float) TCC_GROUP_MMA(tf32, float)
TCC_GROUP_MMA(s8, int)
#endif
)";

struct TypeRow {
  std::string_view name;
  int depth;
  std::string_view types;  // of C, A and B
  bool of_floats;
  bool may_transpose;
};
constexpr TypeRow kTypes[] = {
    {"f16", 16, "f32.f16.f16", true, true},
    {"bf16", 16, "f32.bf16.bf16", true, true},
    {"tf32", 8, "f32.tf32.tf32", true, false},
    {"s8", 32, "s32.s8.s8", false, false},
};

const TypeRow& RowOf(GroupType type) {
  return kTypes[static_cast<size_t>(type)];
}

// Returns text(0), text(1), ... with commas between them.
template <typename Text>
std::string Listed(int count, Text text) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + text(i);
  return list;
}

}  // namespace

bool IsGroupColumns(GroupType type, int64_t columns) {
  if (columns < 8 || columns > 256 || columns % 8 != 0) return false;
  return type != GroupType::kS8 || columns % 16 == 0 || columns <= 24;
}

std::string_view Name(GroupType type) {
  return RowOf(type).name;
}

std::string GroupMmaText(const GroupMma& mma) {
  const TypeRow& row = RowOf(mma.type);
  TCC_CHECK(IsGroupColumns(mma.type, mma.columns)) << mma.columns << " columns of " << row.name;
  TCC_CHECK(row.may_transpose || !(mma.a_transposed || mma.b_transposed)) << row.name;
  const int words = mma.columns / 2;
  // Neither factor is negated.
  std::string modifiers = row.of_floats ? ", 1, 1" : "";
  if (row.may_transpose) {
    modifiers += fmt::format(", {:d}, {:d}", mma.a_transposed, mma.b_transposed);
  }
  return fmt::format(
      R"(#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(TCC_GROUP_{name}_{columns}_{a:d}_{b:d})
#define TCC_GROUP_{name}_{columns}_{a:d}_{b:d}
template <>
struct TccGroupMma_{name}<{columns}, {a}, {b}> {{
  TCC_MEMBER void Issue(TccVector<{sum}, 4>* c, unsigned long long a, unsigned long long b) {{
    asm volatile("{{.reg .pred adds; setp.ne.b32 adds, 1, 0; "
        "wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{types} {{{places}}}, "
        "%{words}, %{next}, adds{modifiers};}}"
        : {registers} : "l"(a), "l"(b) : "memory");
  }}
}};
#endif
)",
      fmt::arg("name", row.name), fmt::arg("columns", mma.columns), fmt::arg("a", mma.a_transposed),
      fmt::arg("b", mma.b_transposed), fmt::arg("sum", row.of_floats ? "float" : "int"),
      fmt::arg("depth", row.depth), fmt::arg("types", row.types),
      fmt::arg("places", Listed(words, [](int i) { return fmt::format("%{}", i); })),
      fmt::arg("words", words), fmt::arg("next", words + 1), fmt::arg("modifiers", modifiers),
      fmt::arg("registers", Listed(words, [&](int i) {
                 return fmt::format("\"+{}\"(c[{}].v[{}])", row.of_floats ? 'f' : 'r', i / 4,
                                    i % 4);
               })));
}

std::string_view GroupPrelude() {
  return kText;
}

}  // namespace tcc
