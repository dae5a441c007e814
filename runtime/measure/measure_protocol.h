#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/measure/measurement.h"
#include "support/status.h"

// The protocol between a tuner (the parent) and a worker process, over a stream socket or a pipe
// each way.
//
//   parent                                     worker
//   Hello {version, threads, device}     -->
//                                        <--   Ready {version, threads, device}, or Failed
//   Task {operands, reference artefact}  -->
//                                        <--   Measured (of the reference), or Failed {message}
//   Measure {id, artefact}               -->
//                                        <--   Measured {id, measurement}
//   Network {skeleton, roles}            -->
//                                        <--   Done, or Failed {message}
//   Bind {kernel, slot, artefact}        -->
//                                        <--   Done, or Failed
//   RunNetwork {slots}                   -->
//                                        <--   Ran {seconds, by kernel}, or Failed
//   Load {artefact}                      -->
//                                        <--   Done, or Failed
//   Launch {kernel, memory}              -->
//                                        <--   Launched {memory}, or Failed
//
// The messages of Load and Launch are in launch_messages.h. A frame is u32 kind, u32 length,
// payload; payloads are encoded by ByteWriter. A payload longer than kMaxFrameBytes begins in
// frames of kind Part. A worker ends with exit code 0 when the parent closes its end, and with 2 at
// a frame that it does not understand.
namespace tcc {

inline constexpr uint32_t kMeasureProtocolVersion = 5;
inline constexpr uint32_t kMaxFrameBytes = uint32_t{256} << 20;
inline constexpr uint64_t kMaxPayloadBytes = uint64_t{64} * kMaxFrameBytes;  // in several frames

enum class FrameKind : uint32_t {
  kHello = 1,
  kReady = 2,
  kTask = 3,
  kMeasure = 4,
  kMeasured = 5,
  kFailed = 6,
  kNetwork = 7,
  kBind = 8,
  kRunNetwork = 9,
  kDone = 10,
  kRan = 11,
  kLoad = 12,
  kLaunch = 13,
  kLaunched = 14,
  kPart = 15,
};

// A frame as it was sent, or with the parts before it.
struct MeasureFrame {
  FrameKind kind = FrameKind::kHello;
  std::vector<uint8_t> payload;
};

struct HelloMessage {
  uint32_t version = kMeasureProtocolVersion;
  uint32_t threads = 1;              // for the kernels
  uint64_t address_space_bytes = 0;  // RLIMIT_AS of the worker; 0: none
  std::string device = "cpu";        // Artefact::device of what is measured: "cpu", "vdla", ..
  uint32_t ordinal = 0;              // the number of the GPU
};

// A GPU, or what OpenCL takes for one, as its driver describes it.
struct GpuFacts {
  uint32_t sm = 0;  // 86 for sm_86; 0: OpenCL runs the kernels
  uint32_t multiprocessors = 0;
  uint64_t l2_bytes = 0;
  uint64_t memory_bytes = 0;
  std::string driver = {};  // newest CUDA that it supports: "12.4"; OpenCL's platform and version
  std::string bus = {};     // PCI bus id, "0000:17:00.0"; OpenCL does not tell it
  bool takes_text = false;  // an emulated driver, whose images are CUDA text
  bool on_host = false;     // a driver whose kernels run on this machine's CPU
};

// The name of a CPU whose instructions are counted under an emulator, in place of time.
inline constexpr const char* kCountedDevice = "counts";

struct ReadyMessage {
  uint32_t version = kMeasureProtocolVersion;
  uint32_t threads = 1;
  std::string device;  // name of the CPU or GPU
  std::optional<GpuFacts> gpu = {};
};

// The role of a tensor function's parameter for its callers. Constants are operands like inputs,
// but prepare kernels may read them, and their values stay for all calls.
enum class OperandRole : uint8_t { kInput, kConstant, kOutput };

// The placement of operands in memory while a kernel is timed.
enum class MeasurePolicy : uint8_t {
  kWarm,             // one set of operands: they stay in cache as far as they fit
  kRotate64M,        // calls rotate through copies of all operands that take 64 MiB together
  kInPlace,          // candidates are only checked one by one; they are timed inside the network
  kRotateWeightsL2,  // through copies of constants alone that fill a GPU's L2 cache twice
  kRotateL2,         // through copies of all operands that do
};
// Returns "warm", "rotate-64M", "in-place", "rotate-weights-L2" or "rotate-L2", which is part of a
// record's environment.
std::string_view NameOf(MeasurePolicy policy);
std::optional<MeasurePolicy> FindMeasurePolicy(std::string_view name);
// Returns all names.
std::vector<std::string_view> PolicyNames();
// Returns whether kernels of the device, "cpu", "vdla", "cuda" or "opencl", can be timed by the
// policy, and whether a GPU's can.
bool IsPolicyOf(MeasurePolicy policy, std::string_view device);
bool IsGpuPolicy(MeasurePolicy policy);

// The time that a candidate is timed for on a GPU.
struct GpuTimingLimits {
  double graph_seconds = 3e-4;  // per graph at least; it has a run for each set of operands too
  int32_t replays = 2;          // of the graph in a block
  int32_t blocks = 4;
  int32_t max_runs = 512;     // per graph
  int32_t max_sets = 64;      // of operands
  double max_seconds = 0.05;  // of one candidate; fewer blocks then, at least 2
  double hang_seconds = 0.5;  // a run that is not done after this and 50 times the reference hangs
};

// A message that opens a task: its operands are made from the seed, the reference candidate runs on
// them, and its results are what other candidates are compared with. The task opened before is
// closed.
struct TaskMessage {
  std::vector<OperandRole> roles;  // of the tensor function's parameters, in their order
  uint64_t seed = 0;
  double terms = 1;    // the most terms of one result element, for the bound of its error
  double epsilon = 0;  // of the narrowest float that the function computes in; 0: it has none
  MeasurePolicy policy = MeasurePolicy::kRotate64M;
  GpuTimingLimits gpu = {};
  std::vector<uint8_t> artefact;
};

struct MeasureMessage {
  uint64_t id = 0;
  double stop_beyond = 0;  // seconds: a candidate that takes longer is kSlow; 0: no bound
  std::vector<uint8_t> artefact;
};

struct MeasuredMessage {
  uint64_t id = 0;
  Measurement measurement;
};

// A message that opens a network (BoundNetwork). The network opened before is closed.
struct NetworkMessage {
  std::string skeleton;                         // path of its artefact
  std::vector<std::vector<OperandRole>> roles;  // of each kernel's parameters
  uint64_t seed = 0;                            // of its inputs
};

// A message that puts a candidate into a slot of a kernel.
struct BindMessage {
  uint32_t kernel = 0;
  uint8_t slot = 0;  // 0 or 1
  std::vector<uint8_t> artefact;
};

struct RunNetworkMessage {
  std::vector<uint8_t> slots;  // by kernel: the slot of the candidate that it runs
  uint32_t runs = 1;
};

// The least times of the runs; on a GPU the mean of the runs, which follow each other.
struct RanMessage {
  double seconds = 0;  // of the whole network
  // By kernel, all of its calls together. Empty on a GPU, where nothing stands between kernels.
  std::vector<double> kernel_seconds;
};

// A message that says why the reference or the network did not run.
struct FailedMessage {
  std::string message;
  bool ends = false;  // the worker ends after it, since its GPU is lost
};

std::vector<uint8_t> Encode(const HelloMessage& message);
std::vector<uint8_t> Encode(const ReadyMessage& message);
std::vector<uint8_t> Encode(const TaskMessage& message);
std::vector<uint8_t> Encode(const MeasureMessage& message);
std::vector<uint8_t> Encode(const MeasuredMessage& message);
std::vector<uint8_t> Encode(const FailedMessage& message);
std::vector<uint8_t> Encode(const NetworkMessage& message);
std::vector<uint8_t> Encode(const BindMessage& message);
std::vector<uint8_t> Encode(const RunNetworkMessage& message);
std::vector<uint8_t> Encode(const RanMessage& message);
// Decode messages. Errors: bytes missing or left over, values out of range; they name the message
// and the field.
StatusOr<HelloMessage> DecodeHello(std::span<const uint8_t> payload);
StatusOr<ReadyMessage> DecodeReady(std::span<const uint8_t> payload);
StatusOr<TaskMessage> DecodeTask(std::span<const uint8_t> payload);
StatusOr<MeasureMessage> DecodeMeasure(std::span<const uint8_t> payload);
StatusOr<MeasuredMessage> DecodeMeasured(std::span<const uint8_t> payload);
StatusOr<FailedMessage> DecodeFailed(std::span<const uint8_t> payload);
StatusOr<NetworkMessage> DecodeNetwork(std::span<const uint8_t> payload);
StatusOr<BindMessage> DecodeBind(std::span<const uint8_t> payload);
StatusOr<RunNetworkMessage> DecodeRunNetwork(std::span<const uint8_t> payload);
StatusOr<RanMessage> DecodeRan(std::span<const uint8_t> payload);

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Calls send(bytes) for all that is sent of a payload: frames of parts that have `most` bytes, and
// the frame of the rest. Returns the first error.
Status SendInFrames(FrameKind kind, std::span<const uint8_t> payload,
                    const std::function<Status(std::span<const uint8_t>)>& send,
                    size_t most = kMaxFrameBytes);
// Writes a payload in frames to a socket, which raises no SIGPIPE, or to a pipe. Unavailable: the
// other side is gone.
Status WriteFrame(int stream, FrameKind kind, std::span<const uint8_t> payload);
// Reads a frame and the parts before it. Unavailable: the other side is gone, before or within the
// frame. DeadlineExceeded: the frame was not whole before the deadline. InvalidArgument: an unknown
// kind, or longer than kMaxFrameBytes.
StatusOr<MeasureFrame> ReadFrame(int stream, const Deadline& deadline = std::nullopt);

}  // namespace tcc
