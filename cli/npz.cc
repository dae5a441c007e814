#include "cli/npz.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/file.h"
#include "support/npy.h"
#include "support/printable.h"
#include "support/status.h"

namespace tcc {
namespace {

// ZIP archives as far as NumPy's .npz files are such: members stored or deflated, below 4 GiB. The
// records are those of PKWARE's APPNOTE.TXT, sections 4.3.7 (local header), 4.3.12 (central
// directory) and 4.3.16 (its end). Their numbers are little-endian, as this machine's.

constexpr uint32_t kZip64 = 0xffffffff;  // a marker for a larger number that stands elsewhere
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kEncrypted = 1, kUtf8 = 1 << 11;
constexpr uint16_t kVersion = 20;         // 2.0, the version needed to read what is written here
constexpr uint64_t kMaxOfDeflate = 1032;  // bytes that deflate can make of one
constexpr uint64_t kLimit = 0xffffffff;

#pragma pack(push, 1)
// The facts of a member that both of its headers have.
struct ZipFacts {
  uint16_t version = kVersion, flags = kUtf8, method = kStored;
  uint16_t time = 0, date = 1 << 5 | 1;  // midnight of 1980-01-01
  uint32_t crc = 0, packed = 0, size = 0;
  uint16_t name_bytes = 0, extra_bytes = 0;
};

struct LocalHeader {
  uint32_t signature = 0x04034b50;
  ZipFacts facts;
};

struct CentralHeader {
  uint32_t signature = 0x02014b50;
  uint16_t made_by = kVersion;
  ZipFacts facts;
  uint16_t comment_bytes = 0, disk = 0, attributes = 0;
  uint32_t system_attributes = 0, local = 0;  // where its local header is
};

struct EndRecord {
  uint32_t signature = 0x06054b50;
  uint16_t disk = 0, directory_disk = 0, members_of_disk = 0, members = 0;
  uint32_t directory_bytes = 0, directory = 0;  // where the central directory is
  uint16_t comment_bytes = 0;
};
#pragma pack(pop)
static_assert(sizeof(LocalHeader) == 30 && sizeof(CentralHeader) == 46 && sizeof(EndRecord) == 22);

Status Damaged(const std::string& what) {
  return InvalidInput("npz: {}", what);
}

// Returns the record at `at`; nullopt: it ends beyond the file, or has another signature.
template <typename Record>
std::optional<Record> RecordAt(std::string_view file, size_t at) {
  Record record;
  if (at > file.size() || file.size() - at < sizeof(record)) return std::nullopt;
  const uint32_t signature = record.signature;
  std::memcpy(&record, &file[at], sizeof(record));
  if (record.signature != signature) return std::nullopt;
  return record;
}

// A member as the central directory describes it.
struct Entry {
  std::string name;
  CentralHeader header;
};

StatusOr<std::vector<Entry>> ReadDirectory(std::string_view file) {
  const size_t end_at = file.rfind("PK\x05\x06");
  auto end = RecordAt<EndRecord>(file, end_at);
  if (!end) return Damaged("not an .npz file: it has no end of a ZIP directory");
  if (end->directory == kZip64) return Damaged("archives of 4 GiB or more are not read");
  std::vector<Entry> entries;
  size_t at = end->directory;
  for (int i = 0; i < end->members; ++i) {
    auto header = RecordAt<CentralHeader>(file, at);
    if (!header) return Damaged(fmt::format("entry {} of the directory is damaged", i));
    const size_t name_at = at + sizeof(*header), name_bytes = header->facts.name_bytes;
    at = name_at + name_bytes + header->facts.extra_bytes + header->comment_bytes;
    if (at > end_at) return Damaged(fmt::format("entry {} of the directory is cut off", i));
    entries.push_back({std::string(file.substr(name_at, name_bytes)), *header});
  }
  return entries;
}

// Returns the member's bytes as they lie in the file.
StatusOr<std::string_view> PackedBytes(std::string_view file, const CentralHeader& header) {
  auto local = RecordAt<LocalHeader>(file, header.local);
  if (!local) return Damaged("its header is damaged");
  size_t begin = header.local + sizeof(*local) + local->facts.name_bytes + local->facts.extra_bytes;
  if (begin > file.size() || file.size() - begin < header.facts.packed) {
    return Damaged("it ends beyond the file");
  }
  return file.substr(begin, header.facts.packed);
}

StatusOr<std::vector<uint8_t>> Inflate(std::string_view packed, size_t size) {
  std::vector<uint8_t> bytes(size);
  z_stream stream = {};
  // A negative window size selects the bare stream, without zlib's own header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("npz: no memory to inflate");
  }
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  uint8_t none = 0;
  stream.next_out = bytes.empty() ? &none : bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  int result = inflate(&stream, Z_FINISH);
  bool whole = result == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) return Damaged("its compressed bytes are damaged");
  return bytes;
}

