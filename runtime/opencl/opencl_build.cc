#include "runtime/opencl/opencl_build.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "support/file.h"
#include "support/sha256.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// The first bytes of a file; they hold the version of the format. The digest of the rest follows.
constexpr std::string_view kMagic = "tcc opencl 1\n";
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(Sha256Digest);

// The most of a compiler's log that a message holds.
constexpr size_t kMaxLogBytes = 4096;

// PoCL 3.1 makes loops that hold a barrier and a condition wrong, down to stores beside buffers,
// unless it leaves the kernel as it is.
constexpr std::string_view kPocl = "Portable Computing Language";

// Returns options that let operations give nothing but OpenCL's own bounds allow.
std::string OptionsFor(const OpenClDeviceInfo& device) {
  std::string options = "-cl-std=CL1.2";
  if (device.platform_name == kPocl) options += " -cl-opt-disable";
  if (device.rounds_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options;
}

std::string PathFor(const std::string& folder, const OpenClDeviceInfo& device,
                    const std::string& options, const std::string& text) {
  std::string key;
  for (const std::string& part :
       {device.platform_name, device.name, device.version, device.driver_version, options}) {
    key += part + '\n';
  }
  return fmt::format("{}/opencl/{}", folder, ToHex(Sha256(key + text)));
}

// Returns the driver's binary in a file; nothing if it is missing or damaged.
std::optional<SharedBytes> ReadBinary(const std::string& path) {
  StatusOr<SharedBytes> file = MapFile(path);
  if (!file.ok() || file->bytes.size() <= kHeaderBytes) return std::nullopt;
  const std::span<const uint8_t> magic = file->bytes.first(kMagic.size());
  const std::span<const uint8_t> digest = file->bytes.subspan(kMagic.size(), sizeof(Sha256Digest));
  const std::span<const uint8_t> content = file->bytes.subspan(kHeaderBytes);
  if (!std::ranges::equal(magic, AsBytes(kMagic))) return std::nullopt;
  if (!std::ranges::equal(digest, Sha256(content))) return std::nullopt;
  return SharedBytes{file->owner, content};
}

// A cache that cannot be written is done without.
void WriteBinary(const std::string& path, std::span<const uint8_t> content) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return;
  const Sha256Digest digest = Sha256(content);
  const std::span<const uint8_t> pieces[] = {AsBytes(kMagic), digest, content};
  WriteFileAtomically(path, pieces).IgnoreError();
}

Status Build(const OpenClContext& context, OpenClProgramHandle program, const std::string& options,
             const std::string& what) {
  return TCC_OPENCL_CALL(context.driver(), what, clBuildProgram, program, 1,
                         &context.device().handle, options.c_str(), nullptr, nullptr);
}

// Returns the compiler's log of a program, as far as it says one.
std::string LogOf(const OpenClContext& context, OpenClProgramHandle program) {
  size_t bytes = 0;
  const OpenClDeviceHandle device = context.device().handle;
  const OpenClDriver& driver = context.driver();
  if (driver.clGetProgramBuildInfo(program, device, kOpenClBuildLog, 0, nullptr, &bytes) !=
      kOpenClSuccess) {
    return "";
  }
  std::string log(bytes, '\0');
  if (driver.clGetProgramBuildInfo(program, device, kOpenClBuildLog, bytes, log.data(), nullptr) !=
      kOpenClSuccess) {
    return "";
  }
  log.resize(std::min({log.find('\0'), log.size(), kMaxLogBytes}));
  while (!log.empty() && log.back() == '\n') log.pop_back();
  return log;
}

// Returns the program of a binary; nothing if the driver refuses it, which a newer one may do
// though its version is the same.
std::optional<OpenClModule> LoadBinary(const std::shared_ptr<const OpenClContext>& context,
                                       std::span<const uint8_t> binary,
                                       const std::string& options) {
  const size_t bytes = binary.size();
  const unsigned char* data = binary.data();
  OpenClResult of_device = kOpenClSuccess, result = kOpenClSuccess;
  OpenClProgramHandle handle = context->driver().clCreateProgramWithBinary(
      context->handle(), 1, &context->device().handle, &bytes, &data, &of_device, &result);
  if (result != kOpenClSuccess) return std::nullopt;
  OpenClModule module(context, handle);
  if (of_device != kOpenClSuccess) return std::nullopt;
  if (!Build(*context, handle, options, "").ok()) return std::nullopt;
  return module;
}

// Returns the driver's binary of a program for the one device of its context; nothing where the
// driver has none.
std::vector<uint8_t> BinaryOf(const OpenClContext& context, OpenClProgramHandle program) {
  const OpenClDriver& driver = context.driver();
  size_t bytes = 0;
  if (driver.clGetProgramInfo(program, kOpenClBinarySizes, sizeof(bytes), &bytes, nullptr) !=
      kOpenClSuccess) {
    return {};
  }
  std::vector<uint8_t> binary(bytes);
  unsigned char* data = binary.data();
  if (binary.empty() ||
      driver.clGetProgramInfo(program, kOpenClBinaries, sizeof(data), static_cast<void*>(&data),
                              nullptr) != kOpenClSuccess) {
    return {};
  }
  return binary;
}

StatusOr<OpenClModule> Compile(const std::shared_ptr<const OpenClContext>& context,
                               const std::string& text, const std::string& options,
                               const std::string& what) {
  const char* data = text.data();
  const size_t bytes = text.size();
  TCC_ASSIGN_OR_RETURN(OpenClProgramHandle handle,
                       TCC_OPENCL_MAKE(context->driver(), what, clCreateProgramWithSource,
                                       context->handle(), 1, &data, &bytes));
  OpenClModule module(context, handle);
  const Status status = Build(*context, handle, options, what);
  if (status.ok()) return module;
  const std::string log = LogOf(*context, handle);
  return log.empty() ? status : WithMessage(status, fmt::format("{}: {}", Message(status), log));
}

}  // namespace

StatusOr<OpenClModule> BuildOpenClText(const std::shared_ptr<const OpenClContext>& context,
                                       const std::string& text, const std::string& cache_folder,
                                       const std::string& what) {
  const std::string options = OptionsFor(context->device());
  if (cache_folder.empty()) return Compile(context, text, options, what);
  const std::string path = PathFor(cache_folder, context->device(), options, text);
  if (std::optional<SharedBytes> binary = ReadBinary(path)) {
    if (auto module = LoadBinary(context, binary->bytes, options)) return *std::move(module);
  }
  TCC_ASSIGN_OR_RETURN(OpenClModule module, Compile(context, text, options, what));
  const std::vector<uint8_t> binary = BinaryOf(*context, module.get());
  if (!binary.empty()) WriteBinary(path, binary);
  return module;
}

}  // namespace tcc
