#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>

#include "runtime/measure/measure_protocol.h"
#include "runtime/measure/serve_measurements.h"
#include "tests/runtime/measured_artefact.h"
#include "tests/runtime/socket_pair.h"

namespace tcc {
namespace {

constexpr double kFloat32Epsilon = 0x1p-23;

// Takes the test's own reports of signals away, and what a worker says on its way out.
void BecomeWorker() {
  for (int number : {SIGSEGV, SIGILL, SIGTRAP, SIGBUS, SIGABRT, SIGTERM, SIGINT, SIGFPE}) {
    std::signal(number, SIG_DFL);
  }
  TCC_CHECK(freopen("/dev/null", "w", stderr) != nullptr);
  alarm(30);
}

// A worker in a forked child, which a socket leads to, or a pipe each way.
class Worker {
 public:
  explicit Worker(const HelloMessage& hello = {.threads = 2}, bool has_pipes = false) {
    TCC_CHECK(!has_pipes || (pipe(down_) == 0 && pipe(up_) == 0));
    child_ = fork();
    TCC_CHECK(child_ >= 0);
    if (child_ == 0) {
      sockets_.CloseEnd(0);
      BecomeWorker();
      if (has_pipes) {
        std::signal(SIGPIPE, SIG_IGN);  // as tcc-worker --stdio does
        close(down_[1]);
        close(up_[0]);
        _exit(ServeMeasurements(down_[0], up_[1]));
      }
      _exit(ServeMeasurements(sockets_.end(1), sockets_.end(1)));
    }
    sockets_.CloseEnd(1);
    if (has_pipes) {
      close(down_[0]);
      close(up_[1]);
    }
    Send(FrameKind::kHello, Encode(hello));
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (child_ > 0) kill(child_, SIGKILL);
    End();
  }

  void Send(FrameKind kind, const std::vector<uint8_t>& payload) {
    WriteFrame(down_[1] >= 0 ? down_[1] : sockets_.end(0), kind, payload).IgnoreError();
  }
  void SendBytes(std::span<const uint8_t> bytes) { tcc::SendBytes(sockets_.end(0), bytes); }
  StatusOr<MeasureFrame> Read(const Deadline& deadline = In(std::chrono::seconds(30))) {
    return ReadFrame(up_[0] >= 0 ? up_[0] : sockets_.end(0), deadline);
  }
  void Kill() { kill(child_, SIGKILL); }
  // Closes the socket or the pipes and returns what waitpid says.
  int End() {
    if (child_ <= 0) return 0;
    sockets_.CloseEnd(0);
    if (down_[1] >= 0) close(down_[1]);
    if (up_[0] >= 0) close(up_[0]);
    return Wait();
  }
  // The same of a worker that ends by itself.
  int Wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = 0;
    return status;
  }

