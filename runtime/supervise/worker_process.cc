#include "runtime/supervise/worker_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "support/environment.h"
#include "support/file.h"

extern char** environ;

namespace tcc {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kWorkerName[] = "tcc-worker";
constexpr int kWorkerSocket = 3;
constexpr char kShell[] = "/bin/sh";

// A worker that is not asked to hurry has this long to end after its socket is closed.
constexpr double kPoliteSeconds = 1;

Clock::time_point After(double seconds) {
  constexpr double kMaxSeconds = 1e6;  // far from the clock's range
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::clamp(seconds, 0.0, kMaxSeconds)));
}

// The folder of the shared library that tcc is in; empty where it is linked into the program.
fs::path LibraryFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&FindWorker), &info) == 0 || !info.dli_fname) return {};
  // The program itself goes by its first argument, which need not be a path.
  if (std::strchr(info.dli_fname, '/') == nullptr) return {};
  std::error_code error;
  fs::path path = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : path.parent_path();
}

std::vector<std::string> WorkerPaths() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::string> paths;
  auto add = [&](const fs::path& folder) {
    std::string path = (folder / kWorkerName).lexically_normal().string();
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  };
  if (!program.empty()) add(program);
  for (const fs::path& folder : {LibraryFolder(), program}) {
    if (folder.empty()) continue;
    add(folder / "../libexec/tcc");
    add(folder / "../bin");
  }
  return paths;
}

// The same open file under a number above those that the worker is given. A descriptor that had the
// right number already would keep its close-on-exec flag through dup2 in some C libraries.
int MoveUp(const FileDescriptor& descriptor) {
  return fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kWorkerSocket + 1);
}

StatusOr<int> OpenLog(const std::string& path) {
  const std::string& name = path.empty() ? "/dev/null" : path;
  FileDescriptor file(open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file.get() < 0) return InvalidInput("cannot write '{}': {}", name, strerror(errno));
  const int moved = MoveUp(file);
  if (moved < 0) return Missing("no descriptor for '{}': {}", name, strerror(errno));
  return moved;
}

StatusOr<pid_t> Spawn(const WorkerOptions& options, int socket, int log) {
  const bool is_command = !options.command.empty();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (is_command) {
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  }
  posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);

  // Signals that this thread blocks are none of the worker's business.
  sigset_t no_signals;
  sigemptyset(&no_signals);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &no_signals);

  std::string program = is_command ? kShell : options.program;
  std::string flag = "-c", command = options.command;
  std::array<char*, 4> arguments = {program.data(), is_command ? flag.data() : nullptr,
                                    command.data(), nullptr};
  pid_t process = 0;
  const int error =
      posix_spawn(&process, program.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Missing("cannot run '{}': {}", program, strerror(error));
  return process;
}

// Whether the process has ended; its exit status stays to be collected, so that neither its number
// nor that of its group is anybody else's yet. True as well where somebody else has collected it.
bool HasEnded(pid_t process) {
  siginfo_t info{};
  const int result = waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT);
  return result == 0 ? info.si_pid == process : errno == ECHILD;
}

bool EndsWithin(pid_t process, double seconds) {
  const Clock::time_point end = After(seconds);
  auto pause = std::chrono::microseconds(100);
  while (!HasEnded(process)) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(10000));
  }
  return true;
}

// "SIGSEGV"; the number of a signal that has no name.
std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// Collects the exit status of a process that has ended or was killed.
std::string Collect(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return "ended with an unknown exit status";
  }
  if (WIFSIGNALED(status)) return "ended by " + SignalName(WTERMSIG(status));
  return fmt::format("ended with exit code {}", WEXITSTATUS(status));
}

