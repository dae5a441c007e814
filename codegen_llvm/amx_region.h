#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen_llvm/kernel_state.h"
#include "codegen_llvm/tile_dot.h"
#include "ir/expr/stmt.h"

// Tile dots by the tile registers of AMX. (Intel, Software
// Developer's Manual 1, chapter 18; reference: cpu_perf)
namespace tcc {

// Loops over nothing but tile dots, which always add to the same few sums: those stay in registers
// from the first iteration to the last.
struct AmxRegion {
  static constexpr size_t kMaxSums = 4;  // of eight registers; the others hold operands
  std::vector<Tile> sums;
};
// Returns nullopt for any other statement.
std::optional<AmxRegion> FindAmxRegion(const Stmt& stmt);

// The tile registers inside a region.
class AmxRegisters {
 public:
  AmxRegisters(KernelState& state, AmxRegion region)
      : state_(state), region_(std::move(region)), operands_(kRegisters - AmxRegion::kMaxSums) {}

  const AmxRegion& region() const { return region_; }
  // Emits the loads and stores of the sums. `address` is that of a sum's first element.
  void LoadSum(size_t sum, llvm::Value* address);
  void StoreSum(size_t sum, llvm::Value* address);
  // Returns the register that holds an operand; nullopt if none does.
  std::optional<unsigned> Holding(const Tile& tile) const;
  // Emits the load of an operand into the register that was used the longest time ago.
  unsigned LoadOperand(const Tile& tile, llvm::Value* address);
  void EmitDot(const TileDot& dot, unsigned a, unsigned b);
  // Forgets the operands: control flow may come from where others were loaded.
  void ForgetOperands();

 private:
  static constexpr unsigned kRegisters = 8;

  KernelState& state_;
  AmxRegion region_;
  std::vector<std::optional<Tile>> operands_;
  unsigned next_ = 0;
};

// Emits the configuration of the tile registers, all of 16 rows of 64 bytes, for what follows in
// the function: at its beginning if it is the body of a parallel loop, else here, since the bodies
// of parallel loops that it calls release them.
void ConfigureAmx(KernelState& state);
// Emits the release of the registers.
void ReleaseAmx(KernelState& state);

}  // namespace tcc
