#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/measure/measure_protocol.h"
#include "support/file.h"
#include "support/sha256.h"
#include "support/status.h"

// A file of candidates that are built on one machine and measured on another.
//
//   "tcc batch 1\n"
//   u64 length of the head, its SHA-256
//   head: header, tasks, records, then the digest and length of each artefact
//   the artefacts one after another
//
// The head is checked when the file is read, an artefact by its digest when it is asked for; no
// byte of the file is left unchecked. Integers are as ByteWriter has them.
namespace tcc {

struct BatchHeader {
  std::string tcc;        // version
  std::string target;     // "sm_90a"
  std::string compilers;  // as in a record's environment
};

// A task and its candidates, which are named by their artefacts' digests.
struct BatchTask {
  std::string name;                      // Workload::name, for people
  TaskMessage message;                   // without the reference's artefact
  Sha256Digest reference{};              // the candidate that others are compared with
  std::vector<Sha256Digest> candidates;  // the most wanted first
};

// A batch in memory. Equal calls give equal bytes.
class BatchWriter {
 public:
  explicit BatchWriter(BatchHeader header) : header_(std::move(header)) {}

  // Adds the artefact, which the task that is added next names. Returns false, and adds nothing, if
  // the batch has it already.
  bool AddArtefact(const Sha256Digest& digest, std::vector<uint8_t> artefact);
  // Adds a task; all tasks of a batch have one policy.
  void AddTask(BatchTask task);
  // Adds a line for the import, with its end.
  void AddRecord(std::string_view line) { records_ += line; }

  const std::vector<BatchTask>& tasks() const { return tasks_; }
  std::vector<uint8_t> Bytes() const;
  // Error: WriteFileAtomically's.
  Status Write(const std::string& path) const;

 private:
  std::vector<uint8_t> HeadBytes() const;

  BatchHeader header_;
  std::vector<BatchTask> tasks_;
  std::string records_;
  std::vector<std::pair<Sha256Digest, std::vector<uint8_t>>> artefacts_;
  std::set<Sha256Digest> known_;
};

// A batch that was read. The file may be hostile: errors (InvalidArgument) say what is wrong.
class CandidateBatch {
 public:
  // Maps the file; errors name it.
  static StatusOr<CandidateBatch> Read(const std::string& path);
  static StatusOr<CandidateBatch> Parse(const SharedBytes& file);

  const BatchHeader& header() const { return header_; }
  // Returns at least one task; no artefact is named twice in all of them.
  const std::vector<BatchTask>& tasks() const { return tasks_; }
  // Returns the policy that all tasks have.
  MeasurePolicy policy() const { return tasks_.front().message.policy; }
  // Returns lines of JSON that an import joins with results (search/database/import_results.h).
  std::string_view records() const { return records_; }
  // Returns the digest of the head, which tells batches apart.
  const Sha256Digest& digest() const { return digest_; }
  // Returns the bytes of an artefact that a task names. Error: they do not have the digest.
  StatusOr<std::span<const uint8_t>> Artefact(const Sha256Digest& digest) const;

 private:
  Status ReadHead(std::span<const uint8_t> head, std::span<const uint8_t> artefacts);
  Status CheckTasks() const;

  SharedBytes file_;
  BatchHeader header_;
  std::vector<BatchTask> tasks_;
  std::string records_;
  Sha256Digest digest_{};
  std::map<Sha256Digest, std::span<const uint8_t>> artefacts_;
};

}  // namespace tcc
