#include "runtime/measure/measure_protocol.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/artefact/artefact_device.h"
#include "runtime/artefact/bytes.h"
#include "support/check.h"

namespace tcc {
namespace {

constexpr size_t kHeaderBytes = 8;
// A frame's memory grows with what has come, or a damaged length would take all of it at once.
constexpr size_t kReadBytes = size_t{1} << 20;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxRuns = 1u << 20;
constexpr std::string_view kPolicyNames[] = {"warm", "rotate-64M", "in-place", "rotate-weights-L2",
                                             "rotate-L2"};

void WriteDouble(ByteWriter& writer, double value) {
  writer.U64(std::bit_cast<uint64_t>(value));
}

// Any number that is not negative; `field` names it in messages.
double ReadAmount(ByteReader& reader, std::string_view field) {
  auto value = std::bit_cast<double>(reader.U64());
  if (!(value >= 0)) reader.Fail(InvalidInput("{} is {}; expected 0 or more", field, value));
  return value;
}

double ReadFinite(ByteReader& reader, std::string_view field) {
  double value = ReadAmount(reader, field);
  if (std::isinf(value)) reader.Fail(InvalidInput("{} is {}; expected a number", field, value));
  return value;
}

template <typename Enum>
Enum ReadEnum(ByteReader& reader, Enum last, std::string_view field) {
  uint8_t value = reader.U8();
  if (value > static_cast<uint8_t>(last)) {
    reader.Fail(
        InvalidInput("{} is {}; expected at most {}", field, value, static_cast<uint8_t>(last)));
    return Enum{};
  }
  return static_cast<Enum>(value);
}

uint32_t ReadVersion(ByteReader& reader, std::string_view field) {
  uint32_t version = reader.U32();
  if (version != kMeasureProtocolVersion) {
    reader.Fail(InvalidInput("{} is {}; expected {}", field, version, kMeasureProtocolVersion));
  }
  return version;
}

uint32_t ReadThreads(ByteReader& reader, std::string_view field) {
  uint32_t threads = reader.U32();
  if (threads < 1 || threads > kMaxThreads) {
    reader.Fail(InvalidInput("{} is {}; expected 1 to {}", field, threads, kMaxThreads));
  }
  return threads;
}

void WriteRoles(ByteWriter& writer, std::span<const OperandRole> roles) {
  writer.Count(roles.size());
  for (OperandRole role : roles) writer.U8(static_cast<uint8_t>(role));
}

std::vector<OperandRole> ReadRoles(ByteReader& reader, std::string_view field) {
  std::vector<OperandRole> roles(reader.Count(1));
  for (OperandRole& role : roles) role = ReadEnum(reader, OperandRole::kOutput, field);
  return roles;
}

// The number of one of a kernel's two candidates.
uint8_t ReadSlot(ByteReader& reader, std::string_view field) {
  uint8_t slot = reader.U8();
  if (slot > 1) reader.Fail(InvalidInput("{} is {}; expected 0 or 1", field, slot));
  return slot;
}

bool ReadBool(ByteReader& reader, std::string_view field) {
  uint8_t value = reader.U8();
  if (value > 1) reader.Fail(InvalidInput("{} is {}; expected 0 or 1", field, value));
  return value == 1;
}

void WriteFacts(ByteWriter& writer, const GpuFacts& facts) {
  writer.U32(facts.sm);
  writer.U32(facts.multiprocessors);
  writer.U64(facts.l2_bytes);
  writer.U64(facts.memory_bytes);
  writer.Text(facts.driver);
  writer.Text(facts.bus);
  writer.U8(facts.takes_text ? 1 : 0);
  writer.U8(facts.on_host ? 1 : 0);
}

GpuFacts ReadFacts(ByteReader& reader) {
  GpuFacts facts;
  facts.sm = reader.U32();
  facts.multiprocessors = reader.U32();
  facts.l2_bytes = reader.U64();
  facts.memory_bytes = reader.U64();
  facts.driver = reader.Text();
  facts.bus = reader.Text();
  facts.takes_text = ReadBool(reader, "ready message: whether it takes text");
  facts.on_host = ReadBool(reader, "ready message: whether it is the host's CPU");
  return facts;
}

void WriteLimits(ByteWriter& writer, const GpuTimingLimits& limits) {
  WriteDouble(writer, limits.graph_seconds);
  for (int32_t count : {limits.replays, limits.blocks, limits.max_runs, limits.max_sets}) {
    writer.U32(static_cast<uint32_t>(count));
  }
  WriteDouble(writer, limits.max_seconds);
  WriteDouble(writer, limits.hang_seconds);
}

GpuTimingLimits ReadLimits(ByteReader& reader) {
  GpuTimingLimits limits;
  limits.graph_seconds = ReadFinite(reader, "task message: seconds of a graph");
  for (int32_t* count : {&limits.replays, &limits.blocks, &limits.max_runs, &limits.max_sets}) {
    uint32_t value = reader.U32();
    if (value < 1 || value > kMaxRuns) {
      reader.Fail(
          InvalidInput("task message: a limit of timing is {}; expected 1 to {}", value, kMaxRuns));
    }
    *count = static_cast<int32_t>(value);
  }
  limits.max_seconds = ReadFinite(reader, "task message: seconds of a candidate");
  limits.hang_seconds = ReadFinite(reader, "task message: seconds of a run that hangs");
  return limits;
}

template <typename Message>
StatusOr<Message> Finished(const ByteReader& reader, Message message) {
  TCC_RETURN_IF_ERROR(reader.Finish());
  return message;
}

Status Gone() {
  return Missing("the other side is gone");
}

// Waits until there is something to read. An error or a hang-up is for the read to tell.
Status WaitForInput(int stream, const Deadline& deadline) {
  while (true) {
    int timeout = -1;
    if (deadline) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline -
                                                               std::chrono::steady_clock::now());
      timeout =
          static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
    }
    pollfd waited{.fd = stream, .events = POLLIN, .revents = 0};
    int ready = ::poll(&waited, 1, timeout);
    if (ready > 0) return OkStatus();
    if (ready == 0) return absl::DeadlineExceededError("no whole frame came before the deadline");
    if (errno != EINTR) return Missing("cannot wait for a frame: {}", std::strerror(errno));
  }
}

