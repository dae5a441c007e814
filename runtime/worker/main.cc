// tcc-worker: measures kernels for a tuner, which starts it with a socket as its descriptor 3; with
// --stdio the tuner is at the other end of its standard streams; with --batch it measures a file of
// candidates and is its own tuner.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/measure/serve_measurements.h"
#include "runtime/supervise/serve_batch.h"

namespace tcc {
namespace {

constexpr const char* kUsage =
    "usage: tcc-worker --batch B --results R [--seconds S] [--ordinal K] [--visit N]\n"
    "Measures the candidates of B, which `tcc tune --emit` wrote, and appends lines to R for\n"
    "`tcc db import`. Without options a tuner starts this program, with a socket as descriptor 3;\n"
    "with --stdio alone it speaks to a tuner over its standard streams (tcc tune --worker).\n";

enum ExitCode {
  kOk = 0,
  kUsageError = 2,
  kBadInput = 4,
  kNoDevice = 5,
  kNothingRan = 6,
  kBug = 70
};

ExitCode CodeOf(const Status& status) {
  if (status.ok()) return kOk;
  if (absl::IsFailedPrecondition(status)) return kUsageError;
  if (absl::IsUnavailable(status)) return kNoDevice;
  if (absl::IsDeadlineExceeded(status)) return kNothingRan;
  return absl::IsInternal(status) ? kBug : kBadInput;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number least, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= least &&
         number <= Number{1'000'000};
}

StatusOr<ServeBatchOptions> OptionsIn(int count, char** arguments) {
  ServeBatchOptions options;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = arguments[i];
    const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
    bool good = !value.empty();
    if (name == "--batch") {
      options.batch = value;
    } else if (name == "--results") {
      options.results = value;
    } else if (name == "--seconds") {
      good = ReadNumber(value, 0.0, options.seconds);
    } else if (name == "--ordinal") {
      good = ReadNumber(value, uint32_t{0}, options.ordinal);
    } else if (name == "--visit") {
      good = ReadNumber(value, size_t{1}, options.visit);
    } else {
      return UsageError("unknown option {}", name);
    }
    if (!good) return UsageError("{} {}: expected a value that fits", name, value);
  }
  if (options.batch.empty() || options.results.empty()) {
    return UsageError("expected --batch and --results");
  }
  return options;
}

void Say(const std::string& message) {
  fmt::print(stderr, "tcc-worker: {}\n", message);
}

int MeasureBatch(int count, char** arguments) {
  StatusOr<ServeBatchOptions> options = OptionsIn(count, arguments);
  if (!options.ok()) {
    Say(Message(options.status()));
    std::fputs(kUsage, stderr);
    return kUsageError;
  }
  std::error_code ignored;
  options->worker = std::filesystem::read_symlink("/proc/self/exe", ignored);
  options->say = Say;
  const Status status = ServeBatch(*options);
  if (!status.ok()) Say(Message(status));
  return CodeOf(status);
}

// Moves the standard streams out of reach first: what a kernel or a driver prints goes to stderr,
// not between frames.
int ServeStandardStreams() {
  std::signal(SIGPIPE, SIG_IGN);  // that the tuner is gone shows when a pipe is written
  const int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (input < 0 || output < 0 || nothing < 0) {
    Say(fmt::format("--stdio: no standard streams: {}", std::strerror(errno)));
    return kUsageError;
  }
  dup2(nothing, STDIN_FILENO);
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) dup2(nothing, STDOUT_FILENO);
  return ServeMeasurements(input, output);
}

}  // namespace
}  // namespace tcc

int main(int count, char** arguments) {
  if (count == 2 && std::strcmp(arguments[1], "--help") == 0) {
    std::fputs(tcc::kUsage, stdout);
    return 0;
  }
  if (count == 2 && std::strcmp(arguments[1], "--stdio") == 0) return tcc::ServeStandardStreams();
  if (count > 1) return tcc::MeasureBatch(count, arguments);
  constexpr int kSocket = 3;
  struct stat found{};
  if (fstat(kSocket, &found) != 0 || !S_ISSOCK(found.st_mode)) {
    std::fputs("tcc-worker: descriptor 3 is no socket; a tuner starts this program\n", stderr);
    return 2;
  }
  return tcc::ServeMeasurements(kSocket, kSocket);
}
