#include "support/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "support/file.h"
#include "support/npy_header.h"

namespace tcc {
namespace {

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
      std::any_of(parts.elements.begin(), parts.elements.end(), [](uint8_t b) { return b > 1; })) {
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
