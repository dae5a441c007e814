#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/readable_units.h"
#include "cli/standard_error.h"

namespace tcc {
namespace {

constexpr double kSilentSeconds = 1;  // unless telling was asked for
constexpr double kLineSeconds = 0.1;  // between updates of a terminal's line
constexpr double kPlainSeconds = 5;   // between lines of one stage

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void AddProgressOption(CommandLine& line, std::string& mode) {
  line.AddOption("--progress", mode, "How to tell what is being done")
      .TypeName("auto|plain|json|none")
      .OneOf({"auto", "plain", "json", "none"})
      .ShowDefault();
}

Progress::Progress(const std::string& mode)
    : mode_(mode == "none"                            ? Mode::kNone
            : mode == "json"                          ? Mode::kJson
            : mode == "auto" && isatty(STDERR_FILENO) ? Mode::kLine
                                                      : Mode::kPlain),
      silent_seconds_(mode == "auto" ? kSilentSeconds : 0) {}

Progress::~Progress() {
  if (line_open_) TellError("\r\x1b[K");
}

ProgressHook Progress::hook() {
  return
      [this](const std::string& stage, int64_t done, int64_t total) { Report(stage, done, total); };
}

void Progress::Report(const std::string& stage, int64_t done, int64_t total) {
  Clock::time_point now = Clock::now();
  double seconds = Seconds(now - start_);
  if (mode_ == Mode::kNone || seconds < silent_seconds_) return;
  double pause = mode_ == Mode::kLine ? kLineSeconds : kPlainSeconds;
  if (stage == last_stage_ && Seconds(now - last_) < pause) return;
  last_ = now;
  last_stage_ = stage;
  Write(stage, done, total, seconds);
}

void Progress::Warn(const std::string& message) {
  if (mode_ == Mode::kJson) {
    TellError("{}\n", nlohmann::ordered_json{{"warning", message}}.dump());
    return;
  }
  TellError("{}tcc: warning: {}\n", line_open_ ? "\r\x1b[K" : "", message);
  line_open_ = false;
}

void Progress::Tell(const std::string& message) {
  if (mode_ == Mode::kNone) return;
  if (mode_ == Mode::kJson) {
    TellError("{}\n", nlohmann::ordered_json{{"note", message}}.dump());
    return;
  }
  TellError("{}tcc: {}\n", line_open_ ? "\r\x1b[K" : "", message);
  line_open_ = false;
}

void Progress::TellWritten(const Written& written) {
  if (mode_ == Mode::kNone) return;
  if (mode_ == Mode::kJson) {
    nlohmann::ordered_json line = {{"stage", "wrote"},
                                   {"done", 1},
                                   {"total", 1},
                                   {"seconds", written.seconds},
                                   {"file", written.file},
                                   {"bytes", written.bytes},
                                   {"kernels", written.kernels}};
    TellError("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  TellError("{}tcc: wrote {}, {}, {} kernel{}, {:.1f} s\n", line_open_ ? "\r\x1b[K" : "",
            written.file, ReadableBytes(written.bytes), written.kernels,
            written.kernels == 1 ? "" : "s", written.seconds);
  line_open_ = false;
}

void Progress::Write(const std::string& stage, int64_t done, int64_t total, double seconds) {
  if (mode_ == Mode::kJson) {
    nlohmann::ordered_json line = {
        {"stage", stage}, {"done", done}, {"total", total}, {"seconds", seconds}};
    TellError("{}\n", line.dump());
    return;
  }
  std::string text = total > 1 ? fmt::format("{} {} of {}, {:.0f} s", stage, done, total, seconds)
                               : fmt::format("{}, {:.0f} s", stage, seconds);
  if (mode_ == Mode::kLine) {
    TellError("\r\x1b[K{}", text);
    line_open_ = true;
  } else {
    TellError("tcc: {}\n", text);
  }
}

}  // namespace tcc
