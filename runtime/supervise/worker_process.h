#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>

#include "runtime/measure/measure_protocol.h"
#include "support/status.h"

namespace tcc {

// Returns the path of tcc-worker: $TCC_WORKER, else beside this program, else in ../libexec/tcc and
// ../bin of the folders of this program and of the library that this function is in. Unavailable,
// with the list of places, if there is none.
StatusOr<std::string> FindWorker();

// The time that a crashed process may take until its exit status is there: gigabytes are unmapped.
inline constexpr double kCrashSeconds = 10;

struct WorkerOptions {
  std::string program = {};  // FindWorker()
  // A command of the shell that runs `tcc-worker --stdio`, on another machine as a rule, in place
  // of `program`; "": none.
  std::string command = {};
  std::string log = {};  // a file that its stderr is appended to; "": dropped
  HelloMessage hello = {};
  double ready_seconds = 30;  // the time it may take from its start to Ready
};

// A worker process and the socket to it, its descriptor 3. A command has the socket as both
// standard streams; pipes would raise SIGPIPE in the program that tunes. The process leads a group
// of its own, so that Ctrl-C in a terminal reaches the tuner alone and that killing it takes its
// children along.
class WorkerProcess {
 public:
  // Spawns the program and exchanges Hello and Ready. Unavailable: it cannot be run, ended, stays
  // silent or speaks another version. InvalidArgument: the log cannot be written.
  static StatusOr<std::unique_ptr<WorkerProcess>> Start(const WorkerOptions& options);
  // Does the first half of Start, without waiting for the worker: nothing but AwaitReady and End
  // may be called before AwaitReady.
  static StatusOr<std::unique_ptr<WorkerProcess>> Begin(const WorkerOptions& options);
  // Does the second half, with the options of Begin.
  Status AwaitReady(const WorkerOptions& options);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  // Ends the worker, with a second's grace.
  ~WorkerProcess();

  pid_t process() const { return process_; }
  const ReadyMessage& ready() const { return ready_; }

  // Send and receive one frame. Unavailable: the worker is gone. DeadlineExceeded: it did not read,
  // or answer, all of a frame within `seconds`. InvalidArgument: the received bytes are no frame.
  Status Send(FrameKind kind, std::span<const uint8_t> payload, double seconds);
  StatusOr<MeasureFrame> Receive(double seconds);

  // Closes the socket, waits up to `grace_seconds` for the worker to end by itself, then kills its
  // group, and collects the exit status. Returns how it ended: "ended by SIGSEGV", "ended with exit
  // code 3", "had to be killed". Later calls return the same.
  std::string End(double grace_seconds);

 private:
  WorkerProcess(pid_t process, int socket) : process_(process), socket_(socket) {}
  Status TakeReady(const WorkerOptions& options);

  const pid_t process_;
  int socket_;
  ReadyMessage ready_;
  std::string end_;  // how it ended; "" while it may run
};

}  // namespace tcc
