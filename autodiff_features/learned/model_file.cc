#include "autodiff_features/learned/model_file.h"

#include <absl/strings/numbers.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/file.h"
#include "support/sha256.h"
#include "support/target_api.h"

namespace tcc {
namespace {

constexpr std::string_view kMagic = "tcc-cost-model 1";
constexpr size_t kDigestDigits = 12;
constexpr int64_t kMaxMembers = 64;
constexpr std::string_view kOfCuda = "target cuda", kOfOpenCl = "target opencl";
static_assert(std::endian::native == std::endian::little);

std::string DigestOf(const FeatureRow& row) {
  Sha256Digest digest = Sha256(fmt::format("{}\n{}", row.unit, row.definition));
  return ToHex(digest).substr(0, kDigestDigits);
}

std::string HeaderOf(const LearnedModel& model) {
  std::string text = fmt::format("{}\nfeatures {}\n", kMagic, kFeatureVersion);
  for (const FeatureRow& row : FeatureRows(model.kind())) {
    text += fmt::format("row {} {}\n", row.name, DigestOf(row));
  }
  DeviceProfile profile = model.profile;
  if (const auto* gpu = std::get_if<GpuProfile>(&profile)) {
    text += gpu->sm == 0 ? fmt::format("{}\nrow {}\n", kOfOpenCl, gpu->device)
                         : fmt::format("{}\nsm {}\n", kOfCuda, gpu->sm);
    text += fmt::format("multiprocessors {}\n", gpu->multiprocessors);
  } else {
    text += "target cpu\n";
  }
  for (const DeviceConstant& constant : ConstantsIn(profile)) {
    text += fmt::format("constant {} {}\n", constant.name, *constant.value);
  }
  text += model.on_prior ? "prior yes\n" : fmt::format("mean {}\n", model.ln_mean);
  double bound = model.members.empty() ? 0.0 : model.members[0].bound();
  return text + fmt::format("bound {}\nmembers {}\n\n", bound, model.members.size());
}

void AppendFloats(std::span<const double> values, std::vector<uint8_t>& bytes) {
  for (double value : values) {
    auto word = std::bit_cast<uint32_t>(static_cast<float>(value));
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back((word >> shift) & 255);
  }
}

// Takes the header's lines one by one.
class HeaderReader {
 public:
  HeaderReader(std::string_view header, std::string name) : name_(std::move(name)) {
    for (size_t first = 0; first <= header.size();) {
      size_t end = std::min(header.find('\n', first), header.size());
      lines_.push_back(header.substr(first, end - first));
      first = end + 1;
    }
  }

  Status Error(const std::string& expected) const {
    std::string_view line = next_ < lines_.size() ? lines_[next_] : "the end";
    return InvalidInput("{}: expected {}, got '{}'", name_, expected, line.substr(0, 60));
  }
  // The rest of the next line, if that begins with `word`.
  StatusOr<std::string> Take(std::string_view word) {
    std::string prefix = std::string(word) + " ";
    if (!Begins(word)) return Error("'" + prefix + "..'");
    return std::string(lines_[next_++].substr(prefix.size()));
  }
  bool Begins(std::string_view word) const {
    return next_ < lines_.size() && lines_[next_].starts_with(std::string(word) + " ");
  }
  StatusOr<double> TakeNumber(std::string_view word) {
    TCC_ASSIGN_OR_RETURN(std::string text, Take(word));
    double value = 0;
    if (!HasBlank(text) && absl::SimpleAtod(text, &value) && std::isfinite(value)) return value;
    --next_;
    return Error(fmt::format("a number behind '{}'", word));
  }
  StatusOr<int64_t> TakeWhole(std::string_view word) {
    TCC_ASSIGN_OR_RETURN(std::string text, Take(word));
    int64_t value = 0;
    if (!HasBlank(text) && absl::SimpleAtoi(text, &value)) return value;
    --next_;
    return Error(fmt::format("a whole number behind '{}'", word));
  }
  // The next line, which is `line` and nothing else.
  Status TakeLine(std::string_view line) {
    if (!IsAt(line)) return Error(fmt::format("'{}'", line));
    ++next_;
    return OkStatus();
  }
  bool Holds(std::string_view line) const {
    return std::ranges::find(lines_, line) != lines_.end();
  }
  bool IsAt(std::string_view line) const { return next_ < lines_.size() && lines_[next_] == line; }
  Status ExpectEnd() const {
    return next_ == lines_.size() ? OkStatus() : Error("the end of the header");
  }