// Reads what a socket or a pipe holds, which is at least a byte or its end.
ssize_t ReadSome(int stream, std::span<uint8_t> bytes) {
  const ssize_t got = ::recv(stream, bytes.data(), bytes.size(), MSG_DONTWAIT);
  return got < 0 && errno == ENOTSOCK ? ::read(stream, bytes.data(), bytes.size()) : got;
}

ssize_t WriteSome(int stream, std::span<const uint8_t> bytes) {
  const ssize_t sent = ::send(stream, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? ::write(stream, bytes.data(), bytes.size()) : sent;
}

// Fills all of `bytes`.
Status Receive(int stream, std::span<uint8_t> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    TCC_RETURN_IF_ERROR(WaitForInput(stream, deadline));
    ssize_t got = ReadSome(stream, bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (got <= 0) return Gone();
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return OkStatus();
}

Status Send(int stream, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t sent = WriteSome(stream, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd waited{.fd = stream, .events = POLLOUT, .revents = 0};
      ::poll(&waited, 1, -1);
      continue;
    }
    if (sent <= 0) return Gone();
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return OkStatus();
}

// Adds `length` bytes to the payload, whose memory grows with what has come.
Status ReceiveMore(int stream, size_t length, const Deadline& deadline,
                   std::vector<uint8_t>& payload) {
  const size_t end = payload.size() + length;
  while (payload.size() < end) {
    const size_t begin = payload.size();
    payload.resize(std::min(end, begin + std::max(begin, kReadBytes)));
    TCC_RETURN_IF_ERROR(Receive(stream, std::span(payload).subspan(begin), deadline));
  }
  return OkStatus();
}

bool IsFrameKind(uint32_t kind) {
  return kind >= static_cast<uint32_t>(FrameKind::kHello) &&
         kind <= static_cast<uint32_t>(FrameKind::kPart);
}

}  // namespace

std::string_view NameOf(MeasurePolicy policy) {
  auto index = static_cast<size_t>(policy);
  TCC_CHECK(index < std::size(kPolicyNames)) << index;
  return kPolicyNames[index];
}

std::optional<MeasurePolicy> FindMeasurePolicy(std::string_view name) {
  const std::string_view* found = std::ranges::find(kPolicyNames, name);
  if (found == std::end(kPolicyNames)) return std::nullopt;
  return static_cast<MeasurePolicy>(found - std::begin(kPolicyNames));
}

std::vector<std::string_view> PolicyNames() {
  return {std::begin(kPolicyNames), std::end(kPolicyNames)};
}

bool IsPolicyOf(MeasurePolicy policy, std::string_view device) {
  if (IsGpuDevice(device)) return IsGpuPolicy(policy);
  switch (policy) {
    case MeasurePolicy::kWarm:
      return true;
    case MeasurePolicy::kRotate64M:
      return device == "cpu" || device == "vdla";
    case MeasurePolicy::kInPlace:
      return device == "cpu";
    case MeasurePolicy::kRotateWeightsL2:
    case MeasurePolicy::kRotateL2:
      return false;
  }
  TCC_UNREACHABLE();
}

bool IsGpuPolicy(MeasurePolicy policy) {
  return policy == MeasurePolicy::kWarm || policy == MeasurePolicy::kRotateWeightsL2 ||
         policy == MeasurePolicy::kRotateL2;
}

std::vector<uint8_t> Encode(const HelloMessage& message) {
  ByteWriter writer;
  writer.U32(message.version);
  writer.U32(message.threads);
  writer.U64(message.address_space_bytes);
  writer.Text(message.device);
  writer.U32(message.ordinal);
  return writer.Take();
}

std::vector<uint8_t> Encode(const ReadyMessage& message) {
  ByteWriter writer;
  writer.U32(message.version);
  writer.U32(message.threads);
  writer.Text(message.device);
  writer.U8(message.gpu.has_value() ? 1 : 0);
  if (message.gpu) WriteFacts(writer, *message.gpu);
  return writer.Take();
}

std::vector<uint8_t> Encode(const TaskMessage& message) {
  ByteWriter writer;
  WriteRoles(writer, message.roles);
  writer.U64(message.seed);
  WriteDouble(writer, message.terms);
  WriteDouble(writer, message.epsilon);
  writer.U8(static_cast<uint8_t>(message.policy));
  WriteLimits(writer, message.gpu);
  writer.Bytes(message.artefact);
  return writer.Take();
}

std::vector<uint8_t> Encode(const MeasureMessage& message) {
  ByteWriter writer;
  writer.U64(message.id);
  WriteDouble(writer, message.stop_beyond);
  writer.Bytes(message.artefact);
  return writer.Take();
}

std::vector<uint8_t> Encode(const MeasuredMessage& message) {
  const Measurement& measurement = message.measurement;
  ByteWriter writer;
  writer.U64(message.id);
  writer.U8(static_cast<uint8_t>(measurement.status));
  WriteDouble(writer, measurement.seconds);
  WriteDouble(writer, measurement.spread);
  writer.I64(measurement.calls);
  WriteDouble(writer, measurement.error);
  WriteDouble(writer, measurement.canary);
  writer.Text(measurement.message);
  return writer.Take();
}

std::vector<uint8_t> Encode(const FailedMessage& message) {
  ByteWriter writer;
  writer.Text(message.message);
  writer.U8(message.ends ? 1 : 0);
  return writer.Take();
}

std::vector<uint8_t> Encode(const NetworkMessage& message) {
  ByteWriter writer;
  writer.Text(message.skeleton);
  writer.Count(message.roles.size());
  for (const std::vector<OperandRole>& roles : message.roles) WriteRoles(writer, roles);
  writer.U64(message.seed);
  return writer.Take();
}

std::vector<uint8_t> Encode(const BindMessage& message) {
  ByteWriter writer;
  writer.U32(message.kernel);
  writer.U8(message.slot);
  writer.Bytes(message.artefact);
  return writer.Take();
}

std::vector<uint8_t> Encode(const RunNetworkMessage& message) {
  ByteWriter writer;
  writer.Count(message.slots.size());
  for (uint8_t slot : message.slots) writer.U8(slot);
  writer.U32(message.runs);
  return writer.Take();
}

std::vector<uint8_t> Encode(const RanMessage& message) {
  ByteWriter writer;
  WriteDouble(writer, message.seconds);
  writer.Count(message.kernel_seconds.size());
  for (double seconds : message.kernel_seconds) WriteDouble(writer, seconds);
  return writer.Take();
}

StatusOr<HelloMessage> DecodeHello(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "hello message");
  HelloMessage message;
  message.version = ReadVersion(reader, "hello message: version");
  message.threads = ReadThreads(reader, "hello message: threads");
  message.address_space_bytes = reader.U64();
  message.device = reader.Text();
  message.ordinal = reader.U32();
  return Finished(reader, std::move(message));
}

