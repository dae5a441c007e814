#include "cli/isolated_call.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cstdio>
#include <utility>

#include "support/check.h"

namespace tcc {
namespace {

constexpr char kReturned = 'r';
constexpr char kCheckFailed = 'c';

int check_pipe = -1;  // of the child, where a failed TCC_CHECK is told

void Write(int pipe, char kind, const std::string& text) {
  std::string message = kind + text;
  for (size_t done = 0; done < message.size();) {
    ssize_t wrote = write(pipe, message.data() + done, message.size() - done);
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

void TellCheck(const std::string& message) {
  Write(check_pipe, kCheckFailed, message);
  _exit(1);
}

[[noreturn]] void RunChild(int pipe, const std::function<std::string()>& work) {
  check_pipe = pipe;
  SetCheckHandler(TellCheck);
  Write(pipe, kReturned, work());
  _exit(0);
}

// Everything until the other end is closed; false if that is not so at `deadline`.
bool ReadAll(int pipe, std::chrono::steady_clock::time_point deadline, std::string& text) {
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd poll_pipe{.fd = pipe, .events = POLLIN, .revents = 0};
    if (poll(&poll_pipe, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[4096];
    ssize_t got = read(pipe, buffer, sizeof(buffer));
    if (got <= 0) return true;
    text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

StatusOr<IsolatedCall> IsolatedCall::Start(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) return Missing("no pipe can be had");
  std::fflush(nullptr);  // or the child would print it again
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    RunChild(ends[1], work);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return Missing("no process can be had");
  }
  return IsolatedCall(process, ends[0]);
}

IsolatedCall::IsolatedCall(IsolatedCall&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      pipe_(std::exchange(other.pipe_, -1)),
      start_(other.start_) {}

IsolatedCall::~IsolatedCall() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  close(pipe_);
}

StatusOr<std::string> IsolatedCall::Wait(std::chrono::seconds limit) {
  std::string text;
  bool ended = ReadAll(pipe_, start_ + limit, text);
  if (!ended) kill(process_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(process_, -1), &status, 0);
  close(std::exchange(pipe_, -1));
  if (!ended) return absl::InternalError(fmt::format("no answer after {} s", limit.count()));
  if (WIFSIGNALED(status)) {
    return absl::InternalError(fmt::format("crashed: {}", strsignal(WTERMSIG(status))));
  }
  if (text.empty()) {
    return absl::InternalError(fmt::format("ended with code {}", WEXITSTATUS(status)));
  }
  if (text[0] == kCheckFailed) return absl::InternalError("bug in tcc: " + text.substr(1));
  return text.substr(1);
}

}  // namespace tcc
