#include "codegen_cuda/emulator/device_header.h"

namespace tcc::emulator {
namespace {

// Fences, commits and waits are the warp's: a lane that skips one is named by the exchange.
constexpr char kText[] = R"text(
TCC_DEVICE void tcc_meet(const char* operation, int line) {
  const unsigned char nothing = 0;
  tcc_host->exchange(operation, &nothing, 1, line);
}
TCC_DEVICE void tcc_proxy_fence() { tcc_host->proxy_fence(); }
TCC_DEVICE void tcc_group_fence(int line = __builtin_LINE()) {
  tcc_meet("tcc_group_fence", line);
  tcc_host->group_fence();
}
TCC_DEVICE void tcc_group_commit(int line = __builtin_LINE()) {
  tcc_meet("tcc_group_commit", line);
  tcc_host->group_commit();
}
template <int pending, class C>
TCC_DEVICE void tcc_group_wait(C& c, int line = __builtin_LINE()) {
  tcc_meet("tcc_group_wait", line);
  tcc_host->group_wait(pending, line);
  tcc_host->group_results(c.data, sizeof(c.data), line);
}
template <int mode, int lead_bytes, int stride_bytes, class T, TccName kName, int kId>
TCC_DEVICE TccMatrix tcc_matrix(const TccShared<T, kName, kId>& shared, TccIndex at) {
  static_assert(mode >= 0 && mode < 4);
  static_assert(lead_bytes % 16 == 0 && lead_bytes >= 0 && lead_bytes < 1 << 18);
  static_assert(stride_bytes % 16 == 0 && stride_bytes >= 0 && stride_bytes < 1 << 18);
  const T* first = shared.template Reach<1>(at);
  const unsigned address = tcc_host->shared_address(first);
  if (address % 16 != 0) tcc_host->misaligned(first, 16, shared.Where(at));
  const unsigned long long descriptor =
      (unsigned long long)mode << 62 | (unsigned long long)(stride_bytes >> 4) << 32 |
      (unsigned long long)(lead_bytes >> 4) << 16 | (address >> 4 & 0x3fffu);
  return TccMatrix{descriptor, shared.data, shared.count * (long long)sizeof(T), shared.Where(at)};
}
#define TCC_GROUP_MMA(name, letter, sum, columns_fit)                                             \
  template <int columns, bool a_transposed, bool b_transposed, long long kCount, TccName kName>   \
  TCC_DEVICE void tcc_group_mma_##name(TccLocal<TccVector<sum, 4>, kCount, kName>& c, int first,  \
                                       TccMatrix a, TccMatrix b, int line = __builtin_LINE()) {   \
    static_assert(columns % 8 == 0 && columns > 0 && columns <= 256 && (columns_fit));            \
    static_assert(letter == 'h' || letter == 'b' || !(a_transposed || b_transposed));             \
    c.template Reach<1>(TccIndex(first + columns / 8 - 1, line));                                 \
    const TccProduct product = {"tcc_group_mma_" #name, letter, columns, a_transposed,            \
                                b_transposed, a, b,                                               \
                                c.template Reach<1>(TccIndex(first, line)),                       \
                                TccWhere{kName.text, first, line}};                               \
    tcc_host->group_product(&product);                                                            \
  }
TCC_GROUP_MMA(f16, 'h', float, true)
TCC_GROUP_MMA(bf16, 'b', float, true)
TCC_GROUP_MMA(tf32, 't', float, true)
TCC_GROUP_MMA(s8, 's', int, columns % 16 == 0 || columns <= 24)
)text";

}  // namespace

std::string_view GroupHeader() {
  return kText;
}

}  // namespace tcc::emulator
