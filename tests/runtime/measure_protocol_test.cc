#include "runtime/measure/measure_protocol.h"

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/runtime/socket_pair.h"

namespace tcc {

using Catch::Matchers::Contains;

TEST_CASE("names of statuses and policies are found again", "[runtime][measure]") {
  for (int i = 0; i <= static_cast<int>(MeasureStatus::kFlaky); ++i) {
    auto status = static_cast<MeasureStatus>(i);
    CHECK(FindMeasureStatus(NameOf(status)) == status);
  }
  CHECK(NameOf(MeasureStatus::kLaunchFailed) == "launch-failed");
  CHECK_FALSE(FindMeasureStatus("fine"));
  CHECK(FindMeasurePolicy("warm") == MeasurePolicy::kWarm);
  CHECK(FindMeasurePolicy(NameOf(MeasurePolicy::kRotate64M)) == MeasurePolicy::kRotate64M);
  CHECK(FindMeasurePolicy("in-place") == MeasurePolicy::kInPlace);
  CHECK_FALSE(FindMeasurePolicy("cold"));
}

namespace {

// Decodes what was encoded, encodes it again, and refuses every shorter and a longer payload.
template <typename M>
M ThereAndBack(const M& message, StatusOr<M> (*decode)(std::span<const uint8_t>)) {
  std::vector<uint8_t> bytes = Encode(message);
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    CHECK(absl::IsInvalidArgument(decode(std::span(bytes).first(cut)).status()));
  }
  StatusOr<M> back = decode(bytes);
  INFO(Message(back.status()));
  REQUIRE(back.ok());
  CHECK(Encode(*back) == bytes);
  bytes.push_back(0);
  CHECK_THAT(Message(decode(bytes).status()), Contains("left over"));
  return *back;
}

}  // namespace

TEST_CASE("messages come back as they were and every cut is noticed", "[runtime][measure]") {
  HelloMessage hello = ThereAndBack(
      HelloMessage{
          .threads = 3, .address_space_bytes = uint64_t{5} << 40, .device = "cuda", .ordinal = 2},
      DecodeHello);
  CHECK((hello.threads == 3 && hello.device == "cuda" && hello.ordinal == 2));
  CHECK(hello.address_space_bytes == uint64_t{5} << 40);
  CHECK(ThereAndBack(ReadyMessage{.threads = 2, .device = "Z80"}, DecodeReady).device == "Z80");
  GpuFacts facts{.sm = 90,
                 .multiprocessors = 132,
                 .l2_bytes = uint64_t{60} << 20,
                 .memory_bytes = uint64_t{141} << 30,
                 .driver = "13.0",
                 .bus = "0000:17:00.0",
                 .takes_text = true,
                 .on_host = true};
  ReadyMessage ready =
      ThereAndBack(ReadyMessage{.threads = 1, .device = "H200", .gpu = facts}, DecodeReady);
  REQUIRE(ready.gpu);
  CHECK((ready.gpu->sm == 90 && ready.gpu->multiprocessors == 132 && ready.gpu->takes_text));
  CHECK((ready.gpu->l2_bytes == facts.l2_bytes && ready.gpu->memory_bytes == facts.memory_bytes));
  CHECK(ready.gpu->on_host);
  CHECK((ready.gpu->driver == "13.0" && ready.gpu->bus == "0000:17:00.0"));
  FailedMessage failed = ThereAndBack(FailedMessage{.message = "why", .ends = true}, DecodeFailed);
  CHECK((failed.message == "why" && failed.ends));

  NetworkMessage network = ThereAndBack(
      NetworkMessage{.skeleton = "/a b", .roles = {{OperandRole::kConstant}, {}}, .seed = 7},
      DecodeNetwork);
  CHECK(network.skeleton == "/a b");
  CHECK(network.roles == std::vector<std::vector<OperandRole>>{{OperandRole::kConstant}, {}});
  BindMessage bind =
      ThereAndBack(BindMessage{.kernel = 4, .slot = 1, .artefact = {9, 8}}, DecodeBind);
  CHECK((bind.kernel == 4 && bind.slot == 1 && bind.artefact == std::vector<uint8_t>{9, 8}));
  RunNetworkMessage run =
      ThereAndBack(RunNetworkMessage{.slots = {0, 1, 1}, .runs = 12}, DecodeRunNetwork);
  CHECK((run.slots == std::vector<uint8_t>{0, 1, 1} && run.runs == 12));
  RanMessage ran =
      ThereAndBack(RanMessage{.seconds = 0.5, .kernel_seconds = {0.25, 0.125}}, DecodeRan);
  CHECK((ran.seconds == 0.5 && ran.kernel_seconds == std::vector<double>{0.25, 0.125}));

  TaskMessage task = ThereAndBack(TaskMessage{.roles = {OperandRole::kInput, OperandRole::kOutput},
                                              .seed = 9,
                                              .terms = 4608,
                                              .epsilon = 0.5,
                                              .policy = MeasurePolicy::kWarm,
                                              .artefact = {1, 2, 3}},
                                  DecodeTask);
  CHECK(task.roles == std::vector{OperandRole::kInput, OperandRole::kOutput});
  CHECK(task.terms == 4608);
  CHECK(task.artefact == std::vector<uint8_t>{1, 2, 3});

  MeasureMessage measure =
      ThereAndBack(MeasureMessage{.id = 4, .stop_beyond = 0.25, .artefact = {9}}, DecodeMeasure);
  CHECK(measure.stop_beyond == 0.25);

  Measurement measurement{.status = MeasureStatus::kWrong,
                          .seconds = 1e-6,
                          .spread = 0.01,
                          .calls = 1000,
                          .error = std::numeric_limits<double>::infinity(),
                          .canary = 90,
                          .message = "p2[3]"};
  MeasuredMessage measured =
      ThereAndBack(MeasuredMessage{.id = 5, .measurement = measurement}, DecodeMeasured);
  CHECK(measured.id == 5);
  CHECK(measured.measurement.status == MeasureStatus::kWrong);
  CHECK(std::isinf(measured.measurement.error));
  CHECK(measured.measurement.message == "p2[3]");
}

