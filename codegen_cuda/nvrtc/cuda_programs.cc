#include "codegen_cuda/nvrtc/cuda_programs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/artefact/bytes.h"
#include "support/file.h"
#include "support/sha256.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// The first bytes of a file; they hold the version of the encoding.
constexpr std::string_view kMagic = "tcc nvrtc 1\n";
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(Sha256Digest);

std::vector<uint8_t> Encode(const Cubin& cubin) {
  ByteWriter writer;
  writer.Count(cubin.image.size());
  writer.Raw(cubin.image);
  writer.Text(cubin.ptx);
  writer.Text(cubin.log);
  return writer.Take();
}

std::optional<Cubin> Decode(std::span<const uint8_t> bytes) {
  ByteReader reader(bytes, "cached program");
  Cubin cubin;
  std::span<const uint8_t> image = reader.Raw(reader.Count(1));
  cubin.image.assign(image.begin(), image.end());
  cubin.ptx = reader.Text();
  cubin.log = reader.Text();
  if (!reader.Finish().ok()) return std::nullopt;
  cubin.kernels = ParseResources(cubin.log);
  return cubin;
}

// The prefix of the file that holds a compiler's identity. The hash of the identity follows: a file
// never changes, so many processes can add theirs.
constexpr std::string_view kCompilerPrefix = "compiler-";

// NVRTC takes 13 ms per program and 2 ms per small kernel in it (reference: gpu_perf, section 7).
// Large kernels get a program each, so that threads compile them in parallel.
constexpr size_t kSmallKernelBytes = 4096;
constexpr size_t kGroupBytes = 24 * 1024;

}  // namespace

ProgramCache::ProgramCache(const std::string& folder)
    : folder_(folder.empty() ? "" : folder + "/nvrtc") {}

std::string ProgramCache::PathOf(const std::string& settings, const std::string& text) const {
  return folder_ + "/" + ToHex(Sha256(settings + '\n' + text));
}

std::optional<Cubin> ProgramCache::Find(const std::string& settings,
                                        const std::string& text) const {
  if (folder_.empty()) return std::nullopt;
  StatusOr<SharedBytes> file = MapFile(PathOf(settings, text));
  if (!file.ok() || file->bytes.size() < kHeaderBytes) return std::nullopt;
  std::span<const uint8_t> content = file->bytes.subspan(kHeaderBytes);
  std::vector<uint8_t> header(AsBytes(kMagic).begin(), AsBytes(kMagic).end());
  Sha256Digest digest = Sha256(content);
  header.insert(header.end(), digest.begin(), digest.end());
  if (!std::equal(header.begin(), header.end(), file->bytes.begin())) return std::nullopt;
  std::optional<Cubin> cubin = Decode(content);
  if (!cubin) return std::nullopt;
  cubin->settings = settings;
  cubin->cached = true;
  return cubin;
}

void ProgramCache::Put(const std::string& text, const Cubin& cubin) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  std::vector<uint8_t> content = Encode(cubin);
  Sha256Digest digest = Sha256(content);
  const std::span<const uint8_t> pieces[] = {AsBytes(kMagic), digest, content};
  WriteFileAtomically(PathOf(cubin.settings, text), pieces).IgnoreError();
}

void ProgramCache::AddCompiler(const std::string& identity) const {
  if (folder_.empty()) return;
  std::vector<std::string> known = Compilers();
  if (std::ranges::find(known, identity) != known.end()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  std::string path = folder_ + "/" + std::string(kCompilerPrefix) + ToHex(Sha256(identity));
  const std::span<const uint8_t> pieces[] = {AsBytes(identity)};
  WriteFileAtomically(path, pieces).IgnoreError();
}

std::vector<std::string> ProgramCache::Compilers() const {
  std::vector<std::string> identities;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(kCompilerPrefix)) continue;
    StatusOr<SharedBytes> file = MapFile(entry.path().string());
    if (!file.ok()) continue;
    std::string identity(file->bytes.begin(), file->bytes.end());
    if (name.substr(kCompilerPrefix.size()) != ToHex(Sha256(identity))) continue;
    identities.push_back(std::move(identity));
  }
  std::ranges::sort(identities);
  return identities;
}

std::vector<std::vector<size_t>> GroupKernels(const std::vector<KernelTextInfo>& kernels) {
  std::vector<std::vector<size_t>> groups;
  std::optional<size_t> open;  // the group that small kernels join
  size_t bytes = 0;
  std::set<std::string> symbols;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const KernelTextInfo& kernel = kernels[i];
    if (kernel.bytes > kSmallKernelBytes) {
      groups.push_back({i});
      continue;
    }
    bool is_known = std::ranges::any_of(
        kernel.symbols, [&](const std::string& name) { return symbols.contains(name); });
    if (!open || bytes + kernel.bytes > kGroupBytes || is_known) {
      open = groups.size();
      groups.emplace_back();
      bytes = 0;
      symbols.clear();
    }
    groups[*open].push_back(i);
    bytes += kernel.bytes;
    symbols.insert(kernel.symbols.begin(), kernel.symbols.end());
  }
  return groups;
}

StatusOr<const Nvrtc*> CudaPrograms::Library() {
  std::lock_guard lock(mutex_);
  if (!nvrtc_) {
    nvrtc_ = Nvrtc::Open();
    compilers_ = cache_.Compilers();
    if (nvrtc_->ok()) cache_.AddCompiler((*nvrtc_)->Identity());
  }
  if (!nvrtc_->ok()) return nvrtc_->status();
  return &**nvrtc_;
}

std::optional<Cubin> CudaPrograms::FindOfAnyCompiler(const std::string& text) const {
  for (const std::string& identity : compilers_) {
    if (std::optional<Cubin> cubin = cache_.Find(Nvrtc::Settings(identity, sm_), text))
      return cubin;
  }
  return std::nullopt;
}

StatusOr<Cubin> CudaPrograms::FindOrCompile(const std::string& text) {
  StatusOr<const Nvrtc*> nvrtc = Library();
  Status status = nvrtc.status();
  if (nvrtc.ok()) {
    std::string settings = Nvrtc::Settings((*nvrtc)->Identity(), sm_);
    if (std::optional<Cubin> cubin = cache_.Find(settings, text)) return *std::move(cubin);
    StatusOr<Cubin> made = (*nvrtc)->Compile(text, sm_);
    if (made.ok() && keep_) cache_.Put(text, *made);
    // Success or a refusal of the text is final; other errors may be those of this NVRTC alone.
    if (made.ok() || made.status().code() == absl::StatusCode::kInternal) return made;
    status = made.status();
  }
  if (std::optional<Cubin> cubin = FindOfAnyCompiler(text)) return *std::move(cubin);
  return status;
}

StatusOr<std::shared_ptr<const Cubin>> CudaPrograms::Compile(const std::string& text) {
  Sha256Digest key = Sha256(text);
  {
    std::lock_guard lock(mutex_);
    if (auto known = known_.find(key); known != known_.end()) return known->second;
  }
  TCC_ASSIGN_OR_RETURN(Cubin cubin, FindOrCompile(text));
  auto shared = std::make_shared<const Cubin>(std::move(cubin));
  if (!keep_) return shared;
  std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(shared)).first->second;
}

StatusOr<std::string> CudaPrograms::CompileToPtx(const std::string& text) {
  TCC_ASSIGN_OR_RETURN(const Nvrtc* nvrtc, Library());
  return nvrtc->CompileToPtx(text, sm_);
}

}  // namespace tcc
