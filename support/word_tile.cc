#include "support/word_tile.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tcc {
namespace {

bool Request() {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  // asm/prctl.h and the manual of x86 (Intel SDM 1, 13.1): the tiles' part of the saved state.
  constexpr long kRequestPermission = 0x1023;  // NOLINT(google-runtime-int): syscall's type
  constexpr long kTileData = 18;               // NOLINT(google-runtime-int)
  __builtin_cpu_init();
  bool has = __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
             __builtin_cpu_supports("amx-bf16");
  return has && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

bool RequestAmx() {
  static const bool granted = Request();
  return granted;
}

}  // namespace tcc