StatusOr<ReadyMessage> DecodeReady(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "ready message");
  ReadyMessage message;
  message.version = ReadVersion(reader, "ready message: version");
  message.threads = ReadThreads(reader, "ready message: threads");
  message.device = reader.Text();
  if (ReadBool(reader, "ready message: whether it is a GPU")) message.gpu = ReadFacts(reader);
  return Finished(reader, std::move(message));
}

StatusOr<TaskMessage> DecodeTask(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "task message");
  TaskMessage message;
  message.roles = ReadRoles(reader, "task message: a role");
  message.seed = reader.U64();
  message.terms = ReadFinite(reader, "task message: terms");
  message.epsilon = ReadFinite(reader, "task message: epsilon");
  message.policy = ReadEnum(reader, MeasurePolicy::kRotateL2, "task message: policy");
  message.gpu = ReadLimits(reader);
  message.artefact = reader.Bytes();
  return Finished(reader, std::move(message));
}

StatusOr<MeasureMessage> DecodeMeasure(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "measure message");
  MeasureMessage message;
  message.id = reader.U64();
  message.stop_beyond = ReadAmount(reader, "measure message: stop_beyond");
  message.artefact = reader.Bytes();
  return Finished(reader, std::move(message));
}

StatusOr<MeasuredMessage> DecodeMeasured(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "measured message");
  MeasuredMessage message;
  Measurement& measurement = message.measurement;
  message.id = reader.U64();
  measurement.status = ReadEnum(reader, MeasureStatus::kFlaky, "measured message: status");
  measurement.seconds = ReadFinite(reader, "measured message: seconds");
  measurement.spread = ReadFinite(reader, "measured message: spread");
  measurement.calls = reader.I64();
  if (measurement.calls < 0) {
    reader.Fail(
        InvalidInput("measured message: calls is {}; expected 0 or more", measurement.calls));
  }
  // Infinite where a number was expected and none came.
  measurement.error = ReadAmount(reader, "measured message: error");
  measurement.canary = ReadFinite(reader, "measured message: canary");
  measurement.message = reader.Text();
  return Finished(reader, std::move(message));
}