// WriteFrame would wait for ever for a worker that neither reads nor ends.
Status SendBefore(int socket, std::span<const uint8_t> bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Missing("the worker is gone");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return absl::DeadlineExceededError("the worker did not read the frame");
    pollfd writable{.fd = socket, .events = POLLOUT, .revents = 0};
    poll(&writable, 1, static_cast<int>(left.count()));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::string> FindWorker() {
  if (const char* given = std::getenv("TCC_WORKER"); given != nullptr && *given != '\0') {
    if (IsProgram(given)) return std::string(given);
    return Missing("TCC_WORKER is {}, which is no program that can be run", given);
  }
  std::string places = "TCC_WORKER";
  for (const std::string& path : WorkerPaths()) {
    if (IsProgram(path)) return path;
    places += ", " + path;
  }
  return Missing("{} was not found; looked in {}; build or install it or set TCC_WORKER",
                 kWorkerName, places);
}

StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerOptions& options) {
  TCC_ASSIGN_OR_RETURN(std::unique_ptr<WorkerProcess> worker, Begin(options));
  TCC_RETURN_IF_ERROR(worker->AwaitReady(options));
  return worker;
}

StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Begin(const WorkerOptions& options) {
  TCC_ASSIGN_OR_RETURN(const int log_number, OpenLog(options.log));
  FileDescriptor log(log_number);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Missing("no socket to a worker: {}", strerror(errno));
  }
  FileDescriptor own(ends[0]), low(ends[1]);
  FileDescriptor theirs(MoveUp(low));
  if (theirs.get() < 0) return Missing("no socket to a worker: {}", strerror(errno));

  TCC_ASSIGN_OR_RETURN(pid_t process, Spawn(options, theirs.get(), log.get()));
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(process, own.Release()));
  // The end of the worker shows only when nobody else holds its end of the socket.
  close(low.Release());
  close(theirs.Release());
  // A worker that is gone shows when it is waited for.
  worker->Send(FrameKind::kHello, Encode(options.hello), options.ready_seconds).IgnoreError();
  return worker;
}

Status WorkerProcess::AwaitReady(const WorkerOptions& options) {
  Status status = TakeReady(options);
  if (status.ok()) return status;
  const std::string& name = options.command.empty() ? options.program : options.command;
  std::string message = fmt::format("worker '{}': {}", name, Message(status));
  if (!options.log.empty()) message += fmt::format("; its messages are in {}", options.log);
  return absl::UnavailableError(message);
}

Status WorkerProcess::TakeReady(const WorkerOptions& options) {
  StatusOr<MeasureFrame> frame = Receive(options.ready_seconds);
  if (absl::IsUnavailable(frame.status())) {
    return Missing("{} before it was ready", End(kCrashSeconds));
  }
  if (absl::IsDeadlineExceeded(frame.status())) {
    return Missing("not ready after {} s", options.ready_seconds);
  }
  if (!frame.ok()) return frame.status();
  if (frame->kind == FrameKind::kFailed) {
    TCC_ASSIGN_OR_RETURN(const FailedMessage failed, DecodeFailed(frame->payload));
    return Missing("{}", failed.message);
  }
  if (frame->kind != FrameKind::kReady) {
    return Missing("frame of kind {}; expected Ready", static_cast<uint32_t>(frame->kind));
  }
  TCC_ASSIGN_OR_RETURN(ready_, DecodeReady(frame->payload));
  return OkStatus();
}

WorkerProcess::~WorkerProcess() {
  End(kPoliteSeconds);
}

Status WorkerProcess::Send(FrameKind kind, std::span<const uint8_t> payload, double seconds) {
  if (socket_ < 0) return Missing("the worker {}", end_);
  const Clock::time_point deadline = After(seconds);
  return SendInFrames(kind, payload, [&](std::span<const uint8_t> bytes) {
    return SendBefore(socket_, bytes, deadline);
  });
}

StatusOr<MeasureFrame> WorkerProcess::Receive(double seconds) {
  if (socket_ < 0) return Missing("the worker {}", end_);
  return ReadFrame(socket_, After(seconds));
}

std::string WorkerProcess::End(double grace_seconds) {
  if (!end_.empty()) return end_;
  close(std::exchange(socket_, -1));
  const bool by_itself = EndsWithin(process_, grace_seconds);
  // Children that it left behind die as well: the group's number is still its own here.
  kill(-process_, SIGKILL);
  const std::string how = Collect(process_);
  end_ = by_itself ? how : "had to be killed";
  return end_;
}

}  // namespace tcc
