#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/readable_units.h"
#include "cli/standard_error.h"

namespace tcc {
namespace {

using Json = nlohmann::ordered_json;

// On one line; messages may hold text that is not UTF-8.
std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr double kSilentSeconds = 1;  // unless telling was asked for
constexpr double kLineSeconds = 0.1;  // between updates of a terminal's line
constexpr double kPlainSeconds = 5;   // between lines of one stage
constexpr double kJsonSeconds = 0.5;  // between objects of one stage
constexpr const char* kSearchStage = "tuning";

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double TrialsPerSecond(const SearchState& search) {
  return search.seconds > 0 ? static_cast<double>(search.trials) / search.seconds : 0;
}

// "tuning: 120 of 300 trials, 31 s, 3.9 a second, last gain 1.42x of conv_3"; with a budget of time
// "tuning: 31 of 60 s, 120 trials, ...". A long name is cut, to fit a terminal's line.
std::string SearchText(const SearchState& search) {
  std::string text = search.most_trials > 0
                         ? fmt::format("{}: {} of {} trials, {:.0f} s", kSearchStage, search.trials,
                                       search.most_trials, search.seconds)
                         : fmt::format("{}: {:.0f} of {:g} s, {} trials", kSearchStage,
                                       search.seconds, search.most_seconds, search.trials);
  text += fmt::format(", {:.1f} a second", TrialsPerSecond(search));
  if (search.improved.empty()) return text;
  return text + fmt::format(", last gain {:.2f}x of {:.20}", search.gain, search.improved);
}

Json SearchJson(const SearchState& search) {
  bool counted = search.most_trials > 0;
  Json best;
  if (!search.improved.empty()) best = {{"task", search.improved}, {"gain", search.gain}};
  return {{"stage", kSearchStage},
          {"done", counted ? Json(search.trials) : Json(search.seconds)},
          {"total", counted ? Json(search.most_trials) : Json(search.most_seconds)},
          {"unit", counted ? "trials" : "s"},
          {"seconds", search.seconds},
          {"trials", search.trials},
          {"trials_per_second", TrialsPerSecond(search)},
          {"best", best}};
}

}  // namespace

void AddProgressOptions(CommandLine& line, ProgressOptions& options) {
  CommandOption mode = line.AddOption("--progress", options.mode, "How to tell what is being done")
                           .TypeName("auto|plain|json|none")
                           .OneOf({"auto", "plain", "json", "none"})
                           .ShowDefault();
  CommandOption verbose = line.AddFlag("-v,--verbose", options.verbose,
                                       "Tell how long each stage took and what a cache spared");
  line.AddFlag("-q,--quiet", options.quiet, "Tell nothing but what is wrong; no warnings either")
      .Excludes(mode)
      .Excludes(verbose);
}

Progress::Progress(const ProgressOptions& options)
    : mode_(options.quiet || options.mode == "none"           ? Mode::kNone
            : options.mode == "json"                          ? Mode::kJson
            : options.mode == "auto" && isatty(STDERR_FILENO) ? Mode::kLine
                                                              : Mode::kPlain),
      quiet_(options.quiet),
      verbose_(options.verbose),
      silent_seconds_(options.mode == "auto" ? kSilentSeconds : 0) {}

Progress::~Progress() {
  EndStage();
  Clear();
}

void Progress::Clear() {
  if (line_open_) TellError("\r\x1b[K");
  line_open_ = false;
}

ProgressHook Progress::hook() {
  return
      [this](const std::string& stage, int64_t done, int64_t total) { Report(stage, done, total); };
}

void Progress::EndStage() {
  if (!stage_.empty()) {
    TellDetail(fmt::format("{}: {:.3f} s", stage_, Seconds(Clock::now() - stage_start_)));
  }
  stage_.clear();
}

void Progress::Begin(const std::string& stage) {
  if (stage == stage_) return;
  EndStage();
  stage_ = stage;
  stage_start_ = Clock::now();
}

void Progress::Report(const std::string& stage, int64_t done, int64_t total) {
  Begin(stage);
  if (!TakeTurn(stage)) return;
  double seconds = Seconds(Clock::now() - start_);
  if (mode_ == Mode::kJson) {
    Json line = {{"stage", stage}, {"done", done}, {"total", total}, {"seconds", seconds}};
    TellError("{}\n", Dump(line));
  } else if (total > 1) {
    Write(fmt::format("{} {} of {}, {:.0f} s", stage, done, total, seconds));
  } else {
    Write(fmt::format("{}, {:.0f} s", stage, seconds));
  }
}

void Progress::ReportSearch(const SearchState& search) {
  Begin(kSearchStage);
  untold_ = search;
  if (!TakeTurn(kSearchStage)) return;
  untold_.reset();
  WriteSearch(search);
}

void Progress::EndSearch() {
  if (untold_ && mode_ != Mode::kLine && IsTelling(Clock::now())) WriteSearch(*untold_);
  untold_.reset();
  Clear();
}

bool Progress::IsTelling(Clock::time_point now) const {
  return mode_ != Mode::kNone && Seconds(now - start_) >= silent_seconds_;
}

bool Progress::TakeTurn(const std::string& stage) {
  Clock::time_point now = Clock::now();
  if (!IsTelling(now)) return false;
  double pause = mode_ == Mode::kLine   ? kLineSeconds
                 : mode_ == Mode::kJson ? kJsonSeconds
                                        : kPlainSeconds;
  if (stage == told_stage_ && Seconds(now - last_) < pause) return false;
  last_ = now;
  told_stage_ = stage;
  return true;
}

void Progress::Write(const std::string& text) {
  if (mode_ == Mode::kLine) {
    TellError("\r\x1b[K{}", text);
    line_open_ = true;
  } else {
    TellError("tcc: {}\n", text);
  }
}

void Progress::WriteSearch(const SearchState& search) {
  if (mode_ == Mode::kJson) {
    TellError("{}\n", Dump(SearchJson(search)));
  } else {
    Write(SearchText(search));
  }
}

void Progress::Warn(const std::string& message) {
  if (quiet_) return;
  if (mode_ == Mode::kJson) {
    TellError("{}\n", Dump(Json{{"warning", message}}));
    return;
  }
  TellError("{}tcc: warning: {}\n", line_open_ ? "\r\x1b[K" : "", message);
  line_open_ = false;
}

void Progress::Tell(const std::string& message) {
  if (mode_ != Mode::kNone) WriteNote(message);
}

void Progress::TellDetail(const std::string& message) {
  if (verbose_) WriteNote(message);
}

void Progress::WriteNote(const std::string& message) {
  if (mode_ == Mode::kJson) {
    TellError("{}\n", Dump(Json{{"note", message}}));
    return;
  }
  TellError("{}tcc: {}\n", line_open_ ? "\r\x1b[K" : "", message);
  line_open_ = false;
}

void Progress::TellWritten(const Written& written) {
  EndStage();
  if (mode_ == Mode::kNone) return;
  if (mode_ == Mode::kJson) {
    Json line = {{"stage", "wrote"},
                 {"done", 1},
                 {"total", 1},
                 {"seconds", written.seconds},
                 {"file", written.file},
                 {"bytes", written.bytes},
                 {"kernels", written.kernels}};
    TellError("{}\n", Dump(line));
    return;
  }
  TellError("{}tcc: wrote {}, {}, {} kernel{}, {:.1f} s\n", line_open_ ? "\r\x1b[K" : "",
            written.file, ReadableBytes(written.bytes), written.kernels,
            written.kernels == 1 ? "" : "s", written.seconds);
  line_open_ = false;
}

}  // namespace tcc
