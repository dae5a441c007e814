#include <algorithm>
#include <fstream>

#include "runtime/artefact/artefact.h"
#include "runtime/artefact/bytes.h"
#include "runtime/artefact/plan.h"
#include "runtime/artefact/sections.h"
#include "support/printable.h"

namespace tcc {
namespace {

constexpr size_t kMinRowBytes = 52;

struct Header {
  uint64_t end = 0;  // where the header ends
  std::vector<SectionRow> rows;
};

Sha256Digest ReadDigest(ByteReader& reader) {
  Sha256Digest digest{};
  std::span<const uint8_t> raw = reader.Raw(digest.size());
  std::ranges::copy(raw, digest.begin());
  return digest;
}

// Printable words only, since they end up in messages.
bool IsWord(const std::string& text) {
  return !text.empty() && text.size() <= 64 &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Status NotAnArtefact(std::span<const uint8_t> file) {
  if (LooksLikeOnnx(file)) {
    return InvalidInput("not a tcc artefact but an ONNX model, which has to be compiled first");
  }
  std::string kind = KindOfFile(file);
  return InvalidInput("not a tcc artefact{}{}", kind.empty() ? "" : " but ", kind);
}

// The header up to its hash, which is checked; fills target, device and environment.
StatusOr<Header> ReadHeader(std::span<const uint8_t> file, Artefact& artefact) {
  ByteReader reader(file, "header");
  std::span<const uint8_t> magic = reader.Raw(kArtefactMagic.size());
  if (!reader.ok() || !std::ranges::equal(magic, kArtefactMagic, [](uint8_t a, char b) {
        return a == static_cast<uint8_t>(b);
      })) {
    return NotAnArtefact(file);
  }
  uint32_t version = reader.U32();
  if (reader.ok() && version != kArtefactVersion) {
    return InvalidInput("format version {}; this runtime reads version {}", version,
                        kArtefactVersion);
  }
  uint64_t file_size = reader.U64();
  if (reader.ok() && file_size != file.size()) {
    return InvalidInput("file has {} bytes; its header says {}", file.size(), file_size);
  }
  artefact.target = reader.Text();
  artefact.device = reader.Text();
  artefact.environment = ReadDigest(reader);
  Header header;
  size_t count = reader.Count(kMinRowBytes);
  for (size_t i = 0; i < count; ++i) {
    SectionRow row;
    row.kind = reader.U32();
    row.offset = reader.U64();
    row.size = reader.U64();
    row.hash = ReadDigest(reader);
    header.rows.push_back(row);
  }
  size_t hashed = reader.position();
  Sha256Digest hash = ReadDigest(reader);
  TCC_RETURN_IF_ERROR(reader.status());
  if (hash != Sha256(file.first(hashed))) return InvalidInput("header does not match its SHA-256");
  header.end = reader.position();
  return header;
}

bool AllZero(std::span<const uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

// One section's bytes. Each must lie exactly where the writer puts it, at `end` rounded up, so that
// sections cannot overlap and no byte is left unchecked.
StatusOr<std::span<const uint8_t>> SectionBytes(std::span<const uint8_t> file,
                                                const SectionRow& row, size_t number,
                                                uint64_t end) {
  std::string_view name = kSectionNames[number];
  if (row.kind != static_cast<uint32_t>(kSections[number])) {
    return InvalidInput("section {} has kind {}; expected the {} section", number, row.kind, name);
  }
  uint64_t begin = AlignUp(end);
  if (row.offset != begin || begin > file.size() || row.size > file.size() - begin) {
    return InvalidInput("{} section is at {} with {} bytes; expected at {} within {} bytes", name,
                        row.offset, row.size, begin, file.size());
  }
  if (!AllZero(file.subspan(end, begin - end))) {
    return InvalidInput("bytes before the {} section are not zero", name);
  }
  std::span<const uint8_t> bytes = file.subspan(begin, row.size);
  if (Sha256(bytes) != row.hash) {
    return InvalidInput("{} section does not match its SHA-256", name);
  }
  return bytes;
}

// The same bytes at a multiple of 64.
StatusOr<SharedBytes> Aligned(SharedBytes file) {
  if (reinterpret_cast<uintptr_t>(file.bytes.data()) % kSectionAlignment == 0) return file;
  TCC_ASSIGN_OR_RETURN(
      Tensor copy, CopyTensor(DType(DTypeCode::kUInt8), {static_cast<int64_t>(file.bytes.size())},
                              file.bytes, "the artefact at a multiple of 64"));
  return SharedBytes{copy.owner, copy.bytes};
}

StatusOr<Artefact> Parse(const SharedBytes& file) {
  Artefact artefact;
  TCC_ASSIGN_OR_RETURN(Header header, ReadHeader(file.bytes, artefact));
  constexpr size_t kCount = std::size(kSections);
  if (header.rows.size() != kCount) {
    return InvalidInput("file has {} sections; expected {}", header.rows.size(), kCount);
  }
  std::span<const uint8_t> sections[kCount];
  uint64_t end = header.end;
  for (size_t i = 0; i < kCount; ++i) {
    TCC_ASSIGN_OR_RETURN(sections[i], SectionBytes(file.bytes, header.rows[i], i, end));
    end = header.rows[i].offset + header.rows[i].size;
  }
  if (end != file.bytes.size()) return InvalidInput("file has bytes after its last section");
  artefact.kernels = {file.owner, sections[0]};
  artefact.weights = {file.owner, sections[3]};
  artefact.notes = {file.owner, sections[4]};
  TCC_ASSIGN_OR_RETURN(artefact.plan, ParsePlan(sections[1]));
  TCC_ASSIGN_OR_RETURN(artefact.metadata, ParseMetadata(sections[2]));
  TCC_RETURN_IF_ERROR(VerifyArtefact(artefact));
  return artefact;
}

}  // namespace

Status VerifyArtefact(const Artefact& artefact) {
  if (!IsWord(artefact.target) || !IsWord(artefact.device)) {
    return InvalidInput("artefact's target or device is not a word");
  }
  TCC_RETURN_IF_ERROR(VerifyMetadata(artefact.metadata));
  return VerifyPlan(artefact.plan, artefact.metadata,
                    static_cast<int64_t>(artefact.weights.bytes.size()));
}

StatusOr<Artefact> ParseArtefact(SharedBytes file) {
  TCC_ASSIGN_OR_RETURN(SharedBytes aligned, Aligned(std::move(file)));
  StatusOr<Artefact> artefact = Parse(aligned);
  if (!artefact.ok()) return PrintableStatus(artefact.status());
  return artefact;
}

bool IsArtefact(const std::string& path) {
  std::string start(kArtefactMagic.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == kArtefactMagic;
}

StatusOr<Artefact> ReadArtefact(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<Artefact> artefact = Parse(file);
  if (!artefact.ok()) return Annotate(PrintableStatus(artefact.status()), path);
  return artefact;
}

}  // namespace tcc
