#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen_cuda/emulator/group_operand.h"
#include "codegen_cuda/emulator/host_interface.h"
#include "codegen_cuda/emulator/shared_memory.h"

namespace tcc::emulator {

// The products of a block's warp groups (codegen_cuda/text/group_prelude.h). A device reads A and B
// at some time between a product's issue and its wait, so they are read at both and must not
// differ. The sums of a product are set aside until the wait that hands them out; C's own memory
// holds a mark meanwhile, and must still do so then.
//
// The functions that return an optional string return a complaint, or nullopt.
class GroupProducts {
 public:
  static constexpr int kThreads = 128;  // of a group

  // `shared` must outlive this.
  GroupProducts(int threads, SharedMemory& shared) : shared_(shared), threads_(threads) {}

  // Begins a block.
  void Reset();

  void Fence(int thread) { threads_[thread].fenced = true; }
  // Takes a thread's part of the product that its group issues; `first` is the group's first thread
  // that came.
  std::optional<std::string> Bring(int thread, int first, const TccProduct& product);
  // Issues the product that all threads of a group have brought.
  std::optional<std::string> Issue(int group);
  void Commit(int thread) { threads_[thread].batches.emplace_back(); }
  // Waits until at most `pending` committed batches of the thread are in flight.
  std::optional<std::string> Wait(int thread, int pending);
  // Hands out the sums that lie in these bytes and have no product in flight.
  std::optional<std::string> Results(int thread, void* begin, int64_t bytes);
  // Ends a thread; the complaint follows "ends".
  std::optional<std::string> End(int thread) const;

 private:
  // A chunk of an operand, and its bytes at the issue.
  struct Chunk {
    int64_t address;
    std::byte bytes[GroupOperand::kChunk];
  };
  struct Operand {
    TccMatrix matrix;
    GroupOperand layout;
    std::vector<Chunk> chunks = {};
  };
  struct Product {
    TccProduct call;
    int group;
    Operand operands[2];  // A and B
    uint32_t read = 0;    // the epoch in which they were last read
  };
  // The sums of one C of a thread, set aside.
  struct Sums {
    uint32_t* place;
    std::vector<uint32_t> words;
    TccWhere where;     // C in the last product
    int in_flight = 0;  // products
  };
  struct Flight {
    std::shared_ptr<Product> product;
    uint32_t* place;  // of its Sums
  };
  struct Thread {
    bool fenced = false;  // since ordinary code may have touched a C
    TccProduct brought = {};
    std::vector<Sums> sums;
    // The products by batch; the last batch is still open.
    std::vector<std::vector<Flight>> batches;
  };

  static Sums* FindSums(Thread& thread, const void* place);
  static Sums& SetAside(Thread& thread);
  static std::optional<std::string> CheckSums(const Thread& thread, const TccProduct& product);
  static std::optional<std::string> CheckUntouched(const Sums& sums);
  // Returns the elements in row-major order, or ordered by k first.
  template <typename Factor>
  static std::vector<Factor> ValuesOf(const Operand& operand, char type, bool by_k);

  std::optional<std::string> FindChunks(Operand& operand) const;
  std::optional<std::string> Read(Product& product);
  std::optional<std::string> ReadAgain(Product& product);
  std::string NameOf(const Operand& operand, const Chunk& chunk) const;
  template <typename Factor>
  void Compute(const Product& product);

  SharedMemory& shared_;
  std::vector<Thread> threads_;
};

}  // namespace tcc::emulator
