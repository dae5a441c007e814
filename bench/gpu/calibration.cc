#include "bench/gpu/calibration.h"

#include <algorithm>

#include "bench/gpu/mma_peaks.h"
#include "codegen_cuda/nvrtc/cuda_programs.h"
#include "codegen_cuda/text/prelude.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_program.h"
#include "runtime/cuda/cuda_timing.h"
#include "support/environment.h"
#include "support/random.h"

namespace tcc {
namespace {

// The text of the kernels. Eight chains of dependent multiply-adds per thread and four blocks of
// 256 threads per multiprocessor are more than the latency of four cycles times four schedulers
// asks for. A copying thread has four loads of 16 bytes in flight.
constexpr char kKernels[] = R"(
TCC_KERNEL(bench_fma, 256)(TCC_OUTPUT(float, y), TCC_SHAPE(steps)) {
  const float factor = 0.999f + 1e-6f * (float)tcc_thread_x();
  const float term = 1e-3f;
  float a = factor, b = factor + 1, c = factor + 2, d = factor + 3;
  float e = factor + 4, f = factor + 5, g = factor + 6, h = factor + 7;
#pragma unroll 1
  for (int step = 0; step < (int)steps; ++step) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      a = a * factor + term;
      b = b * factor + term;
      c = c * factor + term;
      d = d * factor + term;
      e = e * factor + term;
      f = f * factor + term;
      g = g * factor + term;
      h = h * factor + term;
    }
  }
  y[tcc_block_x() * 256 + tcc_thread_x()] = a + b + c + d + e + f + g + h;
}
TCC_END_KERNEL(bench_fma)

TCC_KERNEL(bench_copy, 256)(TCC_INPUT(float, x), TCC_OUTPUT(float, y)) {
  const long long first = ((long long)tcc_block_x() * 1024 + tcc_thread_x()) * 4;
  TccVector<float, 4> a = tcc_load_vector<4>(x, first);
  TccVector<float, 4> b = tcc_load_vector<4>(x, first + 1024);
  TccVector<float, 4> c = tcc_load_vector<4>(x, first + 2048);
  TccVector<float, 4> d = tcc_load_vector<4>(x, first + 3072);
  tcc_store_vector(y, first, a);
  tcc_store_vector(y, first + 1024, b);
  tcc_store_vector(y, first + 2048, c);
  tcc_store_vector(y, first + 3072, d);
}
TCC_END_KERNEL(bench_copy)

TCC_KERNEL(bench_nothing, 32)(TCC_OUTPUT(float, y), TCC_SHAPE(never)) {
  if (never != 0) y[0] = 0;
}
TCC_END_KERNEL(bench_nothing)
)";

constexpr int64_t kChains = 8, kUnroll = 16;
constexpr int64_t kBlocksOfMultiprocessor = 4, kThreads = 256;
constexpr int64_t kCopiedByBlock = 1024 * 16;
constexpr int64_t kWarpsOfBlock = kThreads / Target::kWarp;

using Kind = GpuArgument::Kind;

// The positions of the kernels in the program, those of tensor cores last. The grid is the last
// shape argument.
enum CalibrationKernel : size_t { kFma, kCopy, kNothing, kFirstMma };

std::vector<GpuKernel> Kernels(const Target& target) {
  GpuLaunch fma{.symbol = "bench_fma",
                .grid = {SizeExpr::Variable(1), 1, 1},
                .block = {kThreads, 1, 1},
                .arguments = {{Kind::kBuffer, 0}, {Kind::kShape, 0}}};
  GpuLaunch copy{.symbol = "bench_copy",
                 .grid = {SizeExpr::Variable(0), 1, 1},
                 .block = {kThreads, 1, 1},
                 .arguments = {{Kind::kBuffer, 0}, {Kind::kBuffer, 1}}};
  GpuLaunch nothing{.symbol = "bench_nothing",
                    .block = {32, 1, 1},
                    .arguments = {{Kind::kBuffer, 0}, {Kind::kShape, 0}}};
  std::vector<GpuKernel> kernels = {{.buffers = 1, .shapes = 2, .launches = {fma}},
                                    {.buffers = 2, .shapes = 1, .launches = {copy}},
                                    {.buffers = 1, .shapes = 1, .launches = {nothing}}};
  for (const MmaPeakKernel& peak : MmaPeakKernels(target)) {
    GpuLaunch mma = fma;
    mma.symbol = peak.symbol;
    kernels.push_back({.buffers = 1, .shapes = 2, .launches = {mma}});
  }
  return kernels;
}

StatusOr<Module> LoadCalibration(const CalibrationOptions& options) {
  TCC_ASSIGN_OR_RETURN(GpuProgram program, CalibrationProgram(options));
  Artefact artefact;
  artefact.target = options.target.name;
  artefact.device = "cuda";
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  for (const GpuKernel& kernel : program.kernels) {
    artefact.metadata.kernels.push_back({kernel.launches[0].symbol, {}, 0});
  }
  return Module::FromArtefact(std::move(artefact));
}

// Returns random bytes: memory must not look faster than it is, as with equal bytes.
std::vector<uint8_t> Noise(int64_t bytes) {
  std::vector<uint8_t> noise(static_cast<size_t>(bytes));
  Random random(1);
  for (size_t i = 0; i + 8 <= noise.size(); i += 8) {
    uint64_t word = random.Next();
    std::copy_n(reinterpret_cast<const uint8_t*>(&word), 8, noise.begin() + static_cast<long>(i));
  }
  return noise;
}

