#include "support/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>

#include "support/file.h"
#include "support/printable.h"

namespace tcc {
namespace {

// NumPy arrays have at most 64 axes.
constexpr size_t kMaxNumpyRank = 64;

struct TypeRow {
  std::string_view descr;
  DTypeCode code;
};

constexpr TypeRow kTypes[] = {
    {"|b1", DTypeCode::kBool},
    {"|i1", DTypeCode::kInt8},
    {"<i2", DTypeCode::kInt16},
    {"<i4", DTypeCode::kInt32},
    {"<i8", DTypeCode::kInt64},
    {"|u1", DTypeCode::kUInt8},
    {"<u2", DTypeCode::kUInt16},
    {"<u4", DTypeCode::kUInt32},
    {"<u8", DTypeCode::kUInt64},
    {"<f2", DTypeCode::kFloat16},
    {"<f4", DTypeCode::kFloat32},
    {"<f8", DTypeCode::kFloat64},
    // The raw two-byte type, as which NumPy writes bfloat16 of the package ml_dtypes.
    {"<V2", DTypeCode::kBFloat16},
};

std::string Quoted(std::string_view text) {
  return fmt::format("'{}'{}", Printable(text.substr(0, 40)), text.size() > 40 ? "..." : "");
}

StatusOr<DType> TypeOf(std::string_view descr) {
  for (const TypeRow& row : kTypes) {
    // One-byte and raw types have no byte order: writers choose "|" or "<".
    bool unordered = row.descr[0] == '|' || row.descr[1] == 'V';
    bool same = unordered && (descr.starts_with('<') || descr.starts_with('|')) &&
                descr.substr(1) == row.descr.substr(1);
    if (same || descr == row.descr) return DType(row.code);
  }
  if (descr.starts_with('>')) {
    return InvalidInput("npy: element type {} is big-endian; expected little-endian",
                        Quoted(descr));
  }
  if (descr.starts_with("|O")) return InvalidInput("npy: arrays of Python objects are refused");
  return InvalidInput(
      "npy: element type {}; expected bool, an integer of 8 to 64 bits, f2, f4, f8 or V2 "
      "(bfloat16)",
      Quoted(descr));
}

// A cursor over the dictionary. Each Take either consumes what it names or leaves the cursor in
// place.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool Take(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  std::optional<std::string_view> TakeString() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return std::nullopt;
    size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view inside = rest_.substr(1, end - 1);
    if (inside.find('\\') != std::string_view::npos) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return inside;
  }

  // Takes decimal digits only. Returns nullopt on overflow of int64.
  std::optional<int64_t> TakeNumber() {
    SkipSpace();
    int64_t value = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || rest_[0] == '-') return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }
  std::string_view rest() const { return rest_; }

 private:
  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

Status Unexpected(const Cursor& cursor, std::string_view expected) {
  return InvalidInput("npy: header has {} where {} was expected", Quoted(cursor.rest()), expected);
}

StatusOr<std::vector<int64_t>> TakeShape(Cursor& cursor) {
  if (!cursor.Take("(")) return Unexpected(cursor, "a shape");
  std::vector<int64_t> shape;
  while (!cursor.Take(")")) {
    std::optional<int64_t> dim = cursor.TakeNumber();
    if (!dim) return Unexpected(cursor, "a dimension below 2^63");
    shape.push_back(*dim);
    if (shape.size() > kMaxNumpyRank)
      return InvalidInput("npy: more than {} dimensions", kMaxNumpyRank);
    if (cursor.Take(",")) continue;
    if (shape.size() == 1) return Unexpected(cursor, "a comma");  // (3) is a number in Python
    if (!cursor.Take(")")) return Unexpected(cursor, "')'");
    break;
  }
  return shape;
}

