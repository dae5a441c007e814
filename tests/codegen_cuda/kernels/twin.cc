#include "tests/codegen_cuda/kernels/twin.h"

#include <cmath>
#include <cstring>
#include <map>

#include "codegen_cuda/emulator/emulator.h"
#include "codegen_cuda/text/prelude.h"
#include "runtime/cuda/cuda_program.h"
#include "support/check.h"

namespace tcc::test {
namespace {

bool IsExpected(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == expected) return true;
  return std::isfinite(expected) && std::fabs(got - expected) <= tolerance * std::fabs(expected);
}

// Returns "row 3, column 2", or "element 3".
std::string Place(const Tensor& tensor, int64_t index) {
  if (tensor.shape.size() < 2) return fmt::format("element {}", index);
  return fmt::format("row {}, column {}", index / tensor.shape.back(), index % tensor.shape.back());
}

}  // namespace

GpuKernel OneLaunch(const std::string& symbol, std::array<int64_t, 2> grid,
                    std::array<uint32_t, 2> block, uint32_t buffers, int64_t dynamic_shared_bytes) {
  GpuLaunch launch = {.symbol = symbol,
                      .grid = {grid[0], grid[1], 1},
                      .block = {block[0], block[1], 1},
                      .dynamic_shared_bytes = dynamic_shared_bytes};
  for (uint32_t i = 0; i < buffers; ++i) {
    launch.arguments.push_back({GpuArgument::Kind::kBuffer, i});
  }
  return {.buffers = buffers, .launches = {launch}};
}

bool HasInstructions(const Target& target, const Twin& twin) {
  if (HasSuffix(twin.target)) return target.name == twin.target;
  return target.sm >= FindTarget(twin.target).value().sm;
}

void ShareTexts(std::vector<Twin>& twins) {
  std::map<std::string, std::string> texts;
  for (const Twin& twin : twins) {
    std::string& text = texts.try_emplace(twin.target, CudaPrelude()).first->second;
    std::string_view kernels = std::string_view(twin.text).substr(CudaPrelude().size());
    // Some share one already.
    if (text.find(kernels) == std::string::npos) text += kernels;
  }
  for (Twin& twin : twins) twin.text = texts.at(twin.target);
}

StatusOr<Tensor> RunOnEmulator(const Twin& twin) {
  TCC_CHECK(twin.kernel.launches.size() == 1) << twin.name;
  TCC_ASSIGN_OR_RETURN(auto shared, emulator::CompiledProgram(twin.text));
  emulator::DeviceMemory memory;
  std::vector<void*> buffers;
  auto allocate = [&](const Tensor& tensor) -> Status {
    TCC_ASSIGN_OR_RETURN(buffers.emplace_back(), memory.Allocate(std::ssize(tensor.bytes)));
    return OkStatus();
  };
  for (const Tensor& operand : twin.operands) {
    TCC_RETURN_IF_ERROR(allocate(operand));
    memcpy(buffers.back(), operand.bytes.data(), operand.bytes.size());
  }
  TCC_RETURN_IF_ERROR(allocate(twin.expected));
  const GpuLaunch& launch = twin.kernel.launches[0];
  auto blocks = [&](int axis) {
    return static_cast<uint32_t>(launch.grid[axis].AsConstant().value());
  };
  emulator::LaunchOptions options = {.kernel = launch.symbol,
                                     .grid = {blocks(0), blocks(1), blocks(2)},
                                     .block = {launch.block[0], launch.block[1], launch.block[2]},
                                     .dynamic_shared_bytes = launch.dynamic_shared_bytes};
  for (void*& buffer : buffers) options.arguments.push_back(static_cast<const void*>(&buffer));
  TCC_RETURN_IF_ERROR(emulator::Launch(*shared->program, memory, options));
  Tensor result = MakeZeroTensor(twin.expected.dtype, twin.expected.shape);
  memcpy(MutableBytes(result).data(), buffers.back(), result.bytes.size());
  return result;
}

std::string Difference(const Twin& twin, const Tensor& got) {
  const Tensor& expected = twin.expected;
  const int64_t count = ElementCount(expected.shape).value();
  std::string first;
  int64_t differ = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = ElementAsDouble(got, i), right = ElementAsDouble(expected, i);
    if (IsExpected(value, right, twin.tolerance)) continue;
    if (differ++ == 0) {
      first = fmt::format("{}: got {}, expected {}", Place(expected, i), value, right);
    }
  }
  return differ == 0 ? "" : fmt::format("{}, and {} of {} differ", first, differ, count);
}

Tensor Integers(DType dtype, std::vector<int64_t> shape, Random& random) {
  Tensor tensor = MakeZeroTensor(dtype, std::move(shape));
  const int64_t count = ElementCount(tensor.shape).value();
  for (int64_t i = 0; i < count; ++i) SetElementInt(tensor, i, random.Between(-8, 8));
  return tensor;
}

Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  Tensor tensor = MakeZeroTensor(kFloat32, std::move(shape));
  TCC_CHECK(tensor.bytes.size() == values.size() * sizeof(float)) << values.size() << " values";
  memcpy(MutableBytes(tensor).data(), values.data(), tensor.bytes.size());
  return tensor;
}

}  // namespace tcc::test