class Calibrator {
 public:
  Calibrator(const Module& module, const CudaDeviceInfo& device, bool quick)
      : module_(module), device_(device), quick_(quick) {
    if (quick_) timing_ = {.launches = 2, .graph_seconds = 0, .replays = 1, .blocks = 1};
  }

  StatusOr<double> FmaGflops() {
    return GflopsOf(kFma, 4096, 2.0 * kChains * kUnroll * static_cast<double>(kThreads));
  }

  StatusOr<double> MmaGflops(size_t number, const MmaPeakKernel& peak) {
    return GflopsOf(kFirstMma + number, 1024,
                    peak.flops_of_step * static_cast<double>(kWarpsOfBlock));
  }

  StatusOr<double> CopyGbytes(int64_t bytes) {
    bytes = std::max(bytes / kCopiedByBlock, int64_t{1}) * kCopiedByBlock;
    std::vector<uint8_t> x = Noise(bytes), y(x.size());
    TCC_ASSIGN_OR_RETURN(double seconds, Time(kCopy, {x, y}, {bytes / kCopiedByBlock}));
    return 2 * static_cast<double>(bytes) / seconds * 1e-9;
  }

  StatusOr<double> LaunchMicroseconds() {
    std::vector<uint8_t> y(16);
    TCC_ASSIGN_OR_RETURN(double seconds, Time(kNothing, {y}, {0}));
    return seconds * 1e6;
  }

  int64_t MemoryBytes() const { return quick_ ? kCopiedByBlock : 8 * device_.l2_bytes; }
  int64_t L2Bytes() const { return quick_ ? kCopiedByBlock : device_.l2_bytes / 4; }

 private:
  // Measures a kernel that works in registers; `operations_of_step` is for one block. `steps` steps
  // take about a millisecond.
  StatusOr<double> GflopsOf(size_t kernel, int64_t steps, double operations_of_step) {
    int64_t blocks = quick_ ? 1 : device_.multiprocessors * kBlocksOfMultiprocessor;
    if (quick_) steps = 2;
    std::vector<uint8_t> y(static_cast<size_t>(blocks * kThreads * 4));
    TCC_ASSIGN_OR_RETURN(double seconds, Time(kernel, {y}, {steps, blocks}));
    return operations_of_step * static_cast<double>(steps * blocks) / seconds * 1e-9;
  }

  StatusOr<double> Time(size_t kernel, const std::vector<std::span<const uint8_t>>& buffers,
                        const std::vector<int64_t>& shapes) {
    TCC_ASSIGN_OR_RETURN(
        CudaTime time, TimeCudaKernel(module_, kernel, buffers, shapes, CudaCache::kWarm, timing_));
    return time.min_seconds;
  }

  const Module& module_;
  const CudaDeviceInfo& device_;
  bool quick_;
  CudaTimingOptions timing_;
};

}  // namespace

StatusOr<GpuProgram> CalibrationProgram(const CalibrationOptions& options) {
  GpuProgram program{.sm = options.target.sm,
                     .code = options.code,
                     .images = {},
                     .kernels = Kernels(options.target)};
  std::string text = std::string(CudaPrelude()) + kKernels + MmaPeakText(options.target);
  if (options.code == GpuCode::kCudaText) {
    program.images = {{.code = {text.begin(), text.end()}}};
    return program;
  }
  CudaPrograms programs(options.target, {.cache_folder = CacheFolder()});
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<const Cubin> cubin, programs.Compile(text));
  GpuImage image{.code = cubin->image};
  if (!HasSuffix(options.target.name)) image.ptx.assign(cubin->ptx.begin(), cubin->ptx.end());
  program.images = {std::move(image)};
  return program;
}

double GpuCeiling::GflopsOf(NumericMode mode) const {
  if (mode == NumericMode::kStrict) return fma_gflops;
  MmaOfMode mma = MmaOf(mode);
  for (const auto& [type, gflops] : mma_gflops) {
    if (type == mma.type) return gflops / mma.products;
  }
  return 0;
}

StatusOr<CudaDeviceInfo> ChosenGpu() {
  TCC_ASSIGN_OR_RETURN(CudaDriver driver, OpenCudaDriver());
  TCC_ASSIGN_OR_RETURN(int ordinal, ChosenCudaOrdinal());
  return FindCudaDevice(driver, ordinal);
}

StatusOr<GpuCeiling> CalibrateGpu(const CalibrationOptions& options) {
  TCC_ASSIGN_OR_RETURN(CudaDeviceInfo device, ChosenGpu());
  TCC_ASSIGN_OR_RETURN(Module module, LoadCalibration(options));
  Calibrator calibrator(module, device, options.quick);
  GpuCeiling ceiling;
  TCC_ASSIGN_OR_RETURN(ceiling.fma_gflops, calibrator.FmaGflops());
  TCC_ASSIGN_OR_RETURN(ceiling.copy_gbytes, calibrator.CopyGbytes(calibrator.MemoryBytes()));
  TCC_ASSIGN_OR_RETURN(ceiling.l2_gbytes, calibrator.CopyGbytes(calibrator.L2Bytes()));
  TCC_ASSIGN_OR_RETURN(ceiling.launch_us, calibrator.LaunchMicroseconds());
  std::vector<MmaPeakKernel> peaks = MmaPeakKernels(options.target);
  for (size_t i = 0; i < peaks.size(); ++i) {
    if (std::ranges::count(options.mma_types, peaks[i].type) == 0) continue;
    TCC_ASSIGN_OR_RETURN(double gflops, calibrator.MmaGflops(i, peaks[i]));
    ceiling.mma_gflops.emplace_back(peaks[i].type, gflops);
  }
  return ceiling;
}

}  // namespace tcc
