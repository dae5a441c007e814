#include "tests/cli/export/shared_object.h"

#include <cstring>

#include "runtime/artefact/bytes.h"

namespace tcc {
namespace {

template <typename T>
std::span<const uint8_t> Raw(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

// Appends a name to a table of names and returns where it is.
uint32_t AddName(std::vector<uint8_t>& names, const std::string& name) {
  auto at = static_cast<uint32_t>(names.size());
  names.insert(names.end(), name.begin(), name.end());
  names.push_back(0);
  return at;
}

}  // namespace

std::vector<uint8_t> SharedObject(std::vector<ObjectSection> sections,
                                  const std::vector<ObjectSymbol>& symbols, uint16_t machine) {
  ByteWriter table;
  std::vector<uint8_t> symbol_names = {0};
  table.Raw(Raw(Elf64_Sym{}));
  for (const ObjectSymbol& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = AddName(symbol_names, symbol.name);
    entry.st_shndx = symbol.is_defined ? 1 : SHN_UNDEF;
    entry.st_value = symbol.address;
    table.Raw(Raw(entry));
  }
  auto links = static_cast<uint32_t>(sections.size() + 2);  // the first section is none
  sections.push_back({.name = ".dynsym", .type = SHT_DYNSYM, .bytes = table.Take()});
  sections.push_back({.name = ".dynstr", .type = SHT_STRTAB, .bytes = symbol_names});
  std::vector<uint8_t> names = {0};
  std::vector<Elf64_Shdr> headers(1);
  sections.push_back({.name = ".shstrtab", .type = SHT_STRTAB, .flags = 0});
  for (const ObjectSection& section : sections) {
    Elf64_Shdr header{};
    header.sh_name = AddName(names, section.name);
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_addr = section.address;
    header.sh_addralign = section.alignment;
    header.sh_size = section.size;
    header.sh_link = section.type == SHT_DYNSYM ? links : 0;
    headers.push_back(header);
  }
  sections.back().bytes = names;

  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, ELFMAG, SELFMAG);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_ident[EI_DATA] = ELFDATA2LSB;
  file.e_type = ET_DYN;
  file.e_machine = machine;
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = static_cast<uint16_t>(headers.size());
  file.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
  file.e_shoff = sizeof(Elf64_Ehdr);
  ByteWriter content;
  uint64_t offset = sizeof(Elf64_Ehdr) + headers.size() * sizeof(Elf64_Shdr);
  for (size_t i = 0; i < sections.size(); ++i) {
    headers[i + 1].sh_offset = offset + content.size();
    if (!sections[i].bytes.empty()) headers[i + 1].sh_size = sections[i].bytes.size();
    content.Raw(sections[i].bytes);
  }
  ByteWriter object;
  object.Raw(Raw(file));
  for (const Elf64_Shdr& header : headers) object.Raw(Raw(header));
  object.Raw(content.bytes());
  return object.Take();
}

std::vector<ObjectSection> KernelSections() {
  return {{.name = ".rodata",
           .address = 0x300,
           .bytes = std::vector<uint8_t>(64, 0x11),
           .alignment = 64},
          {.name = ".text",
           .flags = SHF_ALLOC | SHF_EXECINSTR,
           .address = 0x1540,
           .bytes = {0x90, 0x90, 0x31, 0xc0, 0xc3}}};
}

std::vector<uint8_t> KernelObject() {
  return SharedObject(KernelSections(), {{.name = "add", .address = 0x1542}});
}

}  // namespace tcc