TEST_CASE("values out of range are refused with the field's name", "[runtime][measure]") {
  auto said = [](const auto& decoded) { return Message(decoded.status()); };
  CHECK_THAT(said(DecodeHello(Encode(HelloMessage{.version = 9}))),
             Contains("hello message: version is 9; expected 5"));
  CHECK_THAT(said(DecodeHello(Encode(HelloMessage{.threads = 0}))), Contains("threads is 0"));
  CHECK_THAT(said(DecodeBind(Encode(BindMessage{.slot = 2, .artefact = {}}))),
             Contains("bind message: slot is 2"));
  CHECK_THAT(said(DecodeRunNetwork(Encode(RunNetworkMessage{.slots = {3}}))),
             Contains("a slot is 3"));
  CHECK_THAT(said(DecodeRunNetwork(Encode(RunNetworkMessage{.slots = {}, .runs = 0}))),
             Contains("runs is 0; expected 1 to"));
  CHECK_THAT(said(DecodeRan(Encode(RanMessage{.seconds = -1, .kernel_seconds = {}}))),
             Contains("ran message: seconds is -1"));
  CHECK_THAT(said(DecodeReady(Encode(ReadyMessage{.threads = 99999, .device = ""}))),
             Contains("threads is 99999"));
  TaskMessage task;
  task.roles = {static_cast<OperandRole>(3)};
  CHECK_THAT(said(DecodeTask(Encode(task))), Contains("task message: a role is 3"));
  task = {};
  task.terms = -1;
  CHECK_THAT(said(DecodeTask(Encode(task))), Contains("task message: terms is -1"));
  task = {};
  task.epsilon = std::nan("");
  CHECK_THAT(said(DecodeTask(Encode(task))), Contains("task message: epsilon is nan"));
  task = {};
  task.gpu.max_sets = 0;
  CHECK_THAT(said(DecodeTask(Encode(task))), Contains("a limit of timing is 0; expected 1 to"));
  task = {};
  task.policy = static_cast<MeasurePolicy>(7);
  CHECK_THAT(said(DecodeTask(Encode(task))), Contains("task message: policy is 7"));
  MeasuredMessage measured;
  measured.measurement.status = static_cast<MeasureStatus>(10);
  CHECK_THAT(said(DecodeMeasured(Encode(measured))), Contains("status is 10"));
  measured.measurement = {};
  measured.measurement.calls = -4;
  CHECK_THAT(said(DecodeMeasured(Encode(measured))), Contains("calls is -4"));
}

