#include "runtime/artefact/metadata.h"

#include <algorithm>
#include <bit>

namespace tcc {
namespace {

// The smallest encodings, which bound how many items a list can have.
constexpr size_t kMinTextBytes = 4;
constexpr size_t kMinVariableBytes = kMinTextBytes + 24;
constexpr size_t kMinTensorBytes = kMinTextBytes + 5;
constexpr size_t kMinKernelBytes = kMinTextBytes + 24;
constexpr size_t kMinExprBytes = 4;

void WriteTensors(ByteWriter& writer, const std::vector<TensorInfo>& tensors) {
  writer.Count(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    writer.Text(tensor.name);
    writer.U8(static_cast<uint8_t>(tensor.dtype.code()));
    writer.Count(tensor.shape.size());
    for (const SizeExpr& dim : tensor.shape) Write(writer, dim);
  }
}

void WriteTexts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.Count(texts.size());
  for (const std::string& text : texts) writer.Text(text);
}

TensorInfo ReadTensor(ByteReader& reader) {
  TensorInfo tensor;
  tensor.name = reader.Text();
  uint8_t code = reader.U8();
  if (code > static_cast<uint8_t>(DTypeCode::kUInt2) ||
      code == static_cast<uint8_t>(DTypeCode::kTFloat32)) {
    reader.Fail(InvalidInput("metadata: '{}' has unknown element type {}", tensor.name, code));
    return tensor;
  }
  tensor.dtype = DType(static_cast<DTypeCode>(code));
  size_t rank = reader.Count(kMinExprBytes);
  for (size_t i = 0; i < rank && reader.ok(); ++i) tensor.shape.push_back(ReadSizeExpr(reader));
  return tensor;
}

ShapeVariable ReadVariable(ByteReader& reader) {
  ShapeVariable variable;
  variable.name = reader.Text();
  variable.low = reader.I64();
  variable.high = reader.I64();
  variable.usual = reader.I64();
  return variable;
}

std::vector<std::string> ReadTexts(ByteReader& reader) {
  std::vector<std::string> texts;
  size_t count = reader.Count(kMinTextBytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) texts.push_back(reader.Text());
  return texts;
}

KernelInfo ReadKernel(ByteReader& reader) {
  KernelInfo kernel;
  kernel.name = reader.Text();
  kernel.nodes = ReadTexts(reader);
  kernel.flops = reader.I64();
  size_t sizes = reader.Count(16);
  for (size_t i = 0; i < sizes && reader.ok(); ++i) {
    int64_t low = reader.I64();
    kernel.shape_args.push_back({low, reader.I64()});
  }
  size_t statistics = reader.Count(kMinTextBytes + 8);
  for (size_t i = 0; i < statistics && reader.ok(); ++i) {
    std::string key = reader.Text();
    kernel.statistics.emplace_back(std::move(key), reader.I64());
  }
  size_t ratios = reader.Count(kMinTextBytes + 8);
  for (size_t i = 0; i < ratios && reader.ok(); ++i) {
    std::string key = reader.Text();
    kernel.ratios.emplace_back(std::move(key), std::bit_cast<double>(reader.I64()));
  }
  return kernel;
}

template <typename Item>
std::vector<Item> ReadList(ByteReader& reader, size_t item_bytes, Item (*read)(ByteReader&)) {
  std::vector<Item> items;
  size_t count = reader.Count(item_bytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) items.push_back(read(reader));
  return items;
}

void ReadSizes(ByteReader& reader, Metadata& metadata) {
  const size_t variables = metadata.shape_variables.size();
  metadata.sizes.resize(reader.Count(std::max<size_t>(8 * variables, 1)));
  if (metadata.sizes.empty()) reader.Fail(InvalidInput("metadata has an empty list of sizes"));
  for (std::vector<int64_t>& size : metadata.sizes) {
    for (size_t i = 0; i < variables; ++i) size.push_back(reader.I64());
  }
}

}  // namespace

std::vector<uint8_t> MetadataBytes(const Metadata& metadata) {
  ByteWriter writer;
  writer.Text(metadata.model);
  writer.Count(metadata.shape_variables.size());
  for (const ShapeVariable& variable : metadata.shape_variables) {
    writer.Text(variable.name);
    writer.I64(variable.low);
    writer.I64(variable.high);
    writer.I64(variable.usual);
  }
  WriteTensors(writer, metadata.inputs);
  WriteTensors(writer, metadata.outputs);
  writer.Count(metadata.kernels.size());
  for (const KernelInfo& kernel : metadata.kernels) {
    writer.Text(kernel.name);
    WriteTexts(writer, kernel.nodes);
    writer.I64(kernel.flops);
    writer.Count(kernel.shape_args.size());
    for (const SizeRange& range : kernel.shape_args) {
      writer.I64(range.low);
      writer.I64(range.high);
    }
    writer.Count(kernel.statistics.size());
    for (const auto& [key, value] : kernel.statistics) {
      writer.Text(key);
      writer.I64(value);
    }
    writer.Count(kernel.ratios.size());
    for (const auto& [key, value] : kernel.ratios) {
      writer.Text(key);
      writer.I64(std::bit_cast<int64_t>(value));
    }
  }
  WriteTexts(writer, metadata.cpu_features);
  writer.Count(metadata.properties.size());
  for (const auto& [key, value] : metadata.properties) {
    writer.Text(key);
    writer.Text(value);
  }
  // Most models have no list, and their bytes end here.
  if (metadata.sizes.empty()) return writer.Take();
  writer.Count(metadata.sizes.size());
  for (const std::vector<int64_t>& size : metadata.sizes) {
    for (int64_t value : size) writer.I64(value);
  }
  return writer.Take();
}

StatusOr<Metadata> ParseMetadata(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes, "metadata section");
  Metadata metadata;
  metadata.model = reader.Text();
  metadata.shape_variables = ReadList(reader, kMinVariableBytes, ReadVariable);
  metadata.inputs = ReadList(reader, kMinTensorBytes, ReadTensor);
  metadata.outputs = ReadList(reader, kMinTensorBytes, ReadTensor);
  metadata.kernels = ReadList(reader, kMinKernelBytes, ReadKernel);
  metadata.cpu_features = ReadTexts(reader);
  size_t properties = reader.Count(2 * kMinTextBytes);
  for (size_t i = 0; i < properties && reader.ok(); ++i) {
    std::string key = reader.Text();
    metadata.properties.emplace_back(std::move(key), reader.Text());
  }
  if (reader.ok() && reader.position() < bytes.size()) ReadSizes(reader, metadata);
  TCC_RETURN_IF_ERROR(reader.Finish());
  return metadata;
}

}  // namespace tcc