 private:
  // Abseil skips blanks round a number.
  static bool HasBlank(std::string_view text) {
    return text.find_first_of(" \t\v\f\r") != std::string_view::npos;
  }

  std::vector<std::string_view> lines_;
  size_t next_ = 0;
  std::string name_;
};

Status CheckFeatures(HeaderReader& reader, const std::string& name) {
  TCC_ASSIGN_OR_RETURN(std::string version, reader.Take("features"));
  const bool of_gpu = reader.Holds(kOfCuda) || reader.Holds(kOfOpenCl);
  const FeatureKind kind = of_gpu ? FeatureKind::kLaunch : FeatureKind::kNest;
  for (const FeatureRow& row : FeatureRows(kind)) {
    if (!reader.Begins("row")) {
      return InvalidInput("{}: made by another tcc: it has no feature '{}'", name, row.name);
    }
    TCC_ASSIGN_OR_RETURN(std::string known, reader.Take("row"));
    if (known == fmt::format("{} {}", row.name, DigestOf(row))) continue;
    std::string of_file = known.substr(0, known.find(' '));
    return InvalidInput("{}: made by another tcc: feature '{}' is not this tcc's '{}'", name,
                        of_file, row.name);
  }
  if (reader.Begins("row")) {
    TCC_ASSIGN_OR_RETURN(std::string more, reader.Take("row"));
    return InvalidInput("{}: made by another tcc: feature '{}' is not known", name,
                        more.substr(0, more.find(' ')));
  }
  if (version == std::to_string(kFeatureVersion)) return OkStatus();
  return InvalidInput("{}: made by another tcc: version {} of the features, this one has {}", name,
                      version, kFeatureVersion);
}

// Takes the row of a GPU: the architecture of CUDA's, the target of OpenCL's.
StatusOr<GpuProfile> TakeGpu(HeaderReader& reader, const std::string& name) {
  if (reader.IsAt(kOfOpenCl)) {
    TCC_RETURN_IF_ERROR(reader.TakeLine(kOfOpenCl));
    TCC_ASSIGN_OR_RETURN(const std::string row, reader.Take("row"));
    const StatusOr<Target> target = FindTarget(row);
    if (target.ok() && IsOpenCl(*target)) return GpuProfileOf(*target);
    return InvalidInput("{}: '{}' is not a known GPU of OpenCL's", name, row);
  }
  TCC_RETURN_IF_ERROR(reader.TakeLine(kOfCuda));
  TCC_ASSIGN_OR_RETURN(const int64_t sm, reader.TakeWhole("sm"));
  const GpuProfile& gpu = GpuProfileOf(static_cast<int>(std::clamp<int64_t>(sm, 1, 1000)));
  if (gpu.sm == sm) return gpu;
  return InvalidInput("{}: sm {} is not a known GPU", name, sm);
}

// Takes the kind of device and its sizes. Returns a profile whose constants come next.
StatusOr<DeviceProfile> TakeDevice(HeaderReader& reader, const std::string& name) {
  if (!reader.IsAt(kOfCuda) && !reader.IsAt(kOfOpenCl)) {
    TCC_RETURN_IF_ERROR(reader.TakeLine("target cpu"));
    return CpuProfile();
  }
  TCC_ASSIGN_OR_RETURN(GpuProfile gpu, TakeGpu(reader, name));
  TCC_ASSIGN_OR_RETURN(gpu.multiprocessors, reader.TakeWhole("multiprocessors"));
  if (gpu.multiprocessors >= 1) return gpu;
  return InvalidInput("{}: {} multiprocessors; expected at least 1", name, gpu.multiprocessors);
}

struct ModelHeader {
  LearnedModel model;
  double bound = 0;
  size_t members = 0;
};

StatusOr<ModelHeader> ParseHeader(std::string_view text, const std::string& name) {
  HeaderReader reader(text, name);
  TCC_ASSIGN_OR_RETURN(std::string version, reader.Take("tcc-cost-model"));
  if (version != "1")
    return InvalidInput("{}: version {} of the format is not known", name, version);
  TCC_RETURN_IF_ERROR(CheckFeatures(reader, name));
  ModelHeader header;
  TCC_ASSIGN_OR_RETURN(header.model.profile, TakeDevice(reader, name));
  for (const DeviceConstant& constant : ConstantsIn(header.model.profile)) {
    TCC_ASSIGN_OR_RETURN(*constant.value,
                         reader.TakeNumber(fmt::format("constant {}", constant.name)));
    if (!(*constant.value > 0)) {
      return InvalidInput("{}: expected a constant '{}' above 0, got {}", name, constant.name,
                          *constant.value);
    }
  }
  header.model.on_prior = reader.Begins("prior");
  if (header.model.on_prior) {
    TCC_RETURN_IF_ERROR(reader.TakeLine("prior yes"));
  } else {
    TCC_ASSIGN_OR_RETURN(header.model.ln_mean, reader.TakeNumber("mean"));
  }
  TCC_ASSIGN_OR_RETURN(header.bound, reader.TakeNumber("bound"));
  TCC_ASSIGN_OR_RETURN(int64_t members, reader.TakeWhole("members"));
  TCC_RETURN_IF_ERROR(reader.ExpectEnd());
  header.members = static_cast<size_t>(members);
  bool prior_alone = header.model.on_prior && header.bound == 0 && members == 0;
  if (prior_alone) return header;
  if (!(header.bound > 0)) return InvalidInput("{}: expected a bound above 0", name);
  if (!(members >= 1 && members <= kMaxMembers)) {
    return InvalidInput("{}: expected 1 to {} members, got {}", name, kMaxMembers, members);
  }
  return header;
}

// The next `count` floats; the caller has seen that they are there.
std::vector<double> TakeFloats(std::span<const uint8_t>& bytes, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    uint32_t word = 0;
    for (size_t b = 0; b < 4; ++b) word |= uint32_t{bytes[4 * i + b]} << (8 * b);
    values.push_back(static_cast<double>(std::bit_cast<float>(word)));
  }
  bytes = bytes.subspan(4 * count);
  return values;
}

bool AllFinite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

}  // namespace

