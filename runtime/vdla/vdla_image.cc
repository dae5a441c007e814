#include "runtime/vdla/vdla_image.h"

#include "runtime/artefact/bytes.h"
#include "runtime/vdla/vdla_program.h"

namespace tcc {
namespace {

// The first word of an image. Its last byte grows when programs get other bytes.
constexpr uint32_t kImageVersion = 0x56444c02;

}  // namespace

std::vector<uint8_t> VdlaImageBytes(const VdlaImage& image) {
  ByteWriter writer;
  writer.U32(kImageVersion);
  writer.Count(image.programs.size());
  for (const std::optional<VdlaProgram>& program : image.programs) {
    writer.U8(program ? 1 : 0);
    if (program) writer.Bytes(VdlaProgramBytes(*program));
  }
  writer.Bytes(image.host);
  return writer.Take();
}

StatusOr<VdlaImage> ParseVdlaImage(std::span<const uint8_t> bytes, const VdlaConfig& config) {
  ByteReader reader(bytes, "vdla image");
  VdlaImage image;
  const uint32_t version = reader.U32();
  if (reader.ok() && version != kImageVersion) {
    return InvalidInput("vdla image is of version {:#x}; expected {:#x}; compile the model again",
                        version, kImageVersion);
  }
  const size_t kernels = reader.Count(1);
  for (size_t k = 0; k < kernels && reader.ok(); ++k) {
    image.programs.emplace_back();
    const uint8_t has_program = reader.U8();
    if (has_program > 1) {
      return InvalidInput("vdla image: kernel {} is of kind {}; expected 0 or 1", k, has_program);
    }
    if (has_program == 0) continue;
    const std::vector<uint8_t> program = reader.Bytes();
    if (!reader.ok()) break;
    TCC_ASSIGN_OR_RETURN(image.programs.back(), ParseVdlaProgram(program));
    TCC_RETURN_IF_ERROR(Annotate(VerifyVdlaProgram(*image.programs.back(), config),
                                 fmt::format("vdla image: kernel {}", k)));
  }
  image.host = reader.Bytes();
  TCC_RETURN_IF_ERROR(reader.Finish());
  return image;
}

}  // namespace tcc