StatusOr<std::vector<uint8_t>> ReadMember(std::string_view file, const CentralHeader& header) {
  const ZipFacts& facts = header.facts;
  if ((facts.flags & kEncrypted) != 0) return Damaged("it is encrypted");
  if (facts.packed == kZip64 || facts.size == kZip64 || header.local == kZip64) {
    return Damaged("members of 4 GiB or more are not read");
  }
  TCC_ASSIGN_OR_RETURN(std::string_view packed, PackedBytes(file, header));
  const uint64_t size = facts.size;
  if (size > kMaxOfDeflate * packed.size()) {
    return Damaged(fmt::format("{} bytes cannot become {}", packed.size(), size));
  }
  std::vector<uint8_t> bytes(packed.begin(), packed.end());
  if (facts.method == kDeflated) {
    TCC_ASSIGN_OR_RETURN(bytes, Inflate(packed, size));
  } else if (facts.method != kStored || packed.size() != size) {
    return Damaged(fmt::format("compression method {}; expected 0 (none) or 8 (deflate)",
                               uint32_t{facts.method}));
  }
  if (crc32_z(0, bytes.data(), bytes.size()) != facts.crc) return Damaged("its checksum is wrong");
  return bytes;
}

constexpr std::string_view kSuffix = ".npy";

// Reads the members in the archive's order. InvalidArgument, naming the member: it is damaged,
// encrypted, compressed otherwise, larger than 4 GiB (zip64), there twice, or no array. No member
// becomes larger than it says, nor all of them larger than deflate can make of a file of this size.
StatusOr<NamedTensors> ParseNpz(std::string_view file) {
  TCC_ASSIGN_OR_RETURN(std::vector<Entry> entries, ReadDirectory(file));
  NamedTensors tensors;
  std::set<std::string> names;
  uint64_t packed = 0;
  for (const auto& [name, header] : entries) {
    std::string member = fmt::format("member '{}'", Printable(name));
    if (!names.insert(name).second) return Damaged(member + " comes twice");
    // Members that share bytes would make more of them than deflate can.
    packed += header.facts.packed;
    if (packed > file.size()) return Damaged("its members are larger than the file");
    StatusOr<std::vector<uint8_t>> bytes = ReadMember(file, header);
    if (!bytes.ok()) return Annotate(bytes.status(), member);
    StatusOr<Tensor> tensor = ParseNpy(*bytes);
    if (!tensor.ok()) return Annotate(tensor.status(), member);
    const bool has_suffix = name.ends_with(kSuffix);
    tensors.emplace_back(name.substr(0, name.size() - (has_suffix ? kSuffix.size() : 0)),
                         *std::move(tensor));
  }
  return tensors;
}

void Append(std::string& file, const auto& record) {
  file.append(reinterpret_cast<const char*>(&record), sizeof(record));
}

// Returns an archive of stored members. Error (Unimplemented): 4 GiB or more.
StatusOr<std::string> NpzBytes(const NamedTensors& tensors) {
  std::string file, directory;
  for (const auto& [tensor_name, tensor] : tensors) {
    StatusOr<std::vector<uint8_t>> bytes = NpyBytes(tensor);
    if (!bytes.ok()) return Annotate(bytes.status(), fmt::format("'{}'", tensor_name));
    const std::string name = fmt::format("{}{}", tensor_name, kSuffix);
    const uint64_t end = file.size() + sizeof(LocalHeader) + name.size() + bytes->size();
    if (end >= kLimit || tensors.size() >= 0xffff || name.size() > 0xffff) {
      return Unsupported("npz: '{}' ends beyond 4 GiB; expected a smaller archive", name);
    }
    auto size = static_cast<uint32_t>(bytes->size());
    ZipFacts facts{.crc = static_cast<uint32_t>(crc32_z(0, bytes->data(), bytes->size())),
                   .packed = size,
                   .size = size,
                   .name_bytes = static_cast<uint16_t>(name.size())};
    Append(directory, CentralHeader{.facts = facts, .local = static_cast<uint32_t>(file.size())});
    directory += name;
    Append(file, LocalHeader{.facts = facts});
    file += name;
    file.append(bytes->begin(), bytes->end());
  }
  if (file.size() + directory.size() >= kLimit) {
    return Unsupported("npz: the archive ends beyond 4 GiB");
  }
  auto members = static_cast<uint16_t>(tensors.size());
  EndRecord end{.members_of_disk = members,
                .members = members,
                .directory_bytes = static_cast<uint32_t>(directory.size()),
                .directory = static_cast<uint32_t>(file.size())};
  file += directory;
  Append(file, end);
  return file;
}

}  // namespace

bool IsNpz(const std::string& path) {
  return path.ends_with(".npz");
}

bool IsNpzAlone(const std::string& text) {
  std::error_code ignored;
  return IsNpz(text) && (text.find('=') == text.npos || std::filesystem::exists(text, ignored));
}

StatusOr<NamedTensors> ReadNpz(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<NamedTensors> tensors =
      ParseNpz({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()});
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

Status WriteNpz(const NamedTensors& tensors, const std::string& path) {
  StatusOr<std::string> file = NpzBytes(tensors);
  if (!file.ok()) return Annotate(file.status(), path);
  return WriteFileAtomically(path, *file);
}

}  // namespace tcc
