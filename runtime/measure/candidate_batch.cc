#include "runtime/measure/candidate_batch.h"

#include <algorithm>
#include <utility>

#include "runtime/artefact/bytes.h"
#include "support/check.h"
#include "support/file_kind.h"
#include "support/printable.h"

namespace tcc {
namespace {

constexpr std::string_view kMagic = "tcc batch 1\n";
constexpr std::string_view kAnyMagic = "tcc batch ";
constexpr size_t kDigestBytes = sizeof(Sha256Digest);       // as it lies in the file
constexpr size_t kMinTaskBytes = 4 + 4 + kDigestBytes + 4;  // without names and candidates
constexpr size_t kRowBytes = kDigestBytes + 8;              // of an artefact in the head

Sha256Digest ReadDigest(ByteReader& reader) {
  Sha256Digest digest{};
  std::ranges::copy(reader.Raw(digest.size()), digest.begin());
  return digest;
}

std::string ReadPlain(ByteReader& reader, std::string_view field) {
  std::string text = reader.Text();
  if (!IsPlainText(text)) reader.Fail(InvalidInput("{} is no plain text", field));
  return text;
}

void WriteTask(ByteWriter& writer, const BatchTask& task) {
  writer.Text(task.name);
  const std::vector<uint8_t> message = Encode(task.message);
  writer.Count(message.size());
  writer.Raw(message);
  writer.Raw(task.reference);
  writer.Count(task.candidates.size());
  for (const Sha256Digest& candidate : task.candidates) writer.Raw(candidate);
}

BatchTask ReadTask(ByteReader& reader) {
  BatchTask task;
  task.name = ReadPlain(reader, "name of a task");
  StatusOr<TaskMessage> message = DecodeTask(reader.Raw(reader.Count(1)));
  if (message.ok()) {
    task.message = *std::move(message);
  } else {
    reader.Fail(Annotate(message.status(), fmt::format("task '{}'", task.name)));
  }
  task.reference = ReadDigest(reader);
  task.candidates.resize(reader.Count(kDigestBytes));
  for (Sha256Digest& candidate : task.candidates) candidate = ReadDigest(reader);
  return task;
}

bool StartsWith(std::span<const uint8_t> file, std::string_view text) {
  return file.size() >= text.size() && std::ranges::equal(file.first(text.size()), AsBytes(text));
}

Status NotABatch(std::span<const uint8_t> file) {
  if (StartsWith(file, kAnyMagic)) {
    return InvalidInput("a batch of another format; this tcc reads batches of format 1");
  }
  std::string kind = KindOfFile(file);
  return InvalidInput("not a batch of tcc{}{}", kind.empty() ? "" : " but ", kind);
}

}  // namespace

bool BatchWriter::AddArtefact(const Sha256Digest& digest, std::vector<uint8_t> artefact) {
  if (!known_.insert(digest).second) return false;
  artefacts_.emplace_back(digest, std::move(artefact));
  return true;
}

void BatchWriter::AddTask(BatchTask task) {
  TCC_CHECK(task.message.artefact.empty()) << task.name;
  TCC_CHECK(tasks_.empty() || task.message.policy == tasks_.front().message.policy) << task.name;
  tasks_.push_back(std::move(task));
}

std::vector<uint8_t> BatchWriter::HeadBytes() const {
  ByteWriter writer;
  for (const std::string& text : {header_.tcc, header_.target, header_.compilers}) {
    writer.Text(text);
  }
  writer.Count(tasks_.size());
  for (const BatchTask& task : tasks_) WriteTask(writer, task);
  writer.Text(records_);
  writer.Count(artefacts_.size());
  for (const auto& [digest, bytes] : artefacts_) {
    writer.Raw(digest);
    writer.U64(bytes.size());
  }
  const std::vector<uint8_t> body = writer.Take();
  ByteWriter head;
  head.Raw(AsBytes(kMagic));
  head.U64(body.size());
  head.Raw(Sha256(body));
  head.Raw(body);
  return head.Take();
}

std::vector<uint8_t> BatchWriter::Bytes() const {
  std::vector<uint8_t> bytes = HeadBytes();
  for (const auto& [digest, artefact] : artefacts_) {
    bytes.insert(bytes.end(), artefact.begin(), artefact.end());
  }
  return bytes;
}

Status BatchWriter::Write(const std::string& path) const {
  const std::vector<uint8_t> head = HeadBytes();
  std::vector<std::span<const uint8_t>> pieces = {head};
  for (const auto& [digest, artefact] : artefacts_) pieces.emplace_back(artefact);
  return WriteFileAtomically(path, pieces);
}

StatusOr<CandidateBatch> CandidateBatch::Read(const std::string& path) {
  TCC_ASSIGN_OR_RETURN(SharedBytes file, MapFile(path));
  StatusOr<CandidateBatch> batch = Parse(file);
  if (!batch.ok()) return Annotate(batch.status(), path);
  return batch;
}

StatusOr<CandidateBatch> CandidateBatch::Parse(const SharedBytes& file) {
  const std::span<const uint8_t> bytes = file.bytes;
  if (!StartsWith(bytes, kMagic)) return NotABatch(bytes);
  ByteReader reader(bytes, "the batch");
  reader.Raw(kMagic.size());
  const uint64_t length = reader.U64();
  CandidateBatch batch;
  batch.file_ = file;
  batch.digest_ = ReadDigest(reader);
  const std::span<const uint8_t> head = reader.Raw(length);
  TCC_RETURN_IF_ERROR(reader.status());
  if (Sha256(head) != batch.digest_) {
    return InvalidInput("the batch's head does not match its SHA-256");
  }
  Status status = batch.ReadHead(head, bytes.subspan(reader.position()));
  if (status.ok()) status = batch.CheckTasks();
  if (!status.ok()) return PrintableStatus(status);
  return batch;
}

Status CandidateBatch::ReadHead(std::span<const uint8_t> head, std::span<const uint8_t> artefacts) {
  ByteReader reader(head, "the batch's head");
  for (std::string* text : {&header_.tcc, &header_.target, &header_.compilers}) {
    *text = ReadPlain(reader, "a text of the batch's header");
  }
  const size_t tasks = reader.Count(kMinTaskBytes);
  for (size_t i = 0; i < tasks && reader.ok(); ++i) tasks_.push_back(ReadTask(reader));
  records_ = reader.Text();
  const size_t count = reader.Count(kRowBytes);
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const Sha256Digest digest = ReadDigest(reader);
    const uint64_t size = reader.U64();
    if (!reader.ok()) break;
    if (size > artefacts.size()) {
      return InvalidInput("artefact {} has {} bytes; the batch has {} where it lies", ToHex(digest),
                          size, artefacts.size());
    }
    if (!artefacts_.emplace(digest, artefacts.first(size)).second) {
      return InvalidInput("artefact {} comes twice", ToHex(digest));
    }
    artefacts = artefacts.subspan(size);
  }
  TCC_RETURN_IF_ERROR(reader.Finish());
  if (artefacts.empty()) return OkStatus();
  return InvalidInput("the batch has {} bytes after its last artefact", artefacts.size());
}

