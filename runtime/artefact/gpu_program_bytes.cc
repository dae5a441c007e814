#include "runtime/artefact/bytes.h"
#include "runtime/artefact/gpu_program.h"

namespace tcc {
namespace {

// The smallest encodings, which bound how many items a list can have.
constexpr size_t kMinExprBytes = 4;
constexpr size_t kMinTextBytes = 4;
constexpr size_t kMinImageBytes = 8;
constexpr size_t kArgumentBytes = 5;
constexpr size_t kMinMapBytes = kArgumentBytes + kMinExprBytes + 1 + 3 * 4 + 1;
constexpr size_t kMinLaunchBytes = kMinTextBytes + 4 + 3 * (kMinExprBytes + 4) + 16 + 1 + 2 * 4;
constexpr size_t kMinKernelBytes = 16;

void WriteBlob(ByteWriter& writer, const std::vector<uint8_t>& bytes) {
  writer.Count(bytes.size());
  writer.Raw(bytes);
}

std::vector<uint8_t> ReadBlob(ByteReader& reader) {
  std::span<const uint8_t> raw = reader.Raw(reader.Count(1));
  return {raw.begin(), raw.end()};
}

// An enumerator up to `last`.
template <typename Enum>
Enum ReadEnum(ByteReader& reader, Enum last, const char* what) {
  uint8_t value = reader.U8();
  if (value <= static_cast<uint8_t>(last)) return static_cast<Enum>(value);
  reader.Fail(InvalidInput("kernels section has unknown {} {}", what, value));
  return last;
}

void Write(ByteWriter& writer, const GpuArgument& argument) {
  writer.U8(static_cast<uint8_t>(argument.kind));
  writer.U32(argument.index);
}

GpuArgument ReadArgument(ByteReader& reader) {
  auto kind = ReadEnum(reader, GpuArgument::Kind::kTensorMap, "kind of argument");
  return {kind, reader.U32()};
}

void Write(ByteWriter& writer, const std::vector<SizeExpr>& exprs) {
  writer.Count(exprs.size());
  for (const SizeExpr& expr : exprs) Write(writer, expr);
}

std::vector<SizeExpr> ReadSizeExprs(ByteReader& reader) {
  std::vector<SizeExpr> exprs;
  size_t count = reader.Count(kMinExprBytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) exprs.push_back(ReadSizeExpr(reader));
  return exprs;
}

void Write(ByteWriter& writer, const GpuTensorMap& map) {
  Write(writer, map.array);
  Write(writer, map.byte_offset);
  writer.U8(static_cast<uint8_t>(map.type));
  Write(writer, map.extents);
  Write(writer, map.byte_strides);
  writer.Count(map.box.size());
  for (uint32_t elements : map.box) writer.U32(elements);
  writer.U8(static_cast<uint8_t>(map.swizzle));
}

GpuTensorMap ReadMap(ByteReader& reader) {
  GpuTensorMap map;
  map.array = ReadArgument(reader);
  map.byte_offset = ReadSizeExpr(reader);
  map.type = ReadEnum(reader, GpuMapType::kTf32, "type of a tensor map");
  map.extents = ReadSizeExprs(reader);
  map.byte_strides = ReadSizeExprs(reader);
  size_t rank = reader.Count(sizeof(uint32_t));
  for (size_t i = 0; i < rank && reader.ok(); ++i) map.box.push_back(reader.U32());
  map.swizzle = ReadEnum(reader, GpuSwizzle::k128Bytes, "swizzle of a tensor map");
  return map;
}

void Write(ByteWriter& writer, const GpuLaunch& launch) {
  writer.Text(launch.symbol);
  writer.U32(launch.image);
  for (const SizeExpr& blocks : launch.grid) Write(writer, blocks);
  for (uint32_t threads : launch.block) writer.U32(threads);
  writer.I64(launch.static_shared_bytes);
  writer.I64(launch.dynamic_shared_bytes);
  writer.U8(launch.waits ? 1 : 0);
  writer.Count(launch.arguments.size());
  for (const GpuArgument& argument : launch.arguments) Write(writer, argument);
  writer.Count(launch.maps.size());
  for (const GpuTensorMap& map : launch.maps) Write(writer, map);
}

GpuLaunch ReadLaunch(ByteReader& reader) {
  GpuLaunch launch;
  launch.symbol = reader.Text();
  launch.image = reader.U32();
  for (SizeExpr& blocks : launch.grid) blocks = ReadSizeExpr(reader);
  for (uint32_t& threads : launch.block) threads = reader.U32();
  launch.static_shared_bytes = reader.I64();
  launch.dynamic_shared_bytes = reader.I64();
  launch.waits = ReadEnum(reader, uint8_t{1}, "kind of launch") != 0;
  size_t arguments = reader.Count(kArgumentBytes);
  for (size_t i = 0; i < arguments && reader.ok(); ++i)
    launch.arguments.push_back(ReadArgument(reader));
  size_t maps = reader.Count(kMinMapBytes);
  for (size_t i = 0; i < maps && reader.ok(); ++i) launch.maps.push_back(ReadMap(reader));
  return launch;
}

GpuKernel ReadKernel(ByteReader& reader) {
  GpuKernel kernel;
  kernel.buffers = reader.U32();
  kernel.shapes = reader.U32();
  size_t launches = reader.Count(kMinLaunchBytes);
  for (size_t i = 0; i < launches && reader.ok(); ++i)
    kernel.launches.push_back(ReadLaunch(reader));
  kernel.workspace_bytes = ReadSizeExprs(reader);
  return kernel;
}

}  // namespace

std::vector<uint8_t> GpuProgramBytes(const GpuProgram& program) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(program.sm));
  writer.U8(static_cast<uint8_t>(program.code));
  writer.Count(program.images.size());
  for (const GpuImage& image : program.images) {
    WriteBlob(writer, image.code);
    WriteBlob(writer, image.ptx);
  }
  writer.Count(program.kernels.size());
  for (const GpuKernel& kernel : program.kernels) {
    writer.U32(kernel.buffers);
    writer.U32(kernel.shapes);
    writer.Count(kernel.launches.size());
    for (const GpuLaunch& launch : kernel.launches) Write(writer, launch);
    Write(writer, kernel.workspace_bytes);
  }
  return writer.Take();
}

StatusOr<GpuProgram> ParseGpuProgram(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes, "kernels section");
  GpuProgram program;
  program.sm = static_cast<int>(reader.U32());
  program.code = ReadEnum(reader, GpuCode::kOpenClText, "kind of code");
  size_t images = reader.Count(kMinImageBytes);
  for (size_t i = 0; i < images && reader.ok(); ++i) {
    GpuImage& image = program.images.emplace_back();
    image.code = ReadBlob(reader);
    image.ptx = ReadBlob(reader);
  }
  size_t kernels = reader.Count(kMinKernelBytes);
  for (size_t i = 0; i < kernels && reader.ok(); ++i) program.kernels.push_back(ReadKernel(reader));
  TCC_RETURN_IF_ERROR(reader.Finish());
  return program;
}

}  // namespace tcc
