#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tcc {

// A section of a shared object that a test makes up.
struct ObjectSection {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  uint64_t flags = SHF_ALLOC;
  uint64_t address = 0;
  std::vector<uint8_t> bytes = {};
  uint64_t alignment = 16;
  uint64_t size = 0;  // of a section without bytes in the file
};

// A dynamic symbol, defined at an address unless it is undefined.
struct ObjectSymbol {
  std::string name;
  uint64_t address = 0;
  bool is_defined = true;
};

// Returns an ELF shared object of these sections and symbols, as a linker writes it.
std::vector<uint8_t> SharedObject(std::vector<ObjectSection> sections,
                                  const std::vector<ObjectSymbol>& symbols,
                                  uint16_t machine = EM_X86_64);

// Returns the object of one kernel "add": 64 bytes of constants at 0x300 and 5 bytes of code at
// 0x1540.
std::vector<ObjectSection> KernelSections();
std::vector<uint8_t> KernelObject();

}  // namespace tcc