// Parses one value of the dictionary into `header`.
Status TakeValue(Cursor& cursor, std::string_view key, NpyHeader& header) {
  if (key == "descr") {
    std::optional<std::string_view> descr = cursor.TakeString();
    if (!descr) return Unexpected(cursor, "an element type (records are refused)");
    TCC_ASSIGN_OR_RETURN(header.dtype, TypeOf(*descr));
    return OkStatus();
  }
  if (key == "fortran_order") {
    header.fortran_order = cursor.Take("True");
    if (!header.fortran_order && !cursor.Take("False")) return Unexpected(cursor, "True or False");
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(header.shape, TakeShape(cursor));
  return OkStatus();
}

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
// The magic, two bytes of version and two of header length (version 1.0).
constexpr size_t kPrefixBytes = 10;

std::string_view AsText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Parts {
  std::string_view header;
  std::span<const uint8_t> elements;
};

StatusOr<Parts> SplitFile(std::span<const uint8_t> file) {
  if (file.size() < kPrefixBytes || !AsText(file).starts_with(kMagic)) {
    return InvalidInput("npy: not an .npy file");
  }
  int major = file[6], minor = file[7];
  if (major < 1 || major > 3 || minor != 0) {
    return InvalidInput("npy: format version {}.{}; expected 1.0, 2.0 or 3.0", major, minor);
  }
  size_t prefix = major == 1 ? kPrefixBytes : kPrefixBytes + 2;
  if (file.size() < prefix) return InvalidInput("npy: file ends inside its header");
  size_t length = 0;
  for (size_t i = prefix; i-- > 8;) length = length << 8 | file[i];
  if (file.size() - prefix < length) {
    return InvalidInput("npy: header of {} bytes; the file has {} left", length,
                        file.size() - prefix);
  }
  return Parts{AsText(file.subspan(prefix, length)), file.subspan(prefix + length)};
}

// Copies elements whose first axis is contiguous into `to`, whose last axis is.
void CopyFromFortranOrder(std::span<const uint8_t> from, size_t element_bytes, Tensor& to) {
  size_t rank = to.shape.size();
  std::vector<size_t> strides(rank), index(rank, 0);
  size_t stride = element_bytes;
  for (size_t axis = 0; axis < rank; ++axis) {
    strides[axis] = stride;
    stride *= static_cast<size_t>(to.shape[axis]);
  }
  std::span<uint8_t> out = MutableBytes(to);
  size_t source = 0;
  for (size_t at = 0; at < out.size(); at += element_bytes) {
    std::memcpy(out.data() + at, from.data() + source, element_bytes);
    for (size_t axis = rank; axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < static_cast<size_t>(to.shape[axis])) break;
      source -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

StatusOr<NpyHeader> ParseNpyHeader(std::string_view text) {
  constexpr std::string_view kKeys[] = {"descr", "fortran_order", "shape"};
  bool seen[std::size(kKeys)] = {};
  NpyHeader header;
  Cursor cursor(text);
  if (!cursor.Take("{")) return Unexpected(cursor, "'{'");
  while (!cursor.Take("}")) {
    std::optional<std::string_view> key = cursor.TakeString();
    if (!key) return Unexpected(cursor, "a key");
    size_t index = std::find(std::begin(kKeys), std::end(kKeys), *key) - std::begin(kKeys);
    if (index == std::size(kKeys)) return InvalidInput("npy: unknown key {}", Quoted(*key));
    if (seen[index]) return InvalidInput("npy: key '{}' comes twice", kKeys[index]);
    seen[index] = true;
    if (!cursor.Take(":")) return Unexpected(cursor, "':'");
    TCC_RETURN_IF_ERROR(TakeValue(cursor, *key, header));
    if (cursor.Take(",")) continue;
    if (!cursor.Take("}")) return Unexpected(cursor, "'}'");
    break;
  }
  if (!cursor.AtEnd()) return Unexpected(cursor, "the end");
  for (size_t i = 0; i < std::size(kKeys); ++i) {
    if (!seen[i]) return InvalidInput("npy: header has no key '{}'", kKeys[i]);
  }
  return header;
}

std::string NpyHeaderText(std::string_view descr, const std::vector<int64_t>& shape) {
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                     fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::optional<std::string_view> NpyDescr(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (dtype == DType(row.code)) return row.descr;
  }
  return std::nullopt;
}

StatusOr<Tensor> ParseNpy(std::span<const uint8_t> file) {
  TCC_ASSIGN_OR_RETURN(Parts parts, SplitFile(file));
  TCC_ASSIGN_OR_RETURN(NpyHeader header, ParseNpyHeader(parts.header));
  TCC_ASSIGN_OR_RETURN(int64_t bytes, ByteCount(header.dtype, header.shape));
  if (parts.elements.size() != static_cast<size_t>(bytes)) {
    return InvalidInput("npy: {} of shape {} takes {} bytes; the file has {}",
                        ToString(header.dtype), ShapeToString(header.shape), bytes,
                        parts.elements.size());
  }
  if (header.dtype == kBool &&
      std::ranges::any_of(parts.elements, [](uint8_t b) { return b > 1; })) {
    return InvalidInput("npy: a bool is neither 0 nor 1");
  }
  TCC_ASSIGN_OR_RETURN(Tensor tensor,
                       CopyTensor(header.dtype, header.shape, parts.elements, "the array"));
  if (!header.fortran_order) return tensor;
  CopyFromFortranOrder(parts.elements, static_cast<size_t>(header.dtype.bytes()), tensor);
  return tensor;
}

StatusOr<Tensor> ReadNpy(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<Tensor> tensor = ParseNpy(file.bytes);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

StatusOr<std::vector<uint8_t>> NpyBytes(const Tensor& tensor) {
  std::optional<std::string_view> descr = NpyDescr(tensor.dtype);
  if (!descr) return Unsupported("npy: NumPy has no type for {}", ToString(tensor.dtype));
  std::string header = NpyHeaderText(*descr, tensor.shape);
  size_t padded = (kPrefixBytes + header.size() + 1 + 63) / 64 * 64 - kPrefixBytes;
  header.resize(padded - 1, ' ');
  header += '\n';
  std::string file(kMagic);
  file += {1, 0, static_cast<char>(padded & 0xff), static_cast<char>(padded >> 8)};
  file += header;
  std::vector<uint8_t> bytes(file.begin(), file.end());
  bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  return bytes;
}

Status WriteNpy(const Tensor& tensor, const std::string& path) {
  TCC_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, NpyBytes(tensor));
  std::span<const uint8_t> piece(bytes);
  return WriteFileAtomically(path, {&piece, 1});
}

}  // namespace tcc