TEST_CASE("a frame that is cut at any byte is never taken for a whole one", "[runtime][measure]") {
  std::vector<uint8_t> whole = {6, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'};
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    SocketPair sockets;
    SendBytes(sockets.end(0), std::span(whole).first(cut));
    if (cut < whole.size()) {
      StatusOr<MeasureFrame> late = ReadFrame(sockets.end(1), In(std::chrono::milliseconds(0)));
      CHECK(absl::IsDeadlineExceeded(late.status()));
      SendBytes(sockets.end(0), std::span(whole).first(cut));
    }
    sockets.CloseEnd(0);
    StatusOr<MeasureFrame> frame = ReadFrame(sockets.end(1));
    if (cut < whole.size()) {
      CHECK(absl::IsUnavailable(frame.status()));
    } else {
      REQUIRE(frame.ok());
      CHECK(frame->kind == FrameKind::kFailed);
      CHECK(frame->payload == std::vector<uint8_t>{'a', 'b', 'c'});
    }
  }
}

TEST_CASE("frames of unknown kinds and lengths beyond the cap are refused", "[runtime][measure]") {
  auto read = [](std::vector<uint8_t> header) {
    SocketPair sockets;
    SendBytes(sockets.end(0), header);
    return Message(ReadFrame(sockets.end(1)).status());
  };
  CHECK_THAT(read({0, 0, 0, 0, 0, 0, 0, 0}), Contains("unknown kind 0"));
  CHECK_THAT(read({16, 0, 0, 0, 0, 0, 0, 0}), Contains("unknown kind 16"));
  CHECK_THAT(read({1, 0, 0, 0, 1, 0, 0, 16}), Contains("268435457 bytes; expected at most"));
  CHECK_THAT(read({1, 0, 0, 0, 255, 255, 255, 255}), Contains("4294967295 bytes"));
}

TEST_CASE("a frame larger than a socket's buffer arrives whole", "[runtime][measure]") {
  SocketPair sockets;
  std::vector<uint8_t> payload(3 << 20);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i * 7 >> 3);
  pid_t child = fork();
  if (child == 0) {
    sockets.CloseEnd(0);
    _exit(WriteFrame(sockets.end(1), FrameKind::kTask, payload).ok() ? 0 : 1);
  }
  sockets.CloseEnd(1);
  StatusOr<MeasureFrame> frame = ReadFrame(sockets.end(0));
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  REQUIRE(frame.ok());
  CHECK(frame->payload == payload);
}

TEST_CASE("a payload longer than a frame arrives in parts", "[runtime][measure]") {
  std::vector<uint8_t> payload(25);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<uint8_t>(i);
  for (size_t most : {1, 7, 24, 25, 26}) {
    SocketPair sockets;
    const auto send = [&](std::span<const uint8_t> bytes) {
      SendBytes(sockets.end(0), bytes);
      return OkStatus();
    };
    CHECK(SendInFrames(FrameKind::kLoad, payload, send, most).ok());
    CHECK(SendInFrames(FrameKind::kDone, {}, send, most).ok());
    StatusOr<MeasureFrame> frame = ReadFrame(sockets.end(1));
    REQUIRE(frame.ok());
    CHECK(frame->kind == FrameKind::kLoad);
    CHECK(frame->payload == payload);
    frame = ReadFrame(sockets.end(1));
    REQUIRE(frame.ok());
    CHECK(frame->kind == FrameKind::kDone);
    CHECK(frame->payload.empty());
  }
}

TEST_CASE("a part without bytes is refused", "[runtime][measure]") {
  SocketPair sockets;
  SendBytes(sockets.end(0), std::vector<uint8_t>{15, 0, 0, 0, 0, 0, 0, 0});
  CHECK_THAT(Message(ReadFrame(sockets.end(1)).status()), Contains("a part of 0 bytes"));
}

TEST_CASE("a frame that ends after a part is not whole", "[runtime][measure]") {
  SocketPair sockets;
  SendBytes(sockets.end(0), std::vector<uint8_t>{15, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'});
  CHECK(absl::IsDeadlineExceeded(
      ReadFrame(sockets.end(1), In(std::chrono::milliseconds(0))).status()));
  SendBytes(sockets.end(0), std::vector<uint8_t>{15, 0, 0, 0, 2, 0, 0, 0, 'a', 'b'});
  sockets.CloseEnd(0);
  CHECK(absl::IsUnavailable(ReadFrame(sockets.end(1)).status()));
}

TEST_CASE("writing to a closed socket is an error and no signal", "[runtime][measure]") {
  SocketPair sockets;
  sockets.CloseEnd(1);
  CHECK(absl::IsUnavailable(WriteFrame(sockets.end(0), FrameKind::kHello, {})));
}

}  // namespace tcc
