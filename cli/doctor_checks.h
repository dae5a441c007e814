#pragma once

#include <string>
#include <vector>

namespace tcc {

// A thing that tcc finds on this machine, or misses.
struct DoctorCheck {
  std::string name;
  bool found = false;
  bool needed = false;  // without it compiling or running for the CPU fails
  std::string detail;   // what was found; or where it was sought and what to do
};

std::vector<DoctorCheck> RunDoctor();

}  // namespace tcc
