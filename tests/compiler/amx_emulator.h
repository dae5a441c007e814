#pragma once

#include <cstdint>

namespace tcc {

// Makes the instructions of AMX that tcc emits run on a CPU without them, for as long as it lives:
// each is an illegal instruction, whose signal does what the manual says. At most one at a time.
class AmxEmulator {
 public:
  AmxEmulator();
  ~AmxEmulator();
  AmxEmulator(const AmxEmulator&) = delete;
  AmxEmulator& operator=(const AmxEmulator&) = delete;

  // Returns how many tile dots of any thread were emulated.
  static int64_t Dots();
};

}  // namespace tcc
