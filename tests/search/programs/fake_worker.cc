#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "runtime/measure/measure_protocol.h"

// A worker that does what the first byte of an artefact says:
//
//   o  answers                          e  ends with exit code 7
//   s  ends by SIGSEGV                  h  never answers
//   g  answers with bytes of no frame   i  answers for another candidate
//   k  is killed in the first process that comes to it, and answers in the next; the rest of the
//      artefact is the path of the file that tells them apart
//   f  answers that it failed
//
// Where it answers, "calls" is its process id. The answer to a task says what came in the task.
namespace tcc {
namespace {

// With --stdio the standard streams.
int input = 3, output = 3;

[[noreturn]] void EndBy(int signal) {
  std::signal(signal, SIG_DFL);  // a sanitizer would turn it into an exit code
  raise(signal);
  std::abort();
}

bool IsThere(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

void Answer(const MeasuredMessage& message) {
  if (!WriteFrame(output, FrameKind::kMeasured, Encode(message)).ok()) std::_Exit(9);
}

void Do(const std::vector<uint8_t>& artefact, MeasuredMessage answer) {
  const std::string rest(artefact.begin() + 1, artefact.end());
  switch (artefact.front()) {
    case 's':
      EndBy(SIGSEGV);
    case 'e':
      std::_Exit(7);
    case 'h':
      while (true) pause();
    case 'g': {
      const std::string garbage(64, '\xff');
      if (write(output, garbage.data(), garbage.size()) < 0) std::_Exit(9);
      return;
    }
    case 'i':
      answer.id += 1;
      return Answer(answer);
    case 'k':
      if (!IsThere(rest)) {
        std::ofstream(rest) << "was here";
        EndBy(SIGKILL);
      }
      return Answer(answer);
    case 'f': {
      const std::vector<uint8_t> failed = Encode(FailedMessage{.message = "no such kernel"});
      if (!WriteFrame(output, FrameKind::kFailed, failed).ok()) std::_Exit(9);
      return;
    }
    default:
      return Answer(answer);
  }
}

MeasuredMessage AnswerOf(uint64_t id) {
  return {.id = id, .measurement = {.seconds = 1e-3, .calls = getpid(), .message = ""}};
}

std::string Describe(const TaskMessage& task) {
  std::string roles;
  for (OperandRole role : task.roles) roles += "ICO"[static_cast<size_t>(role)];
  return fmt::format("{} seed {} terms {} epsilon {} {}", roles, task.seed, task.terms,
                     task.epsilon, NameOf(task.policy));
}

Status Serve(const MeasureFrame& frame) {
  if (frame.kind == FrameKind::kHello) {
    TCC_ASSIGN_OR_RETURN(HelloMessage hello, DecodeHello(frame.payload));
    std::fputs("the fake worker says hello\n", stderr);
    return WriteFrame(output, FrameKind::kReady,
                      Encode(ReadyMessage{.threads = hello.threads, .device = "a fake"}));
  }
  if (frame.kind == FrameKind::kTask) {
    TCC_ASSIGN_OR_RETURN(TaskMessage task, DecodeTask(frame.payload));
    MeasuredMessage answer = AnswerOf(0);
    answer.measurement.message = Describe(task);
    Do(task.artefact, answer);
    return OkStatus();
  }
  TCC_ASSIGN_OR_RETURN(MeasureMessage request, DecodeMeasure(frame.payload));
  Do(request.artefact, AnswerOf(request.id));
  return OkStatus();
}

int Main(bool is_stdio) {
  if (is_stdio) {
    input = STDIN_FILENO;
    output = STDOUT_FILENO;
  }
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(60);  // no test leaves it behind, whatever happens
  while (true) {
    StatusOr<MeasureFrame> frame = ReadFrame(input);
    if (absl::IsUnavailable(frame.status())) return 0;
    if (!frame.ok() || !Serve(*frame).ok()) return 2;
  }
}

}  // namespace
}  // namespace tcc

int main(int count, char** arguments) {
  return tcc::Main(count == 2 && std::strcmp(arguments[1], "--stdio") == 0);
}
