#include "runtime/supervise/worker_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "ir/text/parser.h"
#include "runtime/supervise/measuring_lock.h"
#include "search/measure/local_measurer.h"

using namespace tcc;
using Catch::Contains;

namespace {

// Removed with all that is in it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tcc-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// An environment variable while this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_) setenv(name_, before_->c_str(), 1);
    if (!before_) unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<uint8_t> Bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

// Neither running nor waiting to be collected.
bool IsGone(pid_t process) {
  return kill(process, 0) != 0 && errno == ESRCH;
}

// Counts those that wait to be collected as well.
bool HasChildren() {
  siginfo_t ignored{};
  return waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

// Returns once it has stopped.
void Stop(const WorkerProcess& worker) {
  REQUIRE(kill(worker.process(), SIGSTOP) == 0);
  int status = 0;
  REQUIRE(waitpid(worker.process(), &status, WUNTRACED) == worker.process());
  REQUIRE(WIFSTOPPED(status));
}

std::unique_ptr<WorkerProcess> StartFake() {
  StatusOr<std::unique_ptr<WorkerProcess>> worker =
      WorkerProcess::Start({.program = TCC_FAKE_WORKER});
  INFO(worker.status());
  REQUIRE(worker.ok());
  return std::move(*worker);
}

// A request of stop_beyond seconds is given these and not more.
constexpr double kLong = 50;
constexpr double kShort = 0.02;

std::unique_ptr<Measurer> MakeFake(std::vector<std::string>* warnings = nullptr,
                                   const std::string& command = "") {
  StatusOr<std::unique_ptr<Measurer>> measurer = MakeLocalMeasurer({
      .runner = {
          .worker = TCC_FAKE_WORKER,
          .command = command,
          .deadline_seconds = [](const ExpectedTime& expected) { return expected.stop_beyond; },
          .warn =
              [warnings](const std::string& message) {
                if (warnings != nullptr) warnings->push_back(message);
              }},
      .seed = 11,
  });
  INFO(measurer.status());
  REQUIRE(measurer.ok());
  return std::move(*measurer);
}

Workload MatrixProduct() {
  StatusOr<Function> fn = ParseFunction(R"(
    fn kernel(A: f32[5, 7], B: f32[7, 9] constant, C: f32[5, 9]) tensor {
      for i in 0..5 @mm/i { for j in 0..9 @mm/j { for k in 0..7 @mm/k {
        block mm(i: spatial 5 = i, j: spatial 9 = j, k: reduce 7 = k) {
          reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j]) } } } } })");
  INFO(fn.status());
  REQUIRE(fn.ok());
  Workload workload;
  workload.name = "mm";
  workload.variants = {*fn};
  workload.inputs = 2;
  return workload;
}

Measurement OpenIn(Measurer& measurer, const std::string& reference = "o") {
  StatusOr<Measurement> measurement = measurer.Open(MatrixProduct(), Bytes(reference));
  INFO(measurement.status());
  REQUIRE(measurement.ok());
  return *measurement;
}

MeasureReport ReportOf(Measurer& measurer) {
  StatusOr<std::optional<MeasureReport>> report = measurer.Take();
  INFO(report.status());
  REQUIRE(report.ok());
  REQUIRE(report->has_value());
  return **report;
}

Measurement MeasureIn(Measurer& measurer, const std::string& artefact, double seconds = kLong) {
  measurer.Submit({.id = 5, .artefact = Bytes(artefact), .stop_beyond = seconds});
  MeasureReport report = ReportOf(measurer);
  CHECK(report.id == 5);
  return report.measurement;
}

}  // namespace

TEST_CASE("a worker says what it is and ends when it is no longer needed", "[search][worker]") {
  std::unique_ptr<WorkerProcess> worker = StartFake();
  CHECK(worker->ready().device == "a fake");
  const pid_t process = worker->process();
  CHECK(getpgid(process) == process);
  CHECK(worker->End(kLong) == "ended with exit code 0");
  CHECK(worker->End(0) == "ended with exit code 0");
  CHECK(absl::IsUnavailable(worker->Send(FrameKind::kHello, {}, kLong)));
  CHECK(absl::IsUnavailable(worker->Receive(kLong).status()));
  worker.reset();
  CHECK(IsGone(process));
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a worker that does not end is killed", "[search][worker]") {
  std::unique_ptr<WorkerProcess> worker = StartFake();
  const pid_t process = worker->process();
  Stop(*worker);
  CHECK(worker->End(0) == "had to be killed");
  CHECK(IsGone(process));
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a worker that does not read has a deadline too", "[search][worker]") {
  std::unique_ptr<WorkerProcess> worker = StartFake();
  Stop(*worker);
  const std::vector<uint8_t> more_than_a_socket_holds(size_t{16} << 20);
  Status sent = worker->Send(FrameKind::kMeasure, more_than_a_socket_holds, kShort);
  CHECK(absl::IsDeadlineExceeded(sent));
  worker->End(0);
}

