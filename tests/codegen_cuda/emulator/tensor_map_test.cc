#include "runtime/cuda/tensor_map.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>

#include "codegen_cuda/emulator/driver.h"
#include "codegen_cuda/nvrtc/nvrtc.h"
#include "codegen_cuda/text/prelude.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_pool.h"
#include "tests/codegen_cuda/emulator/cuda_artefacts.h"

// Tensor maps from an artefact to a kernel.
namespace tcc::test {
namespace {

constexpr char kEncode[] = "cuTensorMapEncodeTiled";

Artefact WithMap(const std::function<void(GpuTensorMap&)>& change) {
  Artefact artefact = MapArtefact();
  GpuProgram program = ParseGpuProgram(artefact.kernels.bytes).value();
  change(program.kernels[0].launches[0].maps[0]);
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  return artefact;
}

// Runs on n numbers and returns how often a map was encoded.
int64_t EncodedFor(Executor& executor, int64_t n) {
  Tensor x = Floats({n}, {});
  std::vector<double> expected;
  for (int64_t i = 0; i < n; ++i) {
    SetElement(x, i, static_cast<double>(i + n));
    expected.push_back(2 * static_cast<double>(i + n));
  }
  emulator::RecordDriverCalls();
  const StatusOr<std::vector<double>> got = RunOne(executor, {x});
  INFO(Message(got.status()));
  REQUIRE(got.ok());
  CHECK(*got == expected);
  return std::ranges::count(emulator::RecordedDriverCalls(), kEncode);
}

TEST_CASE("a tensor map is encoded before each launch, and a graph keeps it",
          "[codegen_cuda][tensor_map]") {
  StatusOr<Executor> executor = MakeExecutor(MapArtefact(), 90);
  INFO(Message(executor.status()));
  REQUIRE(executor.ok());
  CHECK(EncodedFor(*executor, 300) == 1);
  CHECK(EncodedFor(*executor, 300) == 1);  // recorded
  CHECK(EncodedFor(*executor, 300) == 0);
  // Another extent, then other memory, both of which drop the graph.
  CHECK(EncodedFor(*executor, 200) == 1);
  CHECK(EncodedFor(*executor, 4096) == 1);
  CHECK(EncodedFor(*executor, 300) == 1);
  CHECK(EncodedFor(*executor, 0) == 0);
}

TEST_CASE("a map of a workspace is encoded for its place", "[codegen_cuda][tensor_map]") {
  Artefact artefact = MapArtefact();
  GpuProgram program = ParseGpuProgram(artefact.kernels.bytes).value();
  GpuKernel& kernel = program.kernels[0];
  // The first workspace fills up the space before the second one, into which x is copied.
  const SizeExpr n = SizeExpr::Variable(0);
  kernel.workspace_bytes = {1024, Combine(SizeOp::kMul, n, 4)};
  GpuLaunch copy{.symbol = "count_up",
                 .grid = kernel.launches[0].grid,
                 .block = {128, 1, 1},
                 .arguments = {{GpuArgument::Kind::kBuffer, 0},
                               {GpuArgument::Kind::kWorkspace, 1},
                               {GpuArgument::Kind::kShape, 0}}};
  kernel.launches.insert(kernel.launches.begin(), copy);
  kernel.launches[1].maps[0].array = {GpuArgument::Kind::kWorkspace, 1};
  artefact.kernels = OwnBytes(GpuProgramBytes(program));
  StatusOr<Executor> executor = MakeExecutor(std::move(artefact), 90);
  REQUIRE(executor.ok());
  CHECK(*RunOne(*executor, {Floats({3}, {10, 20, 30})}) == std::vector<double>{20, 42, 64});
}

TEST_CASE("a map whose sizes turn out wrong is refused by its launch",
          "[codegen_cuda][tensor_map]") {
  auto refusal = [](const std::function<void(GpuTensorMap&)>& change) {
    StatusOr<Executor> executor = MakeExecutor(WithMap(change), 90);
    REQUIRE(executor.ok());
    return Message(RunOne(*executor, {Floats({6}, {})}).status());
  };
  const std::string where = "twice: tensor map 0 of 'twice': ";
  CHECK(refusal([](GpuTensorMap& m) { m.byte_offset = SizeExpr::Variable(0); }) ==
        where + "byte offset 6; expected a multiple of 16 from 0 to 9223372036854775807");
  CHECK(refusal([](GpuTensorMap& m) { m.byte_offset = 16; }) ==
        where + "the elements from byte 16 on do not lie in their array of 24 bytes");
}

using Encode = decltype(CudaDriver::cuTensorMapEncodeTiled);
using Version = decltype(CudaDriver::cuDriverGetVersion);

// Drivers that differ from the emulated one in a call.
template <Encode kCall>
std::shared_ptr<const Device> MakeEncoding(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuTensorMapEncodeTiled = kCall;
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(90));
}
CudaResult LeaveEmpty(CudaTensorMap*, int, unsigned, void*, const std::uint64_t*,
                      const std::uint64_t*, const unsigned*, const unsigned*, int, int, int, int) {
  return kCudaSuccess;
}
CudaResult Fill(CudaTensorMap* map, int, unsigned, void*, const std::uint64_t*,
                const std::uint64_t*, const unsigned*, const unsigned*, int, int, int, int) {
  std::ranges::fill(map->words, ~uint64_t{0});
  return kCudaSuccess;
}
CudaResult Of13Point2(int* version) {
  *version = 13020;
  return kCudaSuccess;
}
template <Version kCall>
std::shared_ptr<const Device> MakeOfVersion(const DeviceOptions&) {
  CudaDriver driver = emulator::EmulatedDriver();
  driver.cuDriverGetVersion = kCall;
  return MakeCudaDevice(driver, emulator::EmulatedOrdinal(90));
}

Status RunOn(std::span<const DeviceRow> devices) {
  TCC_ASSIGN_OR_RETURN(
      Module module,
      Module::FromArtefact(MapArtefact(), {.pool = {}, .threads = 1, .devices = devices}));
  Executor executor(module);
  return RunOne(executor, {Floats({6}, {})}).status();
}

TEST_CASE("a driver that cannot encode tensor maps is told from one that need not",
          "[codegen_cuda][tensor_map]") {
  static constexpr DeviceRow kOlder[] = {{"cuda", MakeEncoding<nullptr>}};
  const Status refused = RunOn(kOlder);
  CHECK(refused.code() == absl::StatusCode::kUnavailable);
  CHECK(Message(refused) ==
        "kernel 'twice' needs a driver for CUDA 12.0 or newer: it has tensor maps; this one is for "
        "13.0");
  Artefact plain = Waiting(ScaleReverseArtefact());
  CHECK(Module::FromArtefact(std::move(plain), {.pool = {}, .threads = 1, .devices = kOlder}).ok());
}

TEST_CASE("a launch with bytes that are not a tensor map is refused",
          "[codegen_cuda][tensor_map]") {
  static constexpr DeviceRow kEmpty[] = {{"cuda", MakeEncoding<LeaveEmpty>}};
  CHECK_THAT(Message(RunOn(kEmpty)), Catch::EndsWith("argument 'view' is not a tensor map"));
}

TEST_CASE("the bit of large tensors is cleared for small ones, up to CUDA 13.1",
          "[codegen_cuda][tensor_map]") {
  CudaDriver driver{.cuTensorMapEncodeTiled = Fill};
  auto word = [&](int version, int64_t elements) {
    const GpuTensorMap map{.type = GpuMapType::kU8, .extents = {elements}, .box = {16}};
    BufferPlace array{nullptr, 1 << 20};
    StatusOr<EncodedMap> encoded = EncodeTensorMap(driver, version, map, array, {});
    REQUIRE(encoded.ok());
    CHECK(encoded->bytes == elements);
    CHECK(encoded->map.words[0] == ~uint64_t{0});
    CHECK(encoded->map.words[2] == ~uint64_t{0});
    return encoded->map.words[1];
  };
  const uint64_t cleared = ~(uint64_t{1} << 21);
  CHECK(word(12000, 131071) == cleared);
  CHECK(word(13010, 131071) == cleared);
  CHECK(word(13010, 131072) == ~uint64_t{0});
  CHECK(word(13020, 131071) == ~uint64_t{0});
  // The emulated driver sets the bit, as those do, and its launches want it cleared.
  static constexpr DeviceRow kNewer[] = {{"cuda", MakeOfVersion<Of13Point2>}};
  CHECK_THAT(Message(RunOn(kNewer)),
             Catch::EndsWith("argument 'view' maps 24 bytes, but bit 21 of its second word is 1"));
}

// The arguments of a call that the driver takes: rows of 64 halves, swizzled.
struct Call {
  int type = kCudaMapF16;
  unsigned rank = 2;
  int64_t shift = 0;  // of the address, from a multiple of 256
  std::array<std::uint64_t, 6> extents = {64, 10, 1, 1, 1, 1};
  std::array<std::uint64_t, 5> byte_strides = {128, 1280, 1280, 1280, 1280};
  std::array<unsigned, 6> box = {64, 8, 1, 1, 1, 1};
  std::array<unsigned, 6> element_strides = {1, 1, 1, 1, 1, 1};
  int interleave = kCudaMapNoInterleave;
  int swizzle = kCudaMapSwizzle128;
  int fill = kCudaMapZeros;
};

// Returns why the emulated driver refuses a changed call on a device of that arch, or nothing.
std::string Refusal(const std::function<void(Call&)>& change, int sm = 90) {
  auto context = CudaContext::Open(emulator::EmulatedDriver(), emulator::EmulatedOrdinal(sm));
  REQUIRE(context.ok());
  CudaScope scope(**context);
  auto memory = CudaMemory::Allocate(*context, 4096, "a test");
  REQUIRE(memory.ok());
  Call call;
  change(call);
  CudaTensorMap map;
  const Status status = TCC_CUDA_CALL(
      (*context)->driver(), "encoding", cuTensorMapEncodeTiled, &map, call.type, call.rank,
      memory->data() + call.shift, call.extents.data(), call.byte_strides.data(), call.box.data(),
      call.element_strides.data(), call.interleave, call.swizzle, kCudaMapL2Line, call.fill);
  if (status.ok()) return "";
  const std::string message = Message(status);
  return message.substr(message.find("a tensor map"));
}

TEST_CASE("the emulated driver encodes what a real one does, and nothing else",
          "[codegen_cuda][tensor_map]") {
  CHECK(Refusal([](Call&) {}).empty());
  CHECK(Refusal([](Call& c) { c.rank = 5; }).empty());
  CHECK(Refusal([](Call& c) { c.shift = 16; }).empty());
  CHECK(Refusal([](Call& c) {
          c.swizzle = 0;
          c.box[0] = 256;
        }).empty());
  CHECK(Refusal([](Call&) {}, 89) == "a tensor map on a device that has none");
  CHECK(Refusal([](Call& c) { c.shift = 8; }) == "a tensor map of a tensor that is misaligned");
  CHECK(Refusal([](Call& c) { c.rank = 0; }) == "a tensor map of rank 0");
  CHECK(Refusal([](Call& c) { c.rank = 6; }) == "a tensor map of rank 6");
  CHECK(Refusal([](Call& c) { c.extents[1] = 0; }) == "a tensor map whose extent 1 is 0");
  CHECK(Refusal([](Call& c) {
          c.extents[0] = (uint64_t{1} << 32) + 1;
        }).starts_with("a tensor map whose extent 0"));
  CHECK(Refusal([](Call& c) { c.byte_strides[0] = 136; }) ==
        "a tensor map whose byte stride 1 is 136");
  CHECK(Refusal([](Call& c) { c.byte_strides[0] = uint64_t{1} << 40; }) ==
        "a tensor map whose byte stride 1 is 1099511627776");
  CHECK(Refusal([](Call& c) { c.box[1] = 257; }) == "a tensor map whose box extent 1 is 257");
  CHECK(Refusal([](Call& c) { c.box[1] = 0; }) == "a tensor map whose box extent 1 is 0");
  CHECK(Refusal([](Call& c) { c.box[0] = 72; }) == "a tensor map whose box has rows of 144 bytes");
  CHECK(Refusal([](Call& c) {
          c.swizzle = 0;
          c.box[0] = 4;
        }) == "a tensor map whose box has rows of 8 bytes");
  CHECK(Refusal([](Call& c) { c.swizzle = kCudaMapSwizzle64; }) ==
        "a tensor map whose box has rows of 128 bytes");
  CHECK(Refusal([](Call& c) { c.box[0] = 32; }) ==
        "a tensor map with rows shorter than their swizzle, which is not emulated");
  CHECK(Refusal([](Call& c) { c.element_strides[1] = 2; }) ==
        "a tensor map with element strides, which are not emulated");
  for (const std::function<void(Call&)>& change :
       {+[](Call& c) { c.type = 8; }, +[](Call& c) { c.swizzle = 4; },
        +[](Call& c) { c.interleave = 1; }, +[](Call& c) { c.fill = 1; }}) {
    CHECK(Refusal(change) == "a tensor map of a kind that is not emulated");
  }
}

TEST_CASE("a kernel that takes a tensor map compiles for GPUs",
          "[codegen_cuda][tensor_map][nvrtc]") {
  StatusOr<Nvrtc> nvrtc = Nvrtc::Open();
  if (!nvrtc.ok()) {
    WARN("skipped: nothing is compiled for a GPU: " << Message(nvrtc.status()));
    return;
  }
  const std::string text = std::string(CudaPrelude()) + R"(
static_assert(sizeof(TccMap) == 128 && alignof(TccMap) == 64, "as an argument");
TCC_KERNEL(read, 16)(TCC_OUTPUT(unsigned long long, y), TCC_MAP(view)) {
  y[tcc_thread_x()] = view.words[tcc_thread_x()];
}
TCC_END_KERNEL(read)
)";
  for (int sm : {75, 90}) {
    StatusOr<Cubin> cubin = nvrtc->Compile(text, sm);
    INFO(sm << " " << Message(cubin.status()));
    CHECK(cubin.ok());
  }
}

}  // namespace
}  // namespace tcc::test