StatusOr<FailedMessage> DecodeFailed(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "failed message");
  FailedMessage message;
  message.message = reader.Text();
  message.ends = ReadBool(reader, "failed message: whether the worker ends");
  return Finished(reader, std::move(message));
}

StatusOr<NetworkMessage> DecodeNetwork(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "network message");
  NetworkMessage message;
  message.skeleton = reader.Text();
  message.roles.resize(reader.Count(4));
  for (std::vector<OperandRole>& roles : message.roles) {
    roles = ReadRoles(reader, "network message: a role");
  }
  message.seed = reader.U64();
  return Finished(reader, std::move(message));
}

StatusOr<BindMessage> DecodeBind(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "bind message");
  BindMessage message;
  message.kernel = reader.U32();
  message.slot = ReadSlot(reader, "bind message: slot");
  message.artefact = reader.Bytes();
  return Finished(reader, std::move(message));
}

StatusOr<RunNetworkMessage> DecodeRunNetwork(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "run message");
  RunNetworkMessage message;
  message.slots.resize(reader.Count(1));
  for (uint8_t& slot : message.slots) slot = ReadSlot(reader, "run message: a slot");
  message.runs = reader.U32();
  if (message.runs < 1 || message.runs > kMaxRuns) {
    reader.Fail(InvalidInput("run message: runs is {}; expected 1 to {}", message.runs, kMaxRuns));
  }
  return Finished(reader, std::move(message));
}

