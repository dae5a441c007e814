#include "codegen_cuda/emulator/device_header.h"

namespace tcc::emulator {
namespace {

// Barriers are an array of unsigned long long in shared memory. A barrier is made by one thread,
// which others see behind a barrier of the block; one thread says what a phase expects, and copies;
// every thread waits for the phase's parity, 0 at first.
constexpr char kText[] = R"text(
template <class Barriers>
TCC_DEVICE void tcc_init_boxes(const Barriers& barriers, TccIndex slot) {
  tcc_host->init_boxes(barriers.Change(slot, 'w'), barriers.Where(slot));
}
template <class Barriers>
TCC_DEVICE void tcc_expect_boxes(const Barriers& barriers, TccIndex slot, int bytes) {
  tcc_host->expect_boxes(barriers.Change(slot, 'a'), bytes, barriers.Where(slot));
}
// Copies the box whose first element is at these coordinates of the map, the innermost one first.
template <class To, class Map, class Barriers, class... First>
TCC_DEVICE void tcc_copy_box(const To& to, TccIndex at, const Map& map, const Barriers& barriers,
                             TccIndex slot, First... first) {
  if (tcc_host->early) tcc_host->too_early(to.Where(at));
  const int coordinates[] = {(int)first...};
  tcc_host->copy_box(to.template Reach<1>(at),
                     (to.count - at.value) * (long long)sizeof(typename To::Element), map.map,
                     coordinates, (int)sizeof...(first), barriers.Change(slot, 'a'), to.Where(at));
}
template <class Barriers>
TCC_DEVICE void tcc_wait_boxes(const Barriers& barriers, TccIndex slot, unsigned parity) {
  tcc_host->wait_boxes(barriers.Change(slot, 'a'), parity, barriers.Where(slot));
}
)text";

}  // namespace

std::string_view BoxHeader() {
  return kText;
}

}  // namespace tcc::emulator
