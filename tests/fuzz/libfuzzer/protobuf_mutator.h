#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/fuzz/random/mutate_protobuf.h"

// libFuzzer's own mutations break a length in nearly every message; half of ours keep them right.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
extern "C" inline __attribute__((used)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                                       size_t max_size,
                                                                       unsigned int seed) {
  tcc::Random random(seed);
  if (random.OneIn(2)) return LLVMFuzzerMutate(data, size, max_size);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  std::string changed = tcc::MutatedProtobuf(bytes, bytes, random);
  changed.resize(std::min(changed.size(), max_size));
  std::ranges::copy(changed, data);
  return changed.size();
}