TEST_CASE("a worker's messages are appended to the log", "[search][worker]") {
  Folder folder;
  const std::string log = folder / "worker.log";
  std::ofstream(log) << "before\n";
  for (int i = 0; i < 2; ++i) {
    REQUIRE(WorkerProcess::Start({.program = TCC_FAKE_WORKER, .log = log}).ok());
  }
  CHECK(TextOf(log) == "before\nthe fake worker says hello\nthe fake worker says hello\n");

  Status refused =
      WorkerProcess::Start({.program = TCC_FAKE_WORKER, .log = folder / "no/log"}).status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(Message(refused), Contains("cannot write"));
}

TEST_CASE("a program that is no worker is unavailable", "[search][worker]") {
  Status ended = WorkerProcess::Start({.program = "/bin/false"}).status();
  CHECK(absl::IsUnavailable(ended));
  CHECK_THAT(Message(ended), Contains("'/bin/false': ended with exit code 1 before it was ready"));

  Status none = WorkerProcess::Start({.program = "/nowhere/tcc-worker"}).status();
  CHECK(absl::IsUnavailable(none));
  CHECK_THAT(Message(none), Contains("cannot run '/nowhere/tcc-worker'"));
  CHECK_FALSE(HasChildren());
}

namespace {

constexpr char kFakeStdio[] = TCC_FAKE_WORKER " --stdio";
constexpr char kRealStdio[] = TCC_REAL_WORKER " --stdio";

// Returns the file that a stream of a process leads to.
std::string StreamOf(pid_t process, int number) {
  return std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", process, number)).string();
}

}  // namespace

TEST_CASE("a command's worker is spoken to over its standard streams", "[search][worker]") {
  // In the second one the worker has a pipe each way.
  for (const std::string& command :
       {fmt::format("exec {}", kRealStdio), fmt::format("cat | {} | cat", kRealStdio)}) {
    INFO(command);
    StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start({.command = command});
    INFO(worker.status());
    REQUIRE(worker.ok());
    CHECK((*worker)->ready().threads == 1);
    CHECK((*worker)->End(kLong) == "ended with exit code 0");
    CHECK_FALSE(HasChildren());
  }
}

TEST_CASE("what a kernel prints gets into the log, not between frames", "[search][worker]") {
  Folder folder;
  const std::string log = folder / "worker.log";
  StatusOr<std::unique_ptr<WorkerProcess>> worker =
      WorkerProcess::Start({.command = fmt::format("exec {}", kRealStdio), .log = log});
  INFO(worker.status());
  REQUIRE(worker.ok());
  const pid_t process = (*worker)->process();
  CHECK(StreamOf(process, STDIN_FILENO) == "/dev/null");
  CHECK(StreamOf(process, STDOUT_FILENO) == std::filesystem::canonical(log));
}

TEST_CASE("a command that runs no worker is unavailable and named", "[search][worker]") {
  Status none = WorkerProcess::Start({.command = "echo hello; exit 5"}).status();
  CHECK(absl::IsUnavailable(none));
  CHECK_THAT(Message(none), Contains("worker 'echo hello; exit 5': "));
  // Hello is cut off.
  Status cut =
      WorkerProcess::Start({.command = fmt::format("dd bs=1 count=9 | {}", kFakeStdio)}).status();
  CHECK(absl::IsUnavailable(cut));
  CHECK_THAT(Message(cut), Contains("ended with exit code 0 before it was ready"));
  CHECK_FALSE(HasChildren());
}

