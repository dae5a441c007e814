#include "cli/export/kernel_image.h"

#include <elf.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "support/printable.h"

namespace tcc {
namespace {

// The least alignment of the image, which a cache line is, and the largest, which a page is.
constexpr uint64_t kMinAlignment = 64;
constexpr uint64_t kMaxAlignment = 4096;

// The room for gaps between sections, which are less than a page each.
constexpr uint64_t kMaxGapBytes = 1 << 20;

// The sections of the dynamic linker: kernels do not refer to them.
constexpr uint32_t kLinkersTypes[] = {SHT_DYNSYM, SHT_GNU_HASH, SHT_HASH,
                                      SHT_STRTAB, SHT_DYNAMIC,  SHT_NOTE};
// LLD fills the page behind .dynamic with it. Another linker's own are in other pages.
constexpr std::string_view kPadding = ".relro_padding";

struct Section {
  std::string_view name;
  Elf64_Shdr header;
};

class ElfReader {
 public:
  explicit ElfReader(std::span<const uint8_t> object) : object_(object) {}

  StatusOr<KernelImage> Read(std::span<const std::string> names) {
    TCC_RETURN_IF_ERROR(ReadHeader());
    TCC_RETURN_IF_ERROR(ReadSections());
    TCC_RETURN_IF_ERROR(CheckSections());
    TCC_RETURN_IF_ERROR(CopyBytes());
    TCC_RETURN_IF_ERROR(ReadSymbols());
    for (const std::string& name : names) {
      auto found = symbols_.find(name);
      if (found == symbols_.end()) {
        return InvalidInput("kernel '{}' is not in the shared object", name);
      }
      image_.entries.push_back(found->second);
    }
    return std::move(image_);
  }

 private:
  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > object_.size() || sizeof(T) > object_.size() - offset) return std::nullopt;
    T value;
    std::memcpy(&value, object_.data() + offset, sizeof(T));
    return value;
  }

  // Returns the bytes of a section in the file; nothing if the file ends before.
  std::optional<std::span<const uint8_t>> BytesOf(const Elf64_Shdr& section) const {
    uint64_t size = section.sh_type == SHT_NOBITS ? 0 : section.sh_size;
    if (section.sh_offset > object_.size() || size > object_.size() - section.sh_offset) {
      return std::nullopt;
    }
    return object_.subspan(section.sh_offset, size);
  }

  // Returns the text that begins at `at` of a table of names; "" if it is not within.
  std::string_view TextIn(const Elf64_Shdr& table, uint64_t at) const {
    std::optional<std::span<const uint8_t>> bytes = BytesOf(table);
    if (!bytes || at >= bytes->size()) return "";
    std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    size_t end = text.find('\0', at);
    return end == std::string_view::npos ? "" : text.substr(at, end - at);
  }