Status CandidateBatch::CheckTasks() const {
  if (tasks_.empty()) return InvalidInput("the batch has no task");
  std::set<Sha256Digest> named;
  auto check = [&](const BatchTask& task, const Sha256Digest& digest) -> Status {
    if (!artefacts_.contains(digest)) {
      return InvalidInput("task '{}': artefact {} is not in the batch", task.name, ToHex(digest));
    }
    if (named.insert(digest).second) return OkStatus();
    return InvalidInput("task '{}': artefact {} is named twice", task.name, ToHex(digest));
  };
  for (const BatchTask& task : tasks_) {
    if (task.message.policy != policy()) {
      return InvalidInput("task '{}': policy {}; expected {} as of the first task", task.name,
                          NameOf(task.message.policy), NameOf(policy()));
    }
    TCC_RETURN_IF_ERROR(check(task, task.reference));
    for (const Sha256Digest& digest : task.candidates) TCC_RETURN_IF_ERROR(check(task, digest));
  }
  return OkStatus();
}

StatusOr<std::span<const uint8_t>> CandidateBatch::Artefact(const Sha256Digest& digest) const {
  const auto found = artefacts_.find(digest);
  TCC_CHECK(found != artefacts_.end()) << ToHex(digest);
  if (Sha256(found->second) == digest) return found->second;
  return InvalidInput("artefact {} of the batch does not match its SHA-256", ToHex(digest));
}

}  // namespace tcc
