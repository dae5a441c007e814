#include "runtime/opencl/opencl_program.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/opencl/opencl_build.h"

namespace tcc {
namespace {

std::string DescribeBlock(const auto& block) {
  return fmt::format("{} x {} x {}", block[0], block[1], block[2]);
}

int64_t ThreadsOf(const GpuLaunch& launch) {
  const auto& [x, y, z] = launch.block;
  return int64_t{x} * y * z;
}

// Buffers are a handle and an offset (opencl_queue.cc).
uint32_t CountArguments(const GpuLaunch& launch) {
  uint32_t count = 0;
  for (const GpuArgument& argument : launch.arguments) {
    count += argument.kind == GpuArgument::Kind::kShape ? 1 : 2;
  }
  return count;
}

// Compares what the program says of a launch with the device.
Status CheckDevice(const GpuLaunch& launch, const OpenClDeviceInfo& device) {
  const int64_t threads = ThreadsOf(launch);
  if (threads > device.max_threads) {
    return Missing("a block has {} threads; {} allows {}", threads, Describe(device),
                   device.max_threads);
  }
  for (size_t i = 0; i < launch.block.size(); ++i) {
    if (int64_t{launch.block[i]} <= device.max_threads_along[i]) continue;
    return Missing("a block has {} threads; {} allows {}", DescribeBlock(launch.block),
                   Describe(device), DescribeBlock(device.max_threads_along));
  }
  const int64_t bytes = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  if (bytes > device.local_bytes) {
    return Missing("a block needs {} bytes of local memory; {} has {}", bytes, Describe(device),
                   device.local_bytes);
  }
  const int64_t argument_bytes = int64_t{8} * CountArguments(launch);
  if (argument_bytes <= device.argument_bytes) return OkStatus();
  return Missing("its arguments take {} bytes; {} allows {}", argument_bytes, Describe(device),
                 device.argument_bytes);
}

// Compares a launch with what the driver has made of its kernel.
Status CheckBuilt(const OpenClContext& context, OpenClKernelHandle kernel, const GpuLaunch& launch,
                  std::string_view what) {
  const OpenClDriver& driver = context.driver();
  const OpenClDeviceHandle device = context.device().handle;
  uint32_t arguments = 0;
  TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver, what, clGetKernelInfo, kernel, kOpenClArgumentCount,
                                      sizeof(arguments), &arguments, nullptr));
  if (arguments != CountArguments(launch)) {
    return InvalidInput("{}: its text has {} arguments; its launch passes {}", what, arguments,
                        CountArguments(launch));
  }
  std::array<size_t, 3> required{};
  TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver, what, clGetKernelWorkGroupInfo, kernel, device,
                                      kOpenClKernelBlock, sizeof(required), &required, nullptr));
  if (required[0] != 0 && !std::ranges::equal(required, launch.block)) {
    return InvalidInput("{}: its text is for blocks of {} threads; its launch has {}", what,
                        DescribeBlock(required), DescribeBlock(launch.block));
  }
  size_t most = 0;
  TCC_RETURN_IF_ERROR(TCC_OPENCL_CALL(driver, what, clGetKernelWorkGroupInfo, kernel, device,
                                      kOpenClKernelMaxThreads, sizeof(most), &most, nullptr));
  if (static_cast<uint64_t>(ThreadsOf(launch)) <= most) return OkStatus();
  return Missing("{}: a block has {} threads; {} runs this kernel with at most {}", what,
                 ThreadsOf(launch), Describe(context.device()), most);
}

std::string Named(const GpuLaunch& launch) {
  return fmt::format("kernel '{}'", launch.symbol);
}

}  // namespace

StatusOr<std::shared_ptr<const OpenClProgram>> OpenClProgram::Load(
    std::shared_ptr<OpenClMemory> memory, const Artefact& artefact,
    const std::string& cache_folder) {
  std::shared_ptr<OpenClProgram> program(new OpenClProgram);
  TCC_ASSIGN_OR_RETURN(program->program_, ParseGpuProgram(artefact.kernels.bytes));
  TCC_RETURN_IF_ERROR(VerifyGpuProgram(program->program_, artefact.metadata));
  if (program->program_.code != GpuCode::kOpenClText) {
    return InvalidInput("kernels section has code of kind {}; expected OpenCL C, {}",
                        static_cast<int>(program->program_.code),
                        static_cast<int>(GpuCode::kOpenClText));
  }
  for (const GpuKernel& kernel : program->program_.kernels) {
    for (const GpuLaunch& launch : kernel.launches) {
      TCC_RETURN_IF_ERROR(
          Annotate(CheckDevice(launch, memory->context()->device()), Named(launch)));
    }
  }
  program->memory_ = std::move(memory);
  TCC_RETURN_IF_ERROR(program->BuildImages(cache_folder));
  TCC_RETURN_IF_ERROR(program->CheckKernels());
  const std::span<const uint8_t> weights = artefact.weights.bytes;
  TCC_ASSIGN_OR_RETURN(program->weights_,
                       OpenClBlock::Allocate(program->memory_, static_cast<int64_t>(weights.size()),
                                             "the weights", weights.data()));
  return program;
}

Status OpenClProgram::BuildImages(const std::string& cache_folder) {
  for (size_t i = 0; i < program_.images.size(); ++i) {
    GpuImage& image = program_.images[i];
    TCC_ASSIGN_OR_RETURN(
        OpenClModule module,
        BuildOpenClText(context(), std::string(image.code.begin(), image.code.end()), cache_folder,
                        fmt::format("building image {} of the kernels", i)));
    modules_.push_back(std::move(module));
    image = {};
  }
  return OkStatus();
}

StatusOr<std::vector<std::vector<OpenClKernel>>> OpenClProgram::MakeKernels() const {
  std::vector<std::vector<OpenClKernel>> all;
  for (const GpuKernel& kernel : program_.kernels) {
    std::vector<OpenClKernel>& made = all.emplace_back();
    for (const GpuLaunch& launch : kernel.launches) {
      TCC_ASSIGN_OR_RETURN(OpenClKernelHandle handle,
                           TCC_OPENCL_MAKE(context()->driver(), Named(launch), clCreateKernel,
                                           modules_[launch.image].get(), launch.symbol.c_str()));
      made.emplace_back(context(), handle);
    }
  }
  return all;
}

Status OpenClProgram::CheckKernels() const {
  TCC_ASSIGN_OR_RETURN(const std::vector<std::vector<OpenClKernel>> made, MakeKernels());
  for (size_t i = 0; i < made.size(); ++i) {
    for (size_t j = 0; j < made[i].size(); ++j) {
      const GpuLaunch& launch = program_.kernels[i].launches[j];
      TCC_RETURN_IF_ERROR(CheckBuilt(*context(), made[i][j].get(), launch, Named(launch)));
    }
  }
  return OkStatus();
}

}  // namespace tcc
