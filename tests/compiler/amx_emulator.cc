#include "tests/compiler/amx_emulator.h"

#include <ucontext.h>
#include <csignal>

#include <atomic>
#include <bit>
#include <cstring>

// Intel, Software Developer's Manual 2, TILELOADD and the following pages.
namespace tcc {
namespace {

constexpr int kMaxRows = 16, kRowBytes = 64;

struct TileRegister {
  int rows = 0, bytes = 0;  // 0: not configured
  uint8_t cells[kMaxRows][kRowBytes] = {};
};

thread_local TileRegister tiles[8];
std::atomic<int64_t> dots;
struct sigaction before;

// A three-byte VEX instruction: its parts, and where a memory operand lies.
struct Instruction {
  int opcode = 0, prefix = 0, reg = 0, rm = 0, vvvv = 0, length = 0;
  bool is_memory = false;
  uint8_t* address = nullptr;
  int64_t stride = 0;  // the index register of the address
};

int64_t Register(const ucontext_t& context, int number) {
  constexpr int kOrder[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kOrder[number]];
}

int32_t Read32(const uint8_t* at) {
  int32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Decodes a memory operand from its ModRM byte on.
void DecodeAddress(const ucontext_t& context, const uint8_t* code, int at, bool x, bool b,
                   Instruction& result) {
  int mod = code[at] >> 6, base = code[at] & 7, index = 4, scale = 0;
  bool has_base = true, is_relative = mod == 0 && base == 5;
  ++at;
  if (base == 4) {
    scale = code[at] >> 6;
    index = (code[at] >> 3 & 7) + (x ? 8 : 0);
    base = code[at] & 7;
    has_base = !(mod == 0 && base == 5);
    ++at;
  }
  int64_t address = 0;
  if (mod == 1) address += static_cast<int8_t>(code[at++]);
  if (mod == 2 || is_relative || !has_base) {
    address += Read32(code + at);
    at += 4;
  }
  if (is_relative) {
    address += reinterpret_cast<int64_t>(code + at);
  } else if (has_base) {
    address += Register(context, base + (b ? 8 : 0));
  }
  if (index != 4) result.stride = Register(context, index) << scale;
  result.address = std::bit_cast<uint8_t*>(address);
  result.length = at;
}

bool Decode(const ucontext_t& context, Instruction& result) {
  const auto* code = std::bit_cast<const uint8_t*>(context.uc_mcontext.gregs[REG_RIP]);
  constexpr int kVex3 = 0xc4, kMap0f38 = 2;
  if (code[0] != kVex3 || (code[1] & 0x1f) != kMap0f38) return false;
  bool x = !(code[1] & 0x40), b = !(code[1] & 0x20);
  result.vvvv = ~(code[2] >> 3) & 0xf;
  result.prefix = code[2] & 3;
  result.opcode = code[3];
  result.reg = code[4] >> 3 & 7;
  result.rm = code[4] & 7;
  result.is_memory = code[4] >> 6 != 3;
  result.length = 5;
  if (result.is_memory) DecodeAddress(context, code, 4, x, b, result);
  return true;
}

void Configure(const uint8_t* bytes) {
  for (int t = 0; t < 8; ++t) {
    tiles[t] = {};
    tiles[t].bytes = bytes[16 + 2 * t];
    tiles[t].rows = bytes[48 + t];
  }
}

void Load(TileRegister& tile, const Instruction& from) {
  for (int r = 0; r < tile.rows; ++r) {
    std::memcpy(tile.cells[r], from.address + r * from.stride, static_cast<size_t>(tile.bytes));
  }
}

void Store(const TileRegister& tile, const Instruction& to) {
  for (int r = 0; r < tile.rows; ++r) {
    std::memcpy(to.address + r * to.stride, tile.cells[r], static_cast<size_t>(tile.bytes));
  }
}

float BFloat(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Adds the dots of the row's and the column's words, by `add`, to each sum.
template <typename T, typename Add>
void AddDots(TileRegister& c, const TileRegister& a, const TileRegister& b, const Add& add) {
  ++dots;
  for (int m = 0; m < c.rows; ++m) {
    for (int n = 0; n < c.bytes / 4; ++n) {
      T sum;
      std::memcpy(&sum, &c.cells[m][4 * n], sizeof(sum));
      for (int k = 0; k < a.bytes / 4; ++k) sum = add(sum, &a.cells[m][4 * k], &b.cells[k][4 * n]);
      std::memcpy(&c.cells[m][4 * n], &sum, sizeof(sum));
    }
  }
}

int32_t AddBytes(int32_t sum, const uint8_t* x, const uint8_t* y) {
  for (int i = 0; i < 4; ++i) sum += x[i] * static_cast<int8_t>(y[i]);
  return sum;
}

float AddBFloats(float sum, const uint8_t* x, const uint8_t* y) {
  return sum + (BFloat(x) * BFloat(y) + BFloat(x + 2) * BFloat(y + 2));
}

bool Run(const Instruction& it) {
  enum Prefix : uint8_t { kNone, k66, kF3, kF2 };
  TileRegister& c = tiles[it.reg];
  switch (it.opcode << 4 | it.prefix << 1 | static_cast<int>(it.is_memory)) {
    case 0x490 | kNone << 1 | 1:
      Configure(it.address);
      return true;
    case 0x490 | kNone << 1:  // tilerelease
      for (TileRegister& tile : tiles) tile = {};
      return true;
    case 0x490 | kF2 << 1:  // tilezero
      std::memset(c.cells, 0, sizeof(c.cells));
      return true;
    case 0x4b0 | kF2 << 1 | 1:
      Load(c, it);
      return c.rows > 0;
    case 0x4b0 | kF3 << 1 | 1:
      Store(c, it);
      return c.rows > 0;
    case 0x5e0 | k66 << 1:  // tdpbusd
      AddDots<int32_t>(c, tiles[it.rm], tiles[it.vvvv & 7], AddBytes);
      return c.rows > 0;
    case 0x5c0 | kF3 << 1:  // tdpbf16ps
      AddDots<float>(c, tiles[it.rm], tiles[it.vvvv & 7], AddBFloats);
      return c.rows > 0;
    default:
      return false;
  }
}

void OnIllegal(int, siginfo_t*, void* data) {
  auto& context = *static_cast<ucontext_t*>(data);
  Instruction instruction;
  if (Decode(context, instruction) && Run(instruction)) {
    context.uc_mcontext.gregs[REG_RIP] += instruction.length;
    return;
  }
  // The instruction is met again, and ends the program.
  sigaction(SIGILL, &before, nullptr);
}

}  // namespace

AmxEmulator::AmxEmulator() {
  struct sigaction action = {};
  action.sa_sigaction = OnIllegal;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &before);
}

AmxEmulator::~AmxEmulator() {
  sigaction(SIGILL, &before, nullptr);
}

int64_t AmxEmulator::Dots() {
  return dots;
}

}  // namespace tcc
