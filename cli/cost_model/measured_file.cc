#include "cli/cost_model/measured_file.h"

#include <fmt/ranges.h>
#include <lzma.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/packed_text.h"
#include "ir/analysis/canonical.h"
#include "ir/analysis/canonical_names.h"
#include "ir/text/parser.h"
#include "runtime/measure/measurement.h"
#include "search/database/database_rows.h"
#include "support/file.h"
#include "support/json_fields.h"
#include "support/sha256.h"
#include "support/status.h"

namespace tcc {
namespace {

constexpr size_t kPiece = size_t{1} << 20;
// The highest preset of xz takes 65 MiB to unpack.
constexpr uint64_t kMaxMemory = uint64_t{256} << 20;

StatusOr<std::string> UnpackXz(std::span<const uint8_t> packed, const std::string& path) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxMemory, LZMA_CONCATENATED) != LZMA_OK) {
    return absl::ResourceExhaustedError("no memory to unpack " + path);
  }
  std::string text;
  std::vector<uint8_t> piece(kPiece);
  stream.next_in = packed.data();
  stream.avail_in = packed.size();
  lzma_ret ret = LZMA_OK;
  while (ret == LZMA_OK) {
    stream.next_out = piece.data();
    stream.avail_out = piece.size();
    ret = lzma_code(&stream, LZMA_FINISH);
    text.append(piece.begin(), piece.end() - static_cast<ptrdiff_t>(stream.avail_out));
  }
  lzma_end(&stream);
  if (ret == LZMA_STREAM_END) return text;
  if (ret == LZMA_MEM_ERROR || ret == LZMA_MEMLIMIT_ERROR) {
    return InvalidInput("{}: expected an xz file that unpacks in {} MiB", path, kMaxMemory >> 20);
  }
  return InvalidInput("{}: expected a whole xz file; it is damaged or cut off", path);
}

// Reads the text of a file and unpacks it if its name ends in .xz or .zst. Error: the file cannot
// be read, or is damaged or cut off.
StatusOr<std::string> ReadCompressedText(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  if (path.ends_with(".xz")) return UnpackXz(file.bytes, path);
  if (path.ends_with(".zst")) return UnpackText(file.bytes, path);
  return std::string(file.bytes.begin(), file.bytes.end());
}

using nlohmann::json;

// Returns the sizes of a schedule: {"mm.i.1": 4} or ["mm.i.1=4"].
StatusOr<Decisions> SizesIn(const JsonFields& fields, const char* name) {
  const std::string field = fmt::format("field '{}'", name);
  const json* value = fields.Find(name);
  if (value && !value->is_structured()) return JsonFields::Unexpected(name, "sizes", *value);
  if (!value || value->is_array()) {
    TCC_ASSIGN_OR_RETURN(std::vector<std::string> words, fields.Texts(name));
    StatusOr<Decisions> parsed = ParseDecisions(fmt::format("{}", fmt::join(words, " ")));
    return parsed.ok() ? parsed : Annotate(parsed.status(), field);
  }
  Decisions sizes;
  for (const auto& size : value->items()) {
    StatusOr<int64_t> chosen = JsonFields(*value).Whole(size.key());
    if (!chosen.ok()) return Annotate(chosen.status(), field);
    sizes[size.key()] = *chosen;
  }
  return sizes;
}

// Reads the lines of one file.
class MeasurementReader {
 public:
  explicit MeasurementReader(MeasuredTasks& tasks) : tasks_(tasks) {}

  Status ReadLine(std::string_view line) {
    json object = json::parse(line, nullptr, false);
    if (!object.is_object()) return InvalidInput("expected a JSON object");
    JsonFields fields(object);
    if (fields.Has("trace") || fields.Has("status")) return ReadMeasurement(fields);
    if (fields.Has("function")) {
      is_export_ = true;
      TCC_ASSIGN_OR_RETURN(std::string key, fields.Text("function"));
      TCC_ASSIGN_OR_RETURN(functions_[key], fields.Text("text"));
      return OkStatus();
    }
    if (fields.Has("workload")) {
      TCC_ASSIGN_OR_RETURN(std::string key, fields.Text("workload"));
      TCC_ASSIGN_OR_RETURN(names_[key], fields.Text("name"));
      return OkStatus();
    }
    if (fields.Has("records")) {
      TCC_ASSIGN_OR_RETURN(told_records_, fields.Whole("records"));
      TCC_ASSIGN_OR_RETURN(told_sum_, fields.Text("sha256"));
      return OkStatus();
    }
    return InvalidInput("expected a measurement, a function, a workload or the end of an export");
  }

  // Whether the last line of an export is there and says what came before it. `before`: the text
  // up to that line.
  Status CheckEnd(std::string_view before) const {
    if (!is_export_) return OkStatus();
    if (told_sum_.empty()) return InvalidInput("expected the end of the export: it is cut off");
    std::string found = ToHex(Sha256(before));
    if (found != told_sum_) {
      return InvalidInput("the checksum of the lines before is '{}'; the line says '{}'", found,
                          told_sum_);
    }
    if (records_ == told_records_) return OkStatus();
    return InvalidInput("the export has {} records; the line says {}", records_, told_records_);
  }

