#include "cli/error_report.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/model_options.h"
#include "cli/standard_error.h"

namespace tcc {
namespace {

constexpr std::string_view kOption = "--errors";
constexpr const char* kJson = "json";

// Read by a signal's handler and by the handler of failed checks.
std::atomic<bool> json_errors = false;

// A newline comes first where a line of progress may be open.
constexpr char kInterrupted[] =
    "\n{\"error\":{\"code\":130,\"kind\":\"cancelled\",\"message\":\"interrupted\","
    "\"options\":[]}}\n";
constexpr char kNoMemoryMessage[] =
    "tcc: out of memory: the input is too large for what this machine has left\n";
constexpr char kNoMemoryJson[] =
    "\n{\"error\":{\"code\":4,\"kind\":\"no_memory\",\"message\":\"out of memory: the input is too "
    "large for what this machine has left\",\"options\":[]}}\n";

void Put(const char* text) {
  // Nothing can be done where standard error takes no more.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

// Returns whether the arguments hold "--errors json" or "--errors=json".
bool AsksForJson(int argc, char** argv) {
  const std::string joined = std::string(kOption) + "=" + kJson;
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (argv[i] == joined) return true;
    if (argv[i] == kOption && i + 1 < argc && std::string_view(argv[i + 1]) == kJson) return true;
  }
  return false;
}

std::string JsonLine(const Status& status) {
  Outcome outcome = OutcomeOf(status);
  nlohmann::ordered_json error = {{"code", outcome.code},
                                  {"kind", outcome.kind},
                                  {"message", Message(status)},
                                  {"options", OptionTexts(status)}};
  // Messages may hold text that is not UTF-8.
  return nlohmann::ordered_json{{"error", error}}.dump(
             -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace

void AddErrorsOption(CommandLine& program, std::string& format) {
  program.AddOption(std::string(kOption), format, "How to tell what is wrong")
      .TypeName("text|json")
      .OneOf({"text", kJson})
      .ShowDefault();
  for (CommandLine& command : program.Commands()) {
    AddErrorsOption(command, format);
    command.Find(std::string(kOption)).Hide();
  }
}

void ChooseErrorFormat(int argc, char** argv) {
  json_errors = AsksForJson(argc, argv);
  if (!json_errors) return;
  // A program that is started with SIGINT ignored, in the background, goes on ignoring it.
  if (std::signal(SIGINT, EndBySignal) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
}

ExitCode TellFailure(const Status& status, const std::string& hint) {
  if (json_errors) {
    PutError(JsonLine(status));
  } else {
    PutError("tcc: " + MessageWithOptions(status) + "\n" + hint);
  }
  return ExitCodeOf(status);
}

ExitCode TellNoMemory() {
  Put(json_errors ? kNoMemoryJson : kNoMemoryMessage);
  return ExitCodeOf(absl::ResourceExhaustedError(""));
}

// Calls only what a signal's handler may.
void EndBySignal(int signal) {
  if (signal == SIGINT && json_errors) Put(kInterrupted);
  std::signal(signal, SIG_DFL);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::raise(signal);
}

}  // namespace tcc