TEST_CASE("candidates that crash or talk nonsense in a command's worker leave the others alone",
          "[search][measurer]") {
  std::vector<std::string> warnings;
  std::unique_ptr<Measurer> measurer = MakeFake(&warnings, kFakeStdio);
  OpenIn(*measurer);
  CHECK(MeasureIn(*measurer, "s").status == MeasureStatus::kFault);
  CHECK(warnings.size() == 1);
  CHECK(MeasureIn(*measurer, "g").status == MeasureStatus::kFault);
  CHECK(MeasureIn(*measurer, "h", kShort).status == MeasureStatus::kHang);
  CHECK(MeasureIn(*measurer, "o").status == MeasureStatus::kOk);
  measurer.reset();
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a connection that drops within a candidate is made again, and nobody is blamed",
          "[search][measurer]") {
  Folder folder;
  const std::string flag = folder / "dropped";
  const LocalMeasurerOptions same{.seed = 11};
  TaskMessage task = TaskOf(MatrixProduct(), same);
  task.artefact = Bytes("o");
  constexpr size_t kHeader = 8;
  const size_t whole = 2 * kHeader + Encode(HelloMessage{}).size() + Encode(task).size();
  std::vector<std::string> warnings;
  std::unique_ptr<Measurer> measurer =
      MakeFake(&warnings, fmt::format("test -e {0} && exec {1}; touch {0}; dd bs=1 count={2} | {1}",
                                      flag, kFakeStdio, whole + kHeader + 3));
  OpenIn(*measurer);
  CHECK(warnings.empty());
  CHECK(MeasureIn(*measurer, "o").status == MeasureStatus::kOk);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("candidate 5 of 'mm': the worker ended with exit code 0"));
}

TEST_CASE("TCC_WORKER names the worker", "[search][worker]") {
  {
    Variable variable("TCC_WORKER", TCC_FAKE_WORKER);
    StatusOr<std::string> found = FindWorker();
    REQUIRE(found.ok());
    CHECK(*found == TCC_FAKE_WORKER);
  }
  Variable variable("TCC_WORKER", "/nowhere/tcc-worker");
  Status none = MakeLocalMeasurer({}).status();
  CHECK(absl::IsUnavailable(none));
  CHECK_THAT(Message(none), Contains("TCC_WORKER is /nowhere/tcc-worker"));
}

TEST_CASE("the worker is told what the operands of a task are", "[search][measurer]") {
  std::unique_ptr<Measurer> measurer = MakeFake();
  CHECK(measurer->Name() == "local");
  Measurement reference = OpenIn(*measurer);
  CHECK(reference.seconds == 1e-3);
  CHECK_THAT(reference.message, Contains("ICO seed 11 terms 7 epsilon 1.19"));
  CHECK_THAT(reference.message, Contains("rotate-64M"));
}

TEST_CASE("candidates are measured one after another in one worker", "[search][measurer]") {
  std::unique_ptr<Measurer> measurer = MakeFake();
  const int64_t process = OpenIn(*measurer).calls;
  for (size_t id : {3, 1, 2}) {
    measurer->Submit({.id = id, .artefact = Bytes("o"), .stop_beyond = kLong});
  }
  for (size_t id : {3, 1, 2}) {
    MeasureReport report = ReportOf(*measurer);
    CHECK(report.id == id);
    CHECK(report.measurement.status == MeasureStatus::kOk);
    CHECK(report.measurement.calls == process);
  }
  StatusOr<std::optional<MeasureReport>> nothing = measurer->Take();
  REQUIRE(nothing.ok());
  CHECK_FALSE(nothing->has_value());
  measurer.reset();
  CHECK(IsGone(static_cast<pid_t>(process)));
}

TEST_CASE("a candidate that ends its worker twice is at fault, and others go on",
          "[search][measurer]") {
  std::vector<std::string> warnings;
  std::unique_ptr<Measurer> measurer = MakeFake(&warnings);
  const int64_t process = OpenIn(*measurer).calls;

  Measurement signalled = MeasureIn(*measurer, "s");
  CHECK(signalled.status == MeasureStatus::kFault);
  CHECK(signalled.message == "the worker ended by SIGSEGV");
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("candidate 5 of 'mm': the worker ended by SIGSEGV"));

  Measurement exited = MeasureIn(*measurer, "e");
  CHECK(exited.status == MeasureStatus::kFault);
  CHECK(exited.message == "the worker ended with exit code 7");

  Measurement next = MeasureIn(*measurer, "o");
  CHECK(next.status == MeasureStatus::kOk);
  CHECK(next.calls != process);
  CHECK(IsGone(static_cast<pid_t>(process)));
  measurer.reset();
  CHECK_FALSE(HasChildren());
}

TEST_CASE("a candidate whose worker was killed once is not blamed", "[search][measurer]") {
  Folder folder;
  std::vector<std::string> warnings;
  std::unique_ptr<Measurer> measurer = MakeFake(&warnings);
  const int64_t process = OpenIn(*measurer).calls;
  Measurement measurement = MeasureIn(*measurer, "k" + folder / "candidate");
  CHECK(measurement.status == MeasureStatus::kOk);
  CHECK(measurement.calls != process);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("SIGKILL"));

  CHECK(OpenIn(*measurer, "k" + folder / "reference").seconds == 1e-3);
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[1], Contains("the reference of 'mm'"));
}

