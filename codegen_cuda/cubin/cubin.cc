#include "codegen_cuda/cubin/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace tcc {
namespace {

constexpr int kCudaMachine = 190;

// The attributes of a kernel in .nv.info: byte 4, the number, 16 bits of size (8), the symbol, a
// value.
constexpr uint8_t kAttributeWithSymbol = 4;
constexpr uint8_t kRegisterCount = 0x2f;
constexpr uint8_t kFrameSize = 0x11;

class ElfReader {
 public:
  explicit ElfReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // Lists the sections; returns false if that fails.
  bool Open() {
    std::optional<Elf64_Ehdr> header = At<Elf64_Ehdr>(0);
    bool known = header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                 header->e_machine == kCudaMachine && header->e_shentsize == sizeof(Elf64_Shdr);
    if (!known) return false;
    for (uint64_t i = 0; i < header->e_shnum; ++i) {
      std::optional<Elf64_Shdr> section = At<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return false;
      sections_.push_back(*section);
    }
    if (header->e_shstrndx >= sections_.size()) return false;
    names_ = Content(sections_[header->e_shstrndx]);
    return names_.has_value();
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }

  std::string NameOf(const Elf64_Shdr& section) const { return TextAt(*names_, section.sh_name); }

  const Elf64_Shdr* Find(const std::string& name) const {
    for (const Elf64_Shdr& section : sections_) {
      if (NameOf(section) == name) return &section;
    }
    return nullptr;
  }

  std::optional<std::span<const uint8_t>> Content(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset)
      return std::nullopt;
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }

  // Returns the name of symbol `index`; "" if there is none.
  std::string SymbolName(uint32_t index) const {
    const Elf64_Shdr* symbols = Find(".symtab");
    const Elf64_Shdr* texts = Find(".strtab");
    if (!symbols || !texts || !Content(*texts)) return "";
    if (index >= symbols->sh_size / sizeof(Elf64_Sym)) return "";
    std::optional<Elf64_Sym> symbol = At<Elf64_Sym>(symbols->sh_offset + index * sizeof(Elf64_Sym));
    return symbol ? TextAt(*Content(*texts), symbol->st_name) : "";
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  static std::string TextAt(std::span<const uint8_t> texts, uint64_t offset) {
    if (offset >= texts.size()) return "";
    auto end = std::find(texts.begin() + static_cast<int64_t>(offset), texts.end(), 0);
    return {texts.begin() + static_cast<int64_t>(offset), end};
  }

  std::span<const uint8_t> bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::optional<std::span<const uint8_t>> names_;
};

uint32_t Word(std::span<const uint8_t> bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Reads the attributes of the kernels in .nv.info.
void ReadAttributes(const ElfReader& elf, std::vector<CubinKernel>& kernels) {
  const Elf64_Shdr* section = elf.Find(".nv.info");
  std::optional<std::span<const uint8_t>> info;
  if (section) info = elf.Content(*section);
  for (size_t at = 0; info && at + 4 <= info->size();) {
    bool has_payload = (*info)[at] == kAttributeWithSymbol;
    size_t bytes = has_payload ? size_t{(*info)[at + 2]} + 256 * size_t{(*info)[at + 3]} : 0;
    uint8_t attribute = (*info)[at + 1];
    at += 4;
    if (bytes == 8 && at + 8 <= info->size()) {
      std::string name = elf.SymbolName(Word(*info, at));
      for (CubinKernel& kernel : kernels) {
        if (kernel.name != name) continue;
        if (attribute == kRegisterCount) kernel.registers = Word(*info, at + 4);
        if (attribute == kFrameSize) kernel.local_bytes = Word(*info, at + 4);
      }
    }
    at += bytes;
  }
}

}  // namespace

StatusOr<std::vector<CubinKernel>> ReadCubin(std::span<const uint8_t> bytes, int sm) {
  ElfReader elf(bytes);
  if (!elf.Open()) return InvalidInput("no machine code of a GPU in {} bytes", bytes.size());
  constexpr std::string_view kText = ".text.";
  std::vector<CubinKernel> kernels;
  for (const Elf64_Shdr& section : elf.sections()) {
    std::string name = elf.NameOf(section);
    if (!name.starts_with(kText)) continue;
    std::optional<std::span<const uint8_t>> code = elf.Content(section);
    if (!code) return InvalidInput("section '{}' is cut off", name);
    CubinKernel& kernel = kernels.emplace_back();
    kernel.name = name.substr(kText.size());
    kernel.code_bytes = static_cast<int64_t>(code->size());
    kernel.facts = FactsOf(*code, sm);
  }
  ReadAttributes(elf, kernels);
  return kernels;
}

}  // namespace tcc
