#include "support/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static_cast<void>(tcc::ParseNpy({data, size}));
  return 0;
}
