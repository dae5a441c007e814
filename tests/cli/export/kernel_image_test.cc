#include "cli/export/kernel_image.h"

#include <catch2/catch.hpp>

#include "support/random.h"
#include "tests/cli/export/shared_object.h"

namespace tcc {
namespace {

const std::vector<std::string> kNames = {"add"};

std::string Refusal(const std::vector<uint8_t>& object) {
  return Message(ReadKernelImage(object, kNames).status());
}

// The refusal of the kernel's object with a further section.
std::string RefusalWith(const ObjectSection& section) {
  std::vector<ObjectSection> sections = KernelSections();
  sections.push_back(section);
  return Refusal(SharedObject(sections, {{.name = "add", .address = 0x1542}}));
}

TEST_CASE("an image holds constants and code at their distances", "[cli][export]") {
  StatusOr<KernelImage> image = ReadKernelImage(KernelObject(), kNames);
  REQUIRE(image.ok());
  CHECK(image->alignment == 64);
  CHECK(std::string(image->machine.name) == "x86-64");
  REQUIRE(image->bytes.size() == 0x1545 - 0x300);
  CHECK(image->entries == std::vector<uint64_t>{0x1542 - 0x300});
  CHECK(image->bytes[0] == 0x11);
  CHECK(image->bytes[63] == 0x11);
  CHECK(image->bytes[64] == 0);
  CHECK(image->bytes[0x1544 - 0x300] == 0xc3);
}

TEST_CASE("an image begins at a multiple of its largest alignment", "[cli][export]") {
  std::vector<ObjectSection> sections = KernelSections();
  sections[0].address = 0x340;
  sections[1].alignment = 256;
  StatusOr<KernelImage> image =
      ReadKernelImage(SharedObject(sections, {{.name = "add", .address = 0x1542}}), kNames);
  REQUIRE(image.ok());
  CHECK(image->alignment == 256);
  CHECK(image->bytes[0x3f] == 0);
  CHECK(image->bytes[0x40] == 0x11);
  sections[1].alignment = 8192;
  CHECK(Refusal(SharedObject(sections, {{.name = "add"}})) ==
        "section '.text' is aligned to 8192 bytes; expected at most 4096");
}

TEST_CASE("the linker's own sections are left out", "[cli][export]") {
  std::vector<ObjectSection> sections = KernelSections();
  sections.push_back({.name = ".dynamic",
                      .type = SHT_DYNAMIC,
                      .flags = SHF_ALLOC | SHF_WRITE,
                      .address = 0x3000,
                      .bytes = std::vector<uint8_t>(32)});
  sections.push_back({.name = ".relro_padding",
                      .type = SHT_NOBITS,
                      .flags = SHF_ALLOC | SHF_WRITE,
                      .address = 0x3020,
                      .size = 0xfe0});
  StatusOr<KernelImage> image =
      ReadKernelImage(SharedObject(sections, {{.name = "add", .address = 0x1542}}), kNames);
  REQUIRE(image.ok());
  CHECK(image->bytes.size() == 0x1545 - 0x300);
}

TEST_CASE("kernels that need a loader are refused by what needs it", "[cli][export]") {
  auto needs = [](const std::string& name) {
    return "section '" + name +
           "' of the kernels needs a loader; expected code and constants alone";
  };
  std::vector<uint8_t> some(48, 1);
  CHECK(RefusalWith({.name = ".rela.dyn", .type = SHT_RELA, .address = 0x400, .bytes = some}) ==
        needs(".rela.dyn"));
  CHECK(RefusalWith(
            {.name = ".data", .flags = SHF_ALLOC | SHF_WRITE, .address = 0x3000, .bytes = some}) ==
        needs(".data"));
  CHECK(RefusalWith({.name = ".bss",
                     .type = SHT_NOBITS,
                     .flags = SHF_ALLOC | SHF_WRITE,
                     .address = 0x3000,
                     .size = 8}) == needs(".bss"));
  CHECK(RefusalWith(
            {.name = ".tdata", .flags = SHF_ALLOC | SHF_TLS, .address = 0x3000, .bytes = some}) ==
        needs(".tdata"));
  CHECK(Refusal(SharedObject(KernelSections(), {{.name = "add", .address = 0x1542},
                                                {.name = "memcpy", .is_defined = false}})) ==
        "the kernels need 'memcpy', which is not among them");
}

TEST_CASE("an object of another kind, and one without the kernel, are refused", "[cli][export]") {
  CHECK(Refusal({'c', 'o', 'd', 'e'}) == "kernels are not a 64-bit ELF shared object");
  CHECK(Refusal(SharedObject(KernelSections(), {{.name = "sub", .address = 0x1540}})) ==
        "kernel 'add' is not in the shared object");
  CHECK(Refusal(SharedObject(KernelSections(), {{.name = "add", .address = 0x5000}})) ==
        "kernel 'add' is not in the shared object");
  CHECK(Refusal(SharedObject({}, {})) == "the shared object has no code");
  Status status = ReadKernelImage(SharedObject(KernelSections(), {}, EM_RISCV), kNames).status();
  CHECK(status.code() == absl::StatusCode::kUnimplemented);
  CHECK(Message(status) ==
        "kernels are for ELF machine 243; expected 62 (x86-64) or 183 (aarch64)");
  CHECK(RefusalWith({.name = ".far", .address = 0x7fffffffffff, .bytes = {1}}) ==
        "the sections of the kernels lie too far from each other");
}

TEST_CASE("damaged objects are refused or read, and nothing else", "[cli][export]") {
  const std::vector<uint8_t> whole = KernelObject();
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(ReadKernelImage(std::span(whole).first(size), kNames).ok());
  }
  Random random(7);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> damaged = whole;
    for (int n = 0; n < 3; ++n) {
      damaged[random.Below(damaged.size())] = static_cast<uint8_t>(random.Below(256));
    }
    refused += ReadKernelImage(damaged, kNames).ok() ? 0 : 1;
  }
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace tcc