TEST_CASE("a candidate that never answers hangs, and others go on", "[search][measurer]") {
  std::unique_ptr<Measurer> measurer = MakeFake();
  const int64_t process = OpenIn(*measurer).calls;
  Measurement measurement = MeasureIn(*measurer, "h", kShort);
  CHECK(measurement.status == MeasureStatus::kHang);
  CHECK(measurement.message == "no answer within 0.02 s");
  CHECK(IsGone(static_cast<pid_t>(process)));
  CHECK(MeasureIn(*measurer, "o").status == MeasureStatus::kOk);
}

TEST_CASE("an answer that makes no sense is the candidate's fault", "[search][measurer]") {
  std::unique_ptr<Measurer> measurer = MakeFake();
  OpenIn(*measurer);
  for (const char* artefact : {"g", "i", "f"}) {
    Measurement measurement = MeasureIn(*measurer, artefact);
    CHECK(measurement.status == MeasureStatus::kFault);
    CHECK_THAT(measurement.message, Contains("the worker's answer is damaged: "));
  }
  CHECK(MeasureIn(*measurer, "o").status == MeasureStatus::kOk);
}

TEST_CASE("a reference that does not run is an error, and another task can be opened",
          "[search][measurer]") {
  std::unique_ptr<Measurer> measurer = MakeFake();
  Status failed = measurer->Open(MatrixProduct(), Bytes("f")).status();
  CHECK(failed == absl::InternalError("'mm': no such kernel"));
  Status ended = measurer->Open(MatrixProduct(), Bytes("s")).status();
  CHECK(absl::IsInternal(ended));
  CHECK_THAT(Message(ended), Contains("fault: the worker ended by SIGSEGV"));
  OpenIn(*measurer);
  CHECK(MeasureIn(*measurer, "o").status == MeasureStatus::kOk);
}

TEST_CASE("the usual deadline grows with what a candidate may take", "[search][measurer]") {
  CHECK(UsualDeadlineSeconds({}) == 2);
  CHECK(UsualDeadlineSeconds({.reference = 0.01, .open = 0.25, .stop_beyond = 0.02}) ==
        Approx(4.5));
  CHECK(UsualDeadlineSeconds({.reference = 0.01}) == Approx(3));
}

TEST_CASE("a second tuner waits for the first and says for whom", "[search][lock]") {
  Folder folder;
  Variable cache("TCC_CACHE_DIR", folder / "cache");
  auto first = std::make_unique<StatusOr<MeasuringLock>>(MeasuringLock::Acquire({}));
  REQUIRE(first->ok());
  CHECK((*first)->held());

  std::vector<std::string> said;
  StatusOr<MeasuringLock> second = MeasuringLock::Acquire({.say = [&](const std::string& message) {
    said.push_back(message);
    first.reset();
  }});
  REQUIRE(second.ok());
  CHECK(second->held());
  CHECK(said == std::vector{fmt::format(
                    "waiting for process {}, which is measuring on this machine", getpid())});
}

TEST_CASE("waiting for another tuner can be cancelled", "[search][lock]") {
  Folder folder;
  Variable cache("TCC_CACHE_DIR", folder / "cache");
  StatusOr<MeasuringLock> first = MeasuringLock::Acquire({});
  REQUIRE(first.ok());
  std::stop_source stop;
  StatusOr<MeasuringLock> second = MeasuringLock::Acquire(
      {.say = [&](const std::string&) { stop.request_stop(); }, .stop = stop.get_token()});
  CHECK(absl::IsCancelled(second.status()));
}

TEST_CASE("a lock file that is a link is not written through", "[search][lock]") {
  Folder folder;
  std::filesystem::create_directory(folder / "cache");
  std::ofstream(folder / "theirs") << "precious";
  std::filesystem::create_symlink(folder / "theirs", folder / "cache/measure-cpu.lock");
  Variable cache("TCC_CACHE_DIR", folder / "cache");
  StatusOr<MeasuringLock> lock = MeasuringLock::Acquire({});
  REQUIRE(lock.ok());
  CHECK_FALSE(lock->held());
  std::string kept;
  std::ifstream(folder / "theirs") >> kept;
  CHECK(kept == "precious");
}

TEST_CASE("a cache folder that cannot be made leaves a warning and no lock", "[search][lock]") {
  Folder folder;
  std::ofstream(folder / "file") << "no folder";
  Variable cache("TCC_CACHE_DIR", folder / "file/cache");
  std::vector<std::string> said;
  StatusOr<MeasuringLock> lock =
      MeasuringLock::Acquire({.say = [&](const std::string& message) { said.push_back(message); }});
  REQUIRE(lock.ok());
  CHECK_FALSE(lock->held());
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Contains("measuring without a lock: cannot make"));
}