  Status ReadHeader() {
    std::optional<Elf64_Ehdr> header = At<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_DYN || header->e_shentsize != sizeof(Elf64_Shdr)) {
      return InvalidInput("kernels are not a 64-bit ELF shared object");
    }
    header_ = *header;
    const CpuArchRow* machine = FindElfMachine(header_.e_machine);
    if (machine == nullptr) {
      std::vector<std::string> known;
      for (const CpuArchRow& row : CpuArchs()) {
        known.push_back(fmt::format("{} ({})", row.elf_machine, row.name));
      }
      return Unsupported("kernels are for ELF machine {}; expected {}", header_.e_machine,
                         fmt::join(known, " or "));
    }
    image_.machine = *machine;
    return OkStatus();
  }

  Status ReadSections() {
    std::vector<Elf64_Shdr> headers;
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      std::optional<Elf64_Shdr> section =
          header_.e_shoff > object_.size()
              ? std::nullopt
              : At<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
      if (!section || !BytesOf(*section)) {
        return InvalidInput("section {} does not lie within the shared object", i);
      }
      headers.push_back(*section);
    }
    if (header_.e_shstrndx >= headers.size()) {
      return InvalidInput("the shared object has no names of its sections");
    }
    for (const Elf64_Shdr& header : headers) {
      sections_.push_back({TextIn(headers[header_.e_shstrndx], header.sh_name), header});
    }
    return OkStatus();
  }

  static bool IsAllocated(const Section& section) {
    return (section.header.sh_flags & SHF_ALLOC) != 0 && section.header.sh_size > 0;
  }
  static bool IsLinkers(const Section& section) {
    return std::ranges::find(kLinkersTypes, section.header.sh_type) != std::end(kLinkersTypes) ||
           (section.header.sh_type == SHT_NOBITS && section.name == kPadding);
  }

  // Finds the first and the last byte of the image.
  Status CheckSections() {
    image_.alignment = kMinAlignment;
    uint64_t end = 0;
    begin_ = UINT64_MAX;
    for (const Section& section : sections_) {
      const Elf64_Shdr& header = section.header;
      if (!IsAllocated(section) || IsLinkers(section)) continue;
      if (header.sh_type != SHT_PROGBITS || (header.sh_flags & (SHF_WRITE | SHF_TLS)) != 0) {
        return InvalidInput(
            "section '{}' of the kernels needs a loader; expected code and constants alone",
            Printable(section.name));
      }
      uint64_t alignment = std::max(header.sh_addralign, kMinAlignment);
      if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
        return InvalidInput("section '{}' is aligned to {} bytes; expected at most {}",
                            Printable(section.name), alignment, kMaxAlignment);
      }
      image_.alignment = std::max(image_.alignment, alignment);
      begin_ = std::min(begin_, header.sh_addr);
      // An overflow makes a small end, which CopyBytes refuses.
      end = std::max(end, header.sh_addr + header.sh_size);
    }
    if (begin_ == UINT64_MAX) return InvalidInput("the shared object has no code");
    begin_ -= begin_ % image_.alignment;
    if (end < begin_ || end - begin_ > object_.size() + kMaxGapBytes) {
      return InvalidInput("the sections of the kernels lie too far from each other");
    }
    image_.bytes.resize(end - begin_);
    return OkStatus();
  }

  // Copies code and constants to their distances from each other.
  Status CopyBytes() {
    for (const Section& section : sections_) {
      if (!IsAllocated(section) || IsLinkers(section)) continue;
      std::span<const uint8_t> bytes = *BytesOf(section.header);
      uint64_t at = section.header.sh_addr - begin_;
      if (at > image_.bytes.size() || bytes.size() > image_.bytes.size() - at) {
        return InvalidInput("section '{}' has no place among the kernels", Printable(section.name));
      }
      std::ranges::copy(bytes, image_.bytes.begin() + static_cast<ptrdiff_t>(at));
    }
    return OkStatus();
  }

  Status ReadSymbols() {
    auto table = std::ranges::find_if(
        sections_, [](const Section& section) { return section.header.sh_type == SHT_DYNSYM; });
    if (table == sections_.end() || table->header.sh_link >= sections_.size()) {
      return InvalidInput("the shared object exports no symbols");
    }
    const Elf64_Shdr& names = sections_[table->header.sh_link].header;
    // The first symbol is none.
    for (uint64_t i = 1; i < table->header.sh_size / sizeof(Elf64_Sym); ++i) {
      auto symbol = *At<Elf64_Sym>(table->header.sh_offset + i * sizeof(Elf64_Sym));
      std::string_view name = TextIn(names, symbol.st_name);
      if (symbol.st_shndx == SHN_UNDEF) {
        return InvalidInput("the kernels need '{}', which is not among them", Printable(name));
      }
      uint64_t offset = symbol.st_value - begin_;
      if (offset < image_.bytes.size()) symbols_.emplace(name, offset);
    }
    return OkStatus();
  }

  std::span<const uint8_t> object_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  uint64_t begin_ = 0;  // the address of the image's first byte
  std::unordered_map<std::string_view, uint64_t> symbols_;
  KernelImage image_;
};

}  // namespace

StatusOr<KernelImage> ReadKernelImage(std::span<const uint8_t> object,
                                      std::span<const std::string> names) {
  return ElfReader(object).Read(names);
}

}  // namespace tcc