 private:
  Status ReadMeasurement(const JsonFields& fields) {
    ++records_;
    TCC_ASSIGN_OR_RETURN(std::string status, fields.Text("status"));
    std::optional<MeasureStatus> known = FindMeasureStatus(status);
    if (!known) return InvalidInput("field 'status': '{}' is not known", status);
    int64_t series = 0;
    if (fields.Has("series")) {
      TCC_ASSIGN_OR_RETURN(series, fields.Whole("series"));
    }
    if (!HasTime(*known) || series != 0) {
      tasks_.Skip();
      return OkStatus();
    }
    MeasuredRecord record;
    record.precise = *known == MeasureStatus::kOk;
    TCC_ASSIGN_OR_RETURN(std::string searcher, fields.TextOr("searcher", ""));
    record.constructed = searcher == "constructed";
    TCC_ASSIGN_OR_RETURN(record.target, fields.TextOr("target", ""));
    TCC_ASSIGN_OR_RETURN(record.device, fields.TextOr("device", ""));
    TCC_RETURN_IF_ERROR(ReadCandidate(fields, record));
    TCC_RETURN_IF_ERROR(ReadTime(fields, record));
    tasks_.Add(record);
    return OkStatus();
  }

  // The key that an export has for the function, so that it is one task in either form; the text
  // itself if it cannot be read.
  const std::string& KeyOf(const std::string& text) {
    auto [place, is_new] = keys_.try_emplace(text, text);
    if (!is_new) return place->second;
    StatusOr<Function> fn = ParseFunction(text);
    if (fn.ok()) place->second = FunctionKey(WithCanonicalNames(*fn));
    return place->second;
  }

  Status ReadCandidate(const JsonFields& fields, MeasuredRecord& record) {
    TCC_ASSIGN_OR_RETURN(record.fn, fields.Text("fn"));
    TCC_ASSIGN_OR_RETURN(record.trace, fields.Text("trace"));
    TCC_ASSIGN_OR_RETURN(record.set, SizesIn(fields, "set"));
    if (!fields.Has("workload")) {
      record.task = KeyOf(record.fn);
      TCC_ASSIGN_OR_RETURN(record.name, fields.TextOr("kernel", ""));
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(record.task, fields.Text("workload"));
    auto name = names_.find(record.task);
    if (name != names_.end()) record.name = name->second;
    auto function = functions_.find(record.fn);
    if (function == functions_.end()) {
      return InvalidInput("field 'fn': no line before has the function '{}'", record.fn);
    }
    record.fn = function->second;
    return OkStatus();
  }

  static Status ReadTime(const JsonFields& fields, MeasuredRecord& record) {
    TCC_ASSIGN_OR_RETURN(record.seconds, fields.Number("seconds"));
    if (record.seconds <= 0) {
      return InvalidInput("field 'seconds': expected more than 0, got {}", record.seconds);
    }
    TCC_ASSIGN_OR_RETURN(double spread, fields.AmountOr("spread", kUsualNoise));
    TCC_ASSIGN_OR_RETURN(record.noise, fields.AmountOr("noise", std::max(spread, kUsualNoise)));
    TCC_ASSIGN_OR_RETURN(int64_t threads, fields.Whole("threads"));
    if (threads < 1 || threads > kMaxThreads) {
      return InvalidInput("field 'threads': expected 1 to {}, got {}", kMaxThreads, threads);
    }
    record.threads = static_cast<int>(threads);
    bool cold = false;
    if (fields.Has("cold")) {
      TCC_ASSIGN_OR_RETURN(cold, fields.Bool("cold"));
    }
    TCC_ASSIGN_OR_RETURN(record.policy, fields.TextOr("policy", cold ? "rotate-64M" : "warm"));
    if (!IsKnownPolicy(record.policy)) {
      return InvalidInput("field 'policy': '{}' is not known", record.policy);
    }
    return OkStatus();
  }

  static constexpr double kUsualNoise = 0.02;
  static constexpr int64_t kMaxThreads = 4096;

  MeasuredTasks& tasks_;
  std::map<std::string, std::string> functions_;  // text by key
  std::map<std::string, std::string> names_;      // of workloads
  std::map<std::string, std::string> keys_;       // by text
  bool is_export_ = false;
  int64_t records_ = 0;
  int64_t told_records_ = 0;
  std::string told_sum_;  // "" until the end of an export
};

}  // namespace

Status ReadMeasurements(const std::string& path, MeasuredTasks& tasks) {
  TCC_ASSIGN_OR_RETURN(std::string text, ReadCompressedText(path));
  MeasurementReader reader(tasks);
  int64_t number = 0;
  size_t last = 0;
  auto named = [&](const Status& status) {
    return InvalidInput("{}:{}: {}", path, number, Message(status));
  };
  for (size_t first = 0; first < text.size();) {
    size_t end = std::min(text.find('\n', first), text.size());
    ++number;
    if (end > first) {
      last = first;
      Status status = reader.ReadLine(std::string_view(text).substr(first, end - first));
      if (!status.ok()) return named(status);
    }
    first = end + 1;
  }
  Status status = reader.CheckEnd(std::string_view(text).substr(0, last));
  return status.ok() ? status : named(status);
}

}  // namespace tcc