StatusOr<RanMessage> DecodeRan(std::span<const uint8_t> payload) {
  ByteReader reader(payload, "ran message");
  RanMessage message;
  message.seconds = ReadFinite(reader, "ran message: seconds");
  message.kernel_seconds.resize(reader.Count(8));
  for (double& seconds : message.kernel_seconds) {
    seconds = ReadFinite(reader, "ran message: seconds of a kernel");
  }
  return Finished(reader, std::move(message));
}

Status SendInFrames(FrameKind kind, std::span<const uint8_t> payload,
                    const std::function<Status(std::span<const uint8_t>)>& send, size_t most) {
  bool is_part = true;
  while (is_part) {
    is_part = payload.size() > most;
    const std::span<const uint8_t> sent = payload.first(std::min(payload.size(), most));
    ByteWriter header;
    header.U32(static_cast<uint32_t>(is_part ? FrameKind::kPart : kind));
    header.U32(static_cast<uint32_t>(sent.size()));
    TCC_RETURN_IF_ERROR(send(header.Take()));
    TCC_RETURN_IF_ERROR(send(sent));
    payload = payload.subspan(sent.size());
  }
  return OkStatus();
}

Status WriteFrame(int stream, FrameKind kind, std::span<const uint8_t> payload) {
  return SendInFrames(kind, payload,
                      [&](std::span<const uint8_t> bytes) { return Send(stream, bytes); });
}

StatusOr<MeasureFrame> ReadFrame(int stream, const Deadline& deadline) {
  MeasureFrame frame = {.kind = FrameKind::kPart, .payload = {}};
  while (frame.kind == FrameKind::kPart) {
    uint8_t bytes[kHeaderBytes];
    TCC_RETURN_IF_ERROR(Receive(stream, bytes, deadline));
    ByteReader header(bytes, "frame header");
    const uint32_t kind = header.U32();
    const size_t length = header.U32();
    if (!IsFrameKind(kind)) return InvalidInput("a frame is of the unknown kind {}", kind);
    if (length > kMaxFrameBytes) {
      return InvalidInput("a frame has {} bytes; expected at most {}", length, kMaxFrameBytes);
    }
    frame.kind = static_cast<FrameKind>(kind);
    const bool is_part = frame.kind == FrameKind::kPart;
    if (is_part && (length == 0 || frame.payload.size() > kMaxPayloadBytes)) {
      return InvalidInput("a part of {} bytes behind {}; expected at most {} in all", length,
                          frame.payload.size(), kMaxPayloadBytes);
    }
    TCC_RETURN_IF_ERROR(ReceiveMore(stream, length, deadline, frame.payload));
    if (is_part && deadline && std::chrono::steady_clock::now() > *deadline) {
      return absl::DeadlineExceededError("a frame was not whole in time");
    }
  }
  return frame;
}

}  // namespace tcc
