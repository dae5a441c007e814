#include <charconv>

#include "api/c_options.h"
#include "compiler/schedule_folder.h"
#include "support/npy.h"
#include "support/option_values.h"

// The C API's options in libtcc, for loading, compiling and tuning.
namespace tcc {
namespace {

// Options that are given again for further names refuse a name that comes twice, as on the command
// line.
template <typename T>
Status PutOnce(std::map<std::string, T>& map, const std::string& key, const std::string& name,
               T value) {
  if (map.emplace(name, std::move(value)).second) return OkStatus();
  return UsageError("{}: '{}' is given twice", key, name);
}

Status SetDim(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment(key, value));
  TCC_ASSIGN_OR_RETURN(auto dim, ParseDim(key, pair.second));
  v1::CompileOptions& compile = options.tune.compile;
  if (const auto* size = std::get_if<int64_t>(&dim)) {
    return PutOnce(compile.dims, key, pair.first, *size);
  }
  const auto& range = std::get<DimRange>(dim);
  return PutOnce(compile.ranges, key, pair.first, {range.low, range.high, range.usual});
}

// Each value is one more size: "B=1,S=16".
Status SetAt(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(auto size, ParseExtents(key, value));
  options.tune.compile.at.push_back(std::move(size));
  return OkStatus();
}

Status SetShape(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment(key, value));
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ParseShape(key, pair.second));
  return PutOnce(options.tune.compile.shapes, key, pair.first, std::move(shape));
}

Status SetBind(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(auto pair, SplitAssignment(key, value));
  TCC_ASSIGN_OR_RETURN(Tensor tensor, ReadNpy(pair.second));
  return PutOnce(options.binds, key, pair.first, std::move(tensor));
}

Status SetLinks(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(options.tune.compile.follow_links, ParseBool(key, value));
  return OkStatus();
}

Status SetSchedule(tcc_options& options, const std::string& /*key*/, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(Schedules schedules, ReadSchedules(value));
  options.tune.compile.schedules.clear();
  for (const auto& [kernel, schedule] : schedules) {
    options.tune.compile.schedules.emplace(kernel, Print(schedule));
  }
  return OkStatus();
}

Status SetNoWinograd(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(bool direct, ParseBool(key, value));
  options.tune.compile.winograd = !direct;
  return OkStatus();
}

Status SetNotes(tcc_options& options, const std::string& key, const std::string& value) {
  if (value != "full" && value != "none") {
    return UsageError("{}: expected 'full' or 'none', got '{}'", key, value);
  }
  options.tune.compile.notes = value == "full";
  return OkStatus();
}

Status SetDatabase(tcc_options& options, const std::string& /*key*/, const std::string& value) {
  options.tune.compile.database = value;
  options.tune.database = value;
  return OkStatus();
}

// Returns the number of "0" or "cuda:0".
std::optional<int> OrdinalOf(std::string_view device) {
  constexpr std::string_view kPrefix = "cuda:";
  if (device.starts_with(kPrefix)) device.remove_prefix(kPrefix.size());
  int ordinal = -1;
  auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), ordinal);
  const bool is_number = error == std::errc() && end == device.data() + device.size();
  return is_number && ordinal >= 0 ? std::optional(ordinal) : std::nullopt;
}

// A number is a GPU to run or measure on; another text is a part of a recorded device's name.
Status SetDevice(tcc_options& options, const std::string& /*key*/, const std::string& value) {
  if (std::optional<int> ordinal = OrdinalOf(value)) {
    options.load.device = *ordinal;
    options.tune.device = *ordinal;
  } else {
    options.tune.compile.device = value;
  }
  return OkStatus();
}

Status SetThreads(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(int threads, ParseInt(key, value));
  options.load.threads = threads;
  options.tune.threads = threads;
  options.tune.compile.threads = threads;
  return OkStatus();
}

// The budget is what was set last.
Status SetTimeBudget(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(options.tune.seconds, ParseSeconds(key, value));
  options.tune.trials = 0;
  return OkStatus();
}

Status SetTrials(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(options.tune.trials, ParseSize(key, value));
  options.tune.seconds = 0;
  return OkStatus();
}

Status SetSeed(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(int64_t seed, ParseSize(key, value));
  options.tune.seed = static_cast<uint64_t>(seed);
  return OkStatus();
}

// Sets a text, which Compile or Tune checks.
template <auto Member>
Status SetCompileText(tcc_options& options, const std::string& /*key*/, const std::string& value) {
  options.tune.compile.*Member = value;
  return OkStatus();
}

template <auto Member>
Status SetTuneText(tcc_options& options, const std::string& /*key*/, const std::string& value) {
  options.tune.*Member = value;
  return OkStatus();
}

constexpr OptionRow kOptions[] = {
    {"dim", SetDim},
    {"shape", SetShape},
    {"at", SetAt},
    {"bind", SetBind},
    {"external-data-dir", SetCompileText<&v1::CompileOptions::external_data_folder>},
    {"allow-symlinks", SetLinks},
    {"target", SetCompileText<&v1::CompileOptions::target>},
    {"schedule", SetSchedule},
    {"numeric", SetCompileText<&v1::CompileOptions::numeric>},
    {"no-winograd", SetNoWinograd},
    {"notes", SetNotes},
    {"db", SetDatabase},
    {"device", SetDevice},
    {"threads", SetThreads},
    {"map-weights", SetMapWeights},
    {"time-budget", SetTimeBudget},
    {"trials", SetTrials},
    {"searcher", SetTuneText<&v1::TuneOptions::searcher>},
    {"cost-model", SetTuneText<&v1::TuneOptions::cost_model>},
    {"policy", SetTuneText<&v1::TuneOptions::policy>},
    {"worker", SetTuneText<&v1::TuneOptions::worker>},
    {"seed", SetSeed},
};

}  // namespace

std::span<const OptionRow> EmbeddedOptions() {
  return kOptions;
}

}  // namespace tcc