 private:
  SocketPair sockets_;
  int down_[2] = {-1, -1}, up_[2] = {-1, -1};  // pipes: to the worker, from it
  pid_t child_ = 0;
};

bool EndedWith(int status, int code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

// By a signal, or the report of a sanitizer that caught it.
bool EndedByFault(int status) {
  return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
}

// --- tasks

TaskMessage TaskOf(const Artefact& reference) {
  return {.roles = {OperandRole::kInput, OperandRole::kConstant, OperandRole::kOutput},
          .seed = 1,
          .terms = 2,
          .epsilon = kFloat32Epsilon,
          .policy = MeasurePolicy::kWarm,
          .artefact = ArtefactBytes(reference)};
}

// Greets and opens a task. "" or what went wrong.
std::string Open(Worker& worker, const TaskMessage& task) {
  StatusOr<MeasureFrame> ready = worker.Read();
  if (!ready.ok()) return Message(ready.status());
  StatusOr<ReadyMessage> said = DecodeReady(ready->payload);
  if (!said.ok()) return Message(said.status());
  worker.Send(FrameKind::kTask, Encode(task));
  StatusOr<MeasureFrame> frame = worker.Read();
  if (!frame.ok()) return Message(frame.status());
  if (frame->kind == FrameKind::kFailed) return DecodeFailed(frame->payload).value().message;
  MeasuredMessage opened = DecodeMeasured(frame->payload).value();
  bool is_timed = opened.id == 0 && opened.measurement.status == MeasureStatus::kOk &&
                  opened.measurement.seconds > 0 && opened.measurement.calls > 0;
  return is_timed ? "" : "the reference was not timed";
}

void SendCandidate(Worker& worker, const Artefact& artefact, double stop_beyond = 0) {
  MeasureMessage message{.id = 7, .stop_beyond = stop_beyond, .artefact = ArtefactBytes(artefact)};
  worker.Send(FrameKind::kMeasure, Encode(message));
}

Measurement MeasureIn(Worker& worker, const Artefact& artefact, double stop_beyond = 0) {
  SendCandidate(worker, artefact, stop_beyond);
  StatusOr<MeasureFrame> frame = worker.Read();
  TCC_CHECK(frame.ok()) << Message(frame.status());
  TCC_CHECK(frame->kind == FrameKind::kMeasured);
  StatusOr<MeasuredMessage> message = DecodeMeasured(frame->payload);
  TCC_CHECK(message.ok()) << Message(message.status());
  TCC_CHECK(message->id == 7);
  return message->measurement;
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("right kernels are timed, whatever the policy and their way",
          "[runtime][measure][worker]") {
  for (MeasurePolicy policy : {MeasurePolicy::kWarm, MeasurePolicy::kRotate64M}) {
    Worker worker;
    TaskMessage task = TaskOf(MeasuredArtefact("right"));
    task.policy = policy;
    REQUIRE(Open(worker, task) == "");
    std::vector<Artefact> right = {MeasuredArtefact("right"), MeasuredArtefact("parallel"),
                                   MeasuredArtefact("nearly_right"),
                                   PreparedArtefact("prepare_double", "add_prepared")};
    for (const Artefact& artefact : right) {
      Measurement measured = MeasureIn(worker, artefact);
      INFO(measured.message);
      CHECK(measured.status == MeasureStatus::kOk);
      CHECK(measured.seconds > 0);
      CHECK(measured.calls > 0);
      CHECK(measured.error <= 1);
      CHECK(measured.canary >= 0);
    }
    CHECK(EndedWith(worker.End(), 0));
  }
}

TEST_CASE("wrong kernels are told from right ones, and the next one is measured all the same",
          "[runtime][measure][worker]") {
  struct Row {
    const char* kernel;
    MeasureStatus status;
    const char* message;
  };
  const Row rows[] = {
      {"wrong_by_one_element", MeasureStatus::kWrong, "p2[17] is "},
      {"forgets_the_last", MeasureStatus::kWrong, "p2[1023] is nan"},
      {"wrong_for_large_values", MeasureStatus::kWrong, "on the second values"},
      {"wrong_at_first", MeasureStatus::kFlaky, "right when run again"},
      {"writes_after_its_end", MeasureStatus::kWrong, "wrote right after operand p2"},
      {"writes_before_its_start", MeasureStatus::kWrong, "wrote right before operand p2"},
      {"writes_its_input", MeasureStatus::kWrong, "wrote its input p0"},
      {"writes_its_constant", MeasureStatus::kWrong, "wrote its input p1"},
      {"needs_too_much", MeasureStatus::kOutOfMemory, "memory"},
      {"fails", MeasureStatus::kLaunchFailed, "code 7"},
      {"is_missing", MeasureStatus::kLaunchFailed, "is_missing"},
  };
  Worker worker;
  REQUIRE(Open(worker, TaskOf(MeasuredArtefact("right"))) == "");
  for (const Row& row : rows) {
    INFO(row.kernel);
    Measurement measured = MeasureIn(worker, MeasuredArtefact(row.kernel));
    CHECK(NameOf(measured.status) == NameOf(row.status));
    CHECK_THAT(measured.message, Contains(row.message));
    CHECK(measured.seconds == 0);
    Measurement next = MeasureIn(worker, MeasuredArtefact("right"));
    INFO(next.message);
    CHECK(next.status == MeasureStatus::kOk);
    CHECK(next.error == 0);
  }
}

TEST_CASE("a clipped sum of products that rounds differently is not called wrong",
          "[runtime][measure][worker]") {
  Worker worker;
  TaskMessage task = TaskOf(MeasuredArtefact("clip"));
  task.terms = 64;
  REQUIRE(Open(worker, task) == "");
  Measurement rounded = MeasureIn(worker, MeasuredArtefact("clip_rounded_otherwise"));
  INFO(rounded.message);
  CHECK(rounded.status == MeasureStatus::kOk);
  CHECK(rounded.error > 0);
  // The inputs that were perturbed are what they were.
  CHECK(MeasureIn(worker, MeasuredArtefact("clip")).error == 0);
}

TEST_CASE("a clipped sum of products that lacks a term or has a wrong element is still wrong",
          "[runtime][measure][worker]") {
  Worker worker;
  TaskMessage task = TaskOf(MeasuredArtefact("clip"));
  task.terms = 64;
  REQUIRE(Open(worker, task) == "");
  Measurement lacking = MeasureIn(worker, MeasuredArtefact("clip_without_a_term"));
  CHECK(lacking.status == MeasureStatus::kWrong);
  CHECK_THAT(lacking.message, Contains("on the first values"));
  Measurement planted = MeasureIn(worker, MeasuredArtefact("clip_with_a_wrong_element"));
  CHECK(planted.status == MeasureStatus::kWrong);
  CHECK_THAT(planted.message, Contains("p2[17] is "));
}

TEST_CASE("prepared constants are checked too", "[runtime][measure][worker]") {
  Worker worker;
  REQUIRE(Open(worker, TaskOf(PreparedArtefact("prepare_double", "add_prepared"))) == "");
  CHECK(MeasureIn(worker, MeasuredArtefact("right")).status == MeasureStatus::kOk);
  Measurement beyond = MeasureIn(worker, PreparedArtefact("prepare_beyond", "add_prepared"));
  CHECK(beyond.status == MeasureStatus::kWrong);
  CHECK_THAT(beyond.message, Contains("wrote right after prepared operand 0"));
  Measurement failed = MeasureIn(worker, PreparedArtefact("fails", "add_prepared"));
  CHECK(failed.status == MeasureStatus::kLaunchFailed);
  CHECK_THAT(failed.message, Contains("prepare kernel"));
  // Nothing of the candidate before is left for a kernel that prepares nothing.
  Measurement unprepared = MeasureIn(worker, PreparedArtefact("needs_no", "add_prepared"));
  CHECK(unprepared.status == MeasureStatus::kLaunchFailed);
}

TEST_CASE("bytes may be one off in a task with floats", "[runtime][measure][worker]") {
  DType i8(DTypeCode::kInt8);
  for (double epsilon : {kFloat32Epsilon, 0.0}) {
    Worker worker;
    TaskMessage task = TaskOf(MeasuredArtefact("bytes", i8));
    task.epsilon = epsilon;
    REQUIRE(Open(worker, task) == "");
    CHECK(MeasureIn(worker, MeasuredArtefact("bytes", i8)).status == MeasureStatus::kOk);
    Measurement one = MeasureIn(worker, MeasuredArtefact("bytes_off_by_one", i8));
    CHECK(one.status == (epsilon > 0 ? MeasureStatus::kOk : MeasureStatus::kWrong));
    Measurement two = MeasureIn(worker, MeasuredArtefact("bytes_off_by_two", i8));
    CHECK(two.status == MeasureStatus::kWrong);
  }
}

TEST_CASE("a candidate beyond the bound of time is slow but right", "[runtime][measure][worker]") {
  Worker worker;
  REQUIRE(Open(worker, TaskOf(MeasuredArtefact("right"))) == "");
  Measurement slow = MeasureIn(worker, MeasuredArtefact("right"), 1e-300);
  CHECK(slow.status == MeasureStatus::kSlow);
  CHECK(slow.seconds > 0);
  CHECK(slow.calls == 1);
  CHECK(MeasureIn(worker, MeasuredArtefact("right"), 1e3).status == MeasureStatus::kOk);
  CHECK(MeasureIn(worker, MeasuredArtefact("wrong_by_one_element"), 1e-300).status ==
        MeasureStatus::kWrong);
}

TEST_CASE("a kernel's fault ends its worker", "[runtime][measure][worker]") {
  for (const char* kernel : {"stores_to_null", "recurses", "traps", "exits"}) {
    INFO(kernel);
    Worker worker;
    REQUIRE(Open(worker, TaskOf(MeasuredArtefact("right"))) == "");
    SendCandidate(worker, MeasuredArtefact(kernel));
    CHECK(absl::IsUnavailable(worker.Read().status()));
    int status = worker.Wait();
    CHECK(EndedByFault(status));
    if (kernel == std::string_view("exits")) CHECK(EndedWith(status, 41));
  }
}

TEST_CASE("a kernel that never returns is the tuner's to kill", "[runtime][measure][worker]") {
  Worker worker;
  REQUIRE(Open(worker, TaskOf(MeasuredArtefact("right"))) == "");
  SendCandidate(worker, MeasuredArtefact("never_returns"));
  CHECK(absl::IsDeadlineExceeded(worker.Read(In(std::chrono::milliseconds(20))).status()));
  worker.Kill();
  CHECK(absl::IsUnavailable(worker.Read().status()));
  int status = worker.Wait();
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

TEST_CASE("a worker ends when its tuner goes away, also inside a kernel",
          "[runtime][measure][worker]") {
  for (bool has_pipes : {false, true}) {
    INFO(has_pipes);
    Worker idle({.threads = 2}, has_pipes);
    CHECK(EndedWith(idle.End(), 0));
    Worker busy({.threads = 2}, has_pipes);
    REQUIRE(Open(busy, TaskOf(MeasuredArtefact("right"))) == "");
    CHECK(MeasureIn(busy, MeasuredArtefact("right")).status == MeasureStatus::kOk);
    SendCandidate(busy, MeasuredArtefact("never_returns"));
    CHECK(EndedWith(busy.End(), 0));
  }
}

TEST_CASE("a reference that fails leaves the task closed and the worker there",
          "[runtime][measure][worker]") {
  Worker worker;
  CHECK_THAT(Open(worker, TaskOf(MeasuredArtefact("fails"))), Contains("launch-failed: "));
  Measurement measured = MeasureIn(worker, MeasuredArtefact("right"));
  CHECK(measured.status == MeasureStatus::kLaunchFailed);
  CHECK(measured.message == "no task is open");

  TaskMessage task = TaskOf(MeasuredArtefact("writes_its_input"));
  worker.Send(FrameKind::kTask, Encode(task));
  StatusOr<MeasureFrame> frame = worker.Read();
  REQUIRE(frame.ok());
  CHECK_THAT(DecodeFailed(frame->payload).value().message, Contains("wrong: wrote its input p0"));

  task = TaskOf(MeasuredArtefact("right"));
  worker.Send(FrameKind::kTask, Encode(task));
  CHECK(worker.Read()->kind == FrameKind::kMeasured);
  CHECK(MeasureIn(worker, MeasuredArtefact("right")).status == MeasureStatus::kOk);
}

TEST_CASE("an artefact that is damaged or of another task does not load",
          "[runtime][measure][worker]") {
  Worker worker;
  REQUIRE(Open(worker, TaskOf(MeasuredArtefact("right"))) == "");
  auto said = [&](const Artefact& artefact) {
    Measurement measured = MeasureIn(worker, artefact);
    CHECK(measured.status == MeasureStatus::kLaunchFailed);
    return measured.message;
  };
  CHECK_THAT(said(MeasuredArtefact("right", kFloat64)), Contains("p0 is f64 in 8192 bytes"));
  Artefact swapped = MeasuredArtefact("right");
  std::swap(swapped.plan.buffers[1], swapped.plan.buffers[2]);
  CHECK_THAT(said(swapped), Contains("buffer 1 of the plan is not the task's operand 1"));
  Artefact short_of_buffers = MeasuredArtefact("right");
  short_of_buffers.plan.buffers.pop_back();
  short_of_buffers.plan.body = {{PlanCall{0, {0, 1}, {}}}};
  CHECK_THAT(said(short_of_buffers), Contains("the plan has 2 buffers"));
  Artefact idle = MeasuredArtefact("right");
  idle.plan.body.clear();
  CHECK_THAT(said(idle), Contains("calls no kernel"));

  MeasureMessage damaged{.id = 7, .stop_beyond = 0, .artefact = {1, 2, 3}};
  worker.Send(FrameKind::kMeasure, Encode(damaged));
  MeasuredMessage answer = DecodeMeasured(worker.Read()->payload).value();
  CHECK(answer.measurement.status == MeasureStatus::kLaunchFailed);
}

TEST_CASE("a worker ends with code 2 at frames that it does not understand",
          "[runtime][measure][worker]") {
  std::vector<uint8_t> unknown = {9, 0, 0, 0, 0, 0, 0, 0};
  std::vector<uint8_t> overlong = {4, 0, 0, 0, 255, 255, 255, 255};
  for (const std::vector<uint8_t>& bytes : {unknown, overlong}) {
    Worker worker;
    REQUIRE(worker.Read().ok());
    worker.SendBytes(bytes);
    CHECK(EndedWith(worker.Wait(), 2));
  }
  for (FrameKind kind : {FrameKind::kHello, FrameKind::kTask, FrameKind::kMeasured}) {
    Worker worker;
    REQUIRE(worker.Read().ok());
    worker.Send(kind, {1, 2, 3});
    CHECK(EndedWith(worker.Wait(), 2));
  }
  Worker foreign(HelloMessage{.version = 99});
  CHECK(EndedWith(foreign.Wait(), 2));
}

}  // namespace tcc