std::vector<uint8_t> ModelBytes(const LearnedModel& model) {
  std::string header = HeaderOf(model);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  AppendFloats(model.scale.mean, bytes);
  AppendFloats(model.scale.deviation, bytes);
  for (const Mlp& member : model.members) AppendFloats(member.parameters(), bytes);
  Sha256Digest digest = Sha256(bytes);
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  return bytes;
}

StatusOr<LearnedModel> ParseModel(std::span<const uint8_t> bytes, const std::string& name) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with("tcc-cost-model ")) {
    return InvalidInput("{}: expected a cost model of tcc, which begins with '{}'", name, kMagic);
  }
  size_t end = text.find("\n\n");
  constexpr size_t kHash = sizeof(Sha256Digest);
  if (end == std::string_view::npos || bytes.size() < end + 2 + kHash) {
    return InvalidInput("{}: the cost model is cut off", name);
  }
  Sha256Digest digest = Sha256(bytes.first(bytes.size() - kHash));
  if (!std::equal(digest.begin(), digest.end(), bytes.end() - kHash)) {
    return InvalidInput("{}: the cost model is damaged: its SHA-256 is another", name);
  }
  TCC_ASSIGN_OR_RETURN(ModelHeader header, ParseHeader(text.substr(0, end), name));
  std::span<const uint8_t> numbers = bytes.subspan(end + 2, bytes.size() - kHash - end - 2);
  const size_t scaled = FeatureRows(header.model.kind()).size();
  const size_t parameters = Mlp::ParameterCount(scaled);
  size_t expected = 4 * (2 * scaled + header.members * parameters);
  if (numbers.size() != expected) {
    return InvalidInput("{}: expected {} bytes of numbers, got {}", name, expected, numbers.size());
  }
  LearnedModel& model = header.model;
  model.scale.mean = TakeFloats(numbers, scaled);
  model.scale.deviation = TakeFloats(numbers, scaled);
  bool finite = AllFinite(model.scale.mean) && AllFinite(model.scale.deviation);
  for (double deviation : model.scale.deviation) finite = finite && deviation > 0;
  for (size_t m = 0; m < header.members; ++m) {
    model.members.emplace_back(TakeFloats(numbers, parameters), header.bound);
    finite = finite && AllFinite(model.members.back().parameters());
  }
  if (!finite) return InvalidInput("{}: the cost model has numbers that are not finite", name);
  return std::move(model);
}

Status WriteModel(const LearnedModel& model, const std::string& path) {
  std::vector<uint8_t> bytes = ModelBytes(model);
  std::span<const uint8_t> pieces[] = {bytes};
  return WriteFileAtomically(path, pieces);
}

StatusOr<LearnedModel> ReadModel(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  return ParseModel(file.bytes, path);
}

}  // namespace tcc
