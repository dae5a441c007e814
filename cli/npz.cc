#include "cli/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "support/file.h"
#include "support/npy.h"
#include "support/printable.h"
#include "support/status.h"

namespace tcc {
namespace {

// ZIP archives as far as NumPy's .npz files are such: members stored or deflated, below 4 GiB. The
// layout is that of PKWARE's APPNOTE.TXT, sections 4.3.7 (local header), 4.3.12 (central directory)
// and 4.3.16 (its end); all numbers are little-endian.

struct ZipMember {
  std::string name;
  std::vector<uint8_t> bytes;
};

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr size_t kMaxCommentBytes = 0xffff;
constexpr uint32_t kZip64 = 0xffffffff;  // a marker for a larger number that stands elsewhere
constexpr uint32_t kStored = 0, kDeflated = 8;
constexpr uint32_t kEncrypted = 1, kUtf8 = 1 << 11;
constexpr uint32_t kVersion = 20;           // 2.0, the version needed to read what is written here
constexpr uint32_t kFirstDay = 1 << 5 | 1;  // 1980-01-01
constexpr uint64_t kMaxOfDeflate = 1032;    // bytes that deflate can make of one
constexpr uint64_t kLimit = 0xffffffff;

Status Damaged(const std::string& what) {
  return InvalidInput("npz: {}", what);
}

// Returns the number of `size` bytes at `at`. The caller has checked that they are there.
uint32_t NumberAt(std::span<const uint8_t> file, size_t at, size_t size) {
  uint32_t number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | file[at + i];
  return number;
}

// Returns where the end record of the central directory begins.
std::optional<size_t> FindEnd(std::span<const uint8_t> file) {
  if (file.size() < kEndBytes) return std::nullopt;
  size_t last = file.size() - kEndBytes;
  for (size_t comment = 0; comment <= std::min(last, kMaxCommentBytes); ++comment) {
    size_t at = last - comment;
    if (NumberAt(file, at, 4) == kEnd && NumberAt(file, at + 20, 2) == comment) return at;
  }
  return std::nullopt;
}

// A member as the central directory describes it.
struct Entry {
  std::string name;
  uint32_t flags, method, crc, packed, size, header;
};

StatusOr<std::vector<Entry>> ReadDirectory(std::span<const uint8_t> file) {
  std::optional<size_t> end = FindEnd(file);
  if (!end) return Damaged("not an .npz file: it has no end of a ZIP directory");
  size_t count = NumberAt(file, *end + 10, 2);
  size_t begin = NumberAt(file, *end + 16, 4);
  if (begin == kZip64) return Damaged("archives of 4 GiB or more are not read");
  std::vector<Entry> entries;
  size_t at = begin;
  for (size_t i = 0; i < count; ++i) {
    if (at > *end || *end - at < kCentralBytes || NumberAt(file, at, 4) != kCentralHeader) {
      return Damaged(fmt::format("entry {} of the directory is damaged", i));
    }
    size_t name = NumberAt(file, at + 28, 2);
    size_t rest = name + NumberAt(file, at + 30, 2) + NumberAt(file, at + 32, 2);
    if (*end - at - kCentralBytes < rest) {
      return Damaged(fmt::format("entry {} of the directory is cut off", i));
    }
    entries.push_back({.name = {reinterpret_cast<const char*>(&file[at + kCentralBytes]), name},
                       .flags = NumberAt(file, at + 8, 2),
                       .method = NumberAt(file, at + 10, 2),
                       .crc = NumberAt(file, at + 16, 4),
                       .packed = NumberAt(file, at + 20, 4),
                       .size = NumberAt(file, at + 24, 4),
                       .header = NumberAt(file, at + 42, 4)});
    at += kCentralBytes + rest;
  }
  return entries;
}

// Returns the member's bytes as they lie in the file.
StatusOr<std::span<const uint8_t>> PackedBytes(std::span<const uint8_t> file, const Entry& entry) {
  if (entry.header > file.size() || file.size() - entry.header < kLocalBytes ||
      NumberAt(file, entry.header, 4) != kLocalHeader) {
    return Damaged("its header is damaged");
  }
  size_t begin = entry.header + kLocalBytes + NumberAt(file, entry.header + 26, 2) +
                 NumberAt(file, entry.header + 28, 2);
  if (begin > file.size() || file.size() - begin < entry.packed) {
    return Damaged("it ends beyond the file");
  }
  return file.subspan(begin, entry.packed);
}

StatusOr<std::vector<uint8_t>> Inflate(std::span<const uint8_t> packed, size_t size) {
  std::vector<uint8_t> bytes(size);
  z_stream stream = {};
  // A negative window size selects the bare stream, without zlib's own header.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return absl::ResourceExhaustedError("npz: no memory to inflate");
  }
  stream.next_in = const_cast<uint8_t*>(packed.data());
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

StatusOr<std::vector<uint8_t>> ReadMember(std::span<const uint8_t> file, const Entry& entry) {
  if ((entry.flags & kEncrypted) != 0) return Damaged("it is encrypted");
  if (entry.packed == kZip64 || entry.size == kZip64 || entry.header == kZip64) {
    return Damaged("members of 4 GiB or more are not read");
  }
  TCC_ASSIGN_OR_RETURN(std::span<const uint8_t> packed, PackedBytes(file, entry));
  if (entry.size > kMaxOfDeflate * packed.size()) {
    return Damaged(fmt::format("{} bytes cannot become {}", packed.size(), entry.size));
  }
  std::vector<uint8_t> bytes;
  if (entry.method == kDeflated) {
    TCC_ASSIGN_OR_RETURN(bytes, Inflate(packed, entry.size));
  } else if (entry.method == kStored && packed.size() == entry.size) {
    bytes.assign(packed.begin(), packed.end());
  } else {
    return Damaged(
        fmt::format("compression method {}; expected 0 (none) or 8 (deflate)", entry.method));
  }
  if (crc32_z(0, bytes.data(), bytes.size()) != entry.crc) return Damaged("its checksum is wrong");
  return bytes;
}

void Append(std::vector<uint8_t>& bytes, uint64_t number, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(number >> 8 * i));
}

void AppendText(std::vector<uint8_t>& bytes, const std::string& text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

// Appends the fields that local and central header have in common: from the version to the length
// of the name.
void AppendFacts(std::vector<uint8_t>& bytes, const ZipMember& member) {
  Append(bytes, kVersion, 2);
  Append(bytes, kUtf8, 2);
  Append(bytes, kStored, 2);
  Append(bytes, 0, 2);  // midnight
  Append(bytes, kFirstDay, 2);
  Append(bytes, crc32_z(0, member.bytes.data(), member.bytes.size()), 4);
  Append(bytes, member.bytes.size(), 4);
  Append(bytes, member.bytes.size(), 4);
  Append(bytes, member.name.size(), 2);
}

// Reads the members in the archive's order. InvalidArgument, naming the member: it is damaged,
// encrypted, compressed otherwise, larger than 4 GiB (zip64), or there twice. No member becomes
// larger than it says, nor all of them larger than deflate can make of a file of this size.
StatusOr<std::vector<ZipMember>> ReadZip(std::span<const uint8_t> file) {
  TCC_ASSIGN_OR_RETURN(std::vector<Entry> entries, ReadDirectory(file));
  std::vector<ZipMember> members;
  std::set<std::string> names;
  uint64_t packed = 0;
  for (const Entry& entry : entries) {
    std::string member = fmt::format("member '{}'", Printable(entry.name));
    if (!names.insert(entry.name).second) return Damaged(member + " comes twice");
    // Members that share bytes would make more of them than deflate can.
    packed += entry.packed;
    if (packed > file.size()) return Damaged("its members are larger than the file");
    StatusOr<std::vector<uint8_t>> bytes = ReadMember(file, entry);
    if (!bytes.ok()) return Annotate(bytes.status(), member);
    members.push_back({entry.name, *std::move(bytes)});
  }
  return members;
}

// Returns an archive of stored members. Error (Unimplemented): 4 GiB or more.
StatusOr<std::vector<uint8_t>> ZipBytes(std::span<const ZipMember> members) {
  std::vector<uint8_t> file, central;
  for (const ZipMember& member : members) {
    uint64_t begin = file.size();
    bool fits = begin + kLocalBytes + member.name.size() + member.bytes.size() < kLimit;
    if (!fits || members.size() >= 0xffff || member.name.size() > 0xffff) {
      return Unsupported("npz: '{}' ends beyond 4 GiB; expected a smaller archive", member.name);
    }
    Append(file, kLocalHeader, 4);
    AppendFacts(file, member);
    Append(file, 0, 2);  // no extra field
    AppendText(file, member.name);
    file.insert(file.end(), member.bytes.begin(), member.bytes.end());
    Append(central, kCentralHeader, 4);
    Append(central, kVersion, 2);
    AppendFacts(central, member);
    Append(central, 0, 2 + 2 + 2 + 2 + 4);  // extra field, comment, disk, attributes
    Append(central, begin, 4);
    AppendText(central, member.name);
  }
  uint64_t begin = file.size();
  file.insert(file.end(), central.begin(), central.end());
  if (file.size() >= kLimit) return Unsupported("npz: the archive ends beyond 4 GiB");
  Append(file, kEnd, 4);
  Append(file, 0, 4);  // disks
  Append(file, members.size(), 2);
  Append(file, members.size(), 2);
  Append(file, central.size(), 4);
  Append(file, begin, 4);
  Append(file, 0, 2);  // no comment
  return file;
}

constexpr std::string_view kSuffix = ".npy";

StatusOr<NamedTensors> ParseNpz(std::span<const uint8_t> file) {
  TCC_ASSIGN_OR_RETURN(std::vector<ZipMember> members, ReadZip(file));
  NamedTensors tensors;
  for (ZipMember& member : members) {
    StatusOr<Tensor> tensor = ParseNpy(member.bytes);
    if (!tensor.ok()) {
      return Annotate(tensor.status(), fmt::format("member '{}'", Printable(member.name)));
    }
    std::string name = std::move(member.name);
    if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
    tensors.emplace_back(std::move(name), *std::move(tensor));
  }
  return tensors;
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
  StatusOr<NamedTensors> tensors = ParseNpz(file.bytes);
  if (!tensors.ok()) return Annotate(tensors.status(), path);
  return tensors;
}

Status WriteNpz(const NamedTensors& tensors, const std::string& path) {
  std::vector<ZipMember> members;
  for (const auto& [name, tensor] : tensors) {
    StatusOr<std::vector<uint8_t>> bytes = NpyBytes(tensor);
    if (!bytes.ok()) return Annotate(bytes.status(), fmt::format("'{}'", name));
    members.push_back({name + std::string(kSuffix), *std::move(bytes)});
  }
  StatusOr<std::vector<uint8_t>> file = ZipBytes(members);
  if (!file.ok()) return Annotate(file.status(), path);
  std::span<const uint8_t> piece(*file);
  return WriteFileAtomically(path, {&piece, 1});
}

}  // namespace tcc
