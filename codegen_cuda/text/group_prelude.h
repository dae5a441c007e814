#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

// The part of the prelude (prelude.h) for products of warp groups (PTX's wgmma), which only sm_90a
// has. A group is four warps whose numbers follow each other, the first a multiple of 4. Together
// its 128 threads issue C += A B, where A is 64 x K, B is K x N and K fills 32 bytes. A and B lie
// in shared memory; warp w of the group holds rows 16 w to 16 w + 15 of C, N / 8 tiles of 16 x 8 in
// the order of their columns, each a TccVector as tcc_mma_m16n8k16_f16 has it (matrix_prelude.h).
//
//   tcc_group_mma_f16<N, a_transposed, b_transposed>(c, first, a, b)     and _bf16, _tf32, _s8
//       issues a product; c is a TCC_FRAGMENTS(float, 4, c, count), of int for s8, and `first` the
//       index of its first tile. An operand that is not transposed has rows (A), or columns (B),
//       along K; only types of 16 bits have others. tf32 cuts off what float has beyond it, and s8
//       wraps.
//   tcc_matrix<mode, lead_bytes, stride_bytes>(shared, index)
//       returns the descriptor of an operand whose first element is shared[index]. Memory has rows
//       of W = 128, 64 or 32 bytes in mode 1, 2 or 3. Along K such a row is W bytes of one row of
//       A; the next 8 rows begin stride_bytes further, and lead_bytes is ignored. Transposed, it is
//       W bytes of a column of A, one k; the next 8 k begin stride_bytes further, and the next W
//       bytes of each column lead_bytes further. The chunks of 16 bytes are swizzled: bits [4, 7),
//       [4, 6) or 4 of an address are XORed with those 3 above; so 8 rows begin at a multiple of
//       8 W. Mode 0 has rows of 16 bytes, no swizzle, and along K the next 16 bytes lead_bytes
//       further; transposed, the two strides trade places.
//   tcc_proxy_fence()
//       is called by each thread between its writes of an operand, which copies do at their wait,
//       and the barrier before the product
//   tcc_group_fence()
//       is called before a product that adds to a C which ordinary code may have touched
//   tcc_group_commit()
//       closes a batch of products
//   tcc_group_wait<pending>(c)
//       waits until at most `pending` batches are in flight. Ordinary code may touch c behind a
//       wait that names it and leaves none of its products in flight; A and B behind a barrier
//       after that.
namespace tcc {

enum class GroupType : uint8_t { kF16, kBF16, kTf32, kS8 };

// A product's template arguments.
struct GroupMma {
  GroupType type;
  int columns;
  bool a_transposed = false;
  bool b_transposed = false;
  auto operator<=>(const GroupMma&) const = default;
};

// Checks whether a product of this type can have that number of columns.
bool IsGroupColumns(GroupType type, int64_t columns);

// Returns "f16", "bf16", "tf32" or "s8", as the names of functions end.
std::string_view Name(GroupType type);

// Returns the definition of one product, which stands between the prelude and the kernels that call
// it: NVRTC takes 0.3 s for the 128 registers of the widest one. It may stand there more than once.
// The emulator sees nothing of it.
std::string GroupMmaText(const GroupMma& mma);

// Returns the part for NVRTC.
std::string_view GroupPrelude();

}  // namespace tcc
