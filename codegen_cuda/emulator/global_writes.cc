#include "codegen_cuda/emulator/global_writes.h"

#include <bit>
#include <cstring>

#include "support/status.h"

namespace tcc::emulator {

BlockRaces::BlockRaces(const TccKernel& kernel, std::span<const TccArgument> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TccParameter& parameter = kernel.parameters[i];
    if (parameter.kind != 'o') continue;
    Output& output = outputs_.emplace_back();
    output.begin = std::bit_cast<uintptr_t>(arguments[i].pointer);
    output.element_bytes = parameter.element_bytes;
    output.writers.resize(static_cast<size_t>(arguments[i].bytes / output.element_bytes));
  }
}

std::span<BlockRaces::Writer> BlockRaces::Find(const void* address, int64_t bytes) {
  const auto at = std::bit_cast<uintptr_t>(address);
  for (Output& output : outputs_) {
    const size_t element = (at - output.begin) / static_cast<size_t>(output.element_bytes);
    if (at < output.begin || element >= output.writers.size()) continue;
    return std::span(output.writers)
        .subspan(element, static_cast<size_t>(bytes / output.element_bytes));
  }
  return {};
}

std::optional<std::string> BlockRaces::Write(int64_t block, const void* address, int64_t bytes,
                                             bool atomic) {
  const auto now = static_cast<uint32_t>(block + 1);
  for (Writer& writer : Find(address, bytes)) {
    if (writer.block_after != 0 && writer.block_after != now && !(writer.atomic && atomic)) {
      return fmt::format("is written by block number {} of the same launch too",
                         writer.block_after - 1);
    }
    writer = {now, atomic};
  }
  return std::nullopt;
}

std::optional<std::string> BlockRaces::Read(int64_t block, const void* address, int64_t bytes,
                                            bool fenced_ticket) {
  const auto now = static_cast<uint32_t>(block + 1);
  for (const Writer& writer : Find(address, bytes)) {
    if (writer.block_after == 0 || writer.block_after == now) continue;
    if (fenced_ticket && AreOfOneTile(block, writer.block_after - 1)) continue;
    return fmt::format("is read although block number {} of the same launch writes it",
                       writer.block_after - 1);
  }
  return std::nullopt;
}

bool BlockRaces::HoldsLastTicket(int64_t block) const {
  auto ticket = tickets_.find(block);
  return ticket != tickets_.end() && ticket->second.last;
}

bool BlockRaces::AreOfOneTile(int64_t block, int64_t other) const {
  auto one = tickets_.find(block), another = tickets_.find(other);
  return one != tickets_.end() && another != tickets_.end() &&
         one->second.tile == another->second.tile;
}

void WriteLog::Add(void* address, int bytes, bool atomic, const char* name, long long index,
                   int line) {
  Written& entry = entries_.emplace_back();
  entry = {static_cast<std::byte*>(address), bytes, atomic, {}, name, index, line};
  memcpy(entry.value.data(), address, bytes);
}

std::vector<WriteLog::Written> WriteLog::Results() const {
  std::vector<Written> results = entries_;
  for (Written& entry : results) memcpy(entry.value.data(), entry.address, entry.bytes);
  return results;
}

void WriteLog::Undo() const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    memcpy(entry->address, entry->value.data(), entry->bytes);
  }
}

const WriteLog::Written* FirstDifference(const std::vector<WriteLog::Written>& results) {
  for (const WriteLog::Written& entry : results) {
    if (!entry.atomic && memcmp(entry.address, entry.value.data(), entry.bytes) != 0) {
      return &entry;
    }
  }
  return nullptr;
}

void Redo(const std::vector<WriteLog::Written>& results) {
  for (const WriteLog::Written& entry : results) {
    memcpy(entry.address, entry.value.data(), entry.bytes);
  }
}

}  // namespace tcc::emulator
