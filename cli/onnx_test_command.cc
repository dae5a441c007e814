#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/threads_option.h"
#include "compiler/check/onnx_conformance.h"
#include "support/check.h"
#include "support/status.h"

namespace tcc {
namespace {

constexpr std::chrono::seconds kLimit{120};  // of one test

struct OnnxTestCommand {
  std::string folder;
  std::string target;
  std::string filter;
  std::string list;
  int threads = 0;
  bool emulate = false;
};

// Returns the first columns of the lines that are neither empty nor a comment.
StatusOr<std::set<std::string>> ReadList(const std::string& path) {
  std::ifstream file(path);
  if (!file) return InvalidInput("'{}' cannot be read", path);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::string name = line.substr(0, line.find_first_of("\t \r"));
    if (!name.empty() && name[0] != '#') names.insert(name);
  }
  return names;
}

StatusOr<std::regex> ParseFilter(const std::string& filter) {
  try {
    return std::regex(filter);
  } catch (const std::regex_error& error) {
    return UsageError("--filter: '{}' is no regular expression", filter);
  }
}

// Returns the names of the folders that hold a test, ascending.
StatusOr<std::vector<std::string>> TestsToRun(const OnnxTestCommand& command) {
  TCC_ASSIGN_OR_RETURN(std::regex pattern, ParseFilter(command.filter));
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator it(command.folder, error), end; !error && it != end;
       it.increment(error)) {
    std::string name = it->path().filename();
    std::error_code none;
    if (std::regex_search(name, pattern) &&
        std::filesystem::exists(it->path() / "model.onnx", none)) {
      names.push_back(name);
    }
  }
  if (error) return InvalidInput("'{}' cannot be read: {}", command.folder, error.message());
  if (!command.list.empty()) {
    TCC_ASSIGN_OR_RETURN(std::set<std::string> list, ReadList(command.list));
    std::erase_if(names, [&](const std::string& name) { return !list.contains(name); });
  }
  std::ranges::sort(names);
  if (names.empty()) return InvalidInput("'{}' holds no test that was asked for", command.folder);
  return names;
}

constexpr std::string_view kVerdicts[] = {"PASS", "FAIL", "SKIP"};

// Encodes a result as the text by which a process returns it.
std::string Answer(const ConformanceResult& result) {
  return fmt::format("{}\n{}", static_cast<int>(result.verdict), result.reason);
}

ConformanceResult ResultOf(const StatusOr<std::string>& answer) {
  if (!answer.ok()) return {Verdict::kFail, Message(answer.status())};
  return {static_cast<Verdict>((*answer)[0] - '0'), answer->substr(2)};
}

Execution ExecutionOf(const OnnxTestCommand& command) {
  return command.emulate ? Execution::kEmulator : Execution::kDevice;
}

// A function that runs in a process of its own, so that its crash does not end this process.
class IsolatedCall {
 public:
  // Forks. Expects that no other thread runs. Fails with Unavailable if no process can be made.
  static StatusOr<IsolatedCall> Start(const std::function<std::string()>& work);

  IsolatedCall(IsolatedCall&& other) noexcept;
  IsolatedCall& operator=(IsolatedCall&& other) = delete;
  ~IsolatedCall();  // ends the process if nobody waited for it

  // Waits and returns the result of `work`. Fails with Internal, saying how, if the process died,
  // failed a TCC_CHECK or took longer than `limit`, counted from the start; it is ended then. May
  // be called once.
  StatusOr<std::string> Wait(std::chrono::seconds limit);

 private:
  IsolatedCall(int process, int pipe) : process_(process), pipe_(pipe) {}

  int process_;
  int pipe_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

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

// A run of the tests in order, each in its own process, so that a crash fails one test and does not
// end all; `at_once` of them run at a time.
class TestRun {
 public:
  TestRun(const OnnxTestCommand& command, const Target& target)
      : command_(command), target_(target), at_once_(ThreadCount(command.threads)) {}

  Status Run(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (running_.size() == static_cast<size_t>(at_once_)) Report();
      std::string folder = command_.folder + "/" + name;
      TCC_ASSIGN_OR_RETURN(
          IsolatedCall call, IsolatedCall::Start([&] {
            return Answer(RunConformanceTest(folder, target_, ExecutionOf(command_)));
          }));
      running_.emplace_back(name, std::move(call));
    }
    while (!running_.empty()) Report();
    fmt::print("{} passed, {} failed, {} skipped\n", counts_[0], counts_[1], counts_[2]);
    if (counts_[1] == 0) return OkStatus();
    return WrongResult("{} of {} tests failed", counts_[1], names.size());
  }

 private:
  void Report() {
    auto& [name, call] = running_.front();
    ConformanceResult result = ResultOf(call.Wait(kLimit));
    auto verdict = static_cast<size_t>(result.verdict);
    ++counts_[verdict];
    fmt::print("{}\t{}\t{}\n", kVerdicts[verdict], name, result.reason);
    std::fflush(stdout);
    running_.pop_front();
  }

  const OnnxTestCommand& command_;
  const Target& target_;
  int at_once_;
  std::deque<std::pair<std::string, IsolatedCall>> running_;
  int counts_[3] = {};
};

Status RunOnnxTest(const OnnxTestCommand& command) {
  TCC_ASSIGN_OR_RETURN(Target target, FindTarget(command.target));
  // A missing tool or device would otherwise be the failure of every test.
  TCC_RETURN_IF_ERROR(LoadOptionsFor(target, ExecutionOf(command)).status());
  TCC_ASSIGN_OR_RETURN(std::vector<std::string> names, TestsToRun(command));
  return TestRun(command, target).Run(names);
}

}  // namespace

Action DeclareOnnxTest(CommandLine& line) {
  auto command = std::make_shared<OnnxTestCommand>();
  line.AddOption("folder", command->folder, "Folder of test folders, each with a model.onnx")
      .Required()
      .TypeName("DIR");
  AddTargetOption(line, command->target).Required();
  line.AddOption("--filter", command->filter, "Only tests whose name has a match").TypeName("RE");
  line.AddOption("--list", command->list,
                 "Only the tests in this file: the first column of each line")
      .TypeName("FILE");
  line.AddFlag(
      "--emulate", command->emulate,
      "Run a GPU's kernels on the CPU, from the text that NVRTC would get; a foreign CPU's "
      "by qemu");
  AddThreadsOption(line, command->threads);
  return [command] { return RunOnnxTest(*command); };
}

}  // namespace tcc
