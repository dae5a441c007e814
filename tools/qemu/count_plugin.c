// A plugin for qemu-aarch64 (user mode) that counts the executed instructions by class. The counts
// are in the first page of the file that $TCC_COUNTS names, which the program under qemu may map,
// too: 64-bit numbers in the order of `enum Class` (runtime/measure/instruction_counts.h). They are
// exact for programs whose other threads rest: counters of several threads are not atomic. SVE's
// instructions count among all, in no class of their own.
//
// The declarations are those of QEMU's plugin interface, version 1, which its packages lack.

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
typedef void (*qemu_plugin_vcpu_tb_trans_cb_t)(qemu_plugin_id_t, struct qemu_plugin_tb*);
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, enum qemu_plugin_op, void*,
                                              uint64_t);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum Class { kAll, kVector, kLoads, kStores, kBranches, kMultiplies, kMultiplyAdds, kClasses };

enum { kPage = 4096 };  // bytes of the mapping

static uint64_t* counts;

// An encoding of the Arm Architecture Reference Manual (C4.1): bits that are fixed, and the
// products of elements that 128 bits of the instruction add; 64 bits add half of them.
struct Product {
  uint32_t mask, bits;
  unsigned terms;
};
static const struct Product kProducts[] = {
    {0xbfe0fc00, 0x0e20cc00, 4},   // fmla (vector), f32
    {0xbfe0fc00, 0x0e60cc00, 2},   // f64
    {0xbfe0fc00, 0x0e400c00, 8},   // f16
    {0xbfc0f400, 0x0f801000, 4},   // fmla (by element), f32
    {0xbfc0f400, 0x0fc01000, 2},   // f64
    {0xbfc0f400, 0x0f001000, 8},   // f16
    {0xbfe0fc00, 0x0e809400, 16},  // sdot (vector)
    {0xbfe0fc00, 0x2e809400, 16},  // udot
    {0xbfe0fc00, 0x0e809c00, 16},  // usdot
    {0xbfc0f400, 0x0f80e000, 16},  // sdot (by element)
    {0xbfc0f400, 0x2f80e000, 16},  // udot
    {0xbfc0f400, 0x0f80f000, 16},  // usdot
    {0xffe0fc00, 0x4e80a400, 32},  // smmla
    {0xffe0fc00, 0x4e80ac00, 32},  // usmmla
    {0xbfe0fc00, 0x2e40fc00, 8},   // bfdot (vector)
    {0xbfc0f400, 0x0f40f000, 8},   // bfdot (by element)
};
// fmadd of scalars, of any type.
static const uint32_t kScalarMask = 0xff208000, kScalarBits = 0x1f000000;

static unsigned ProductsOf(uint32_t word) {
  if ((word & kScalarMask) == kScalarBits) return 1;
  for (size_t i = 0; i < sizeof(kProducts) / sizeof(kProducts[0]); ++i) {
    if ((word & kProducts[i].mask) != kProducts[i].bits) continue;
    return (word >> 30 & 1) != 0 ? kProducts[i].terms : kProducts[i].terms / 2;
  }
  return 0;
}

static int IsLoadOrStore(uint32_t word) {
  return (word >> 27 & 1) == 1 && (word >> 25 & 1) == 0;
}

// Returns which of both a load or store is (C4.1.66): most forms say so by bit 22.
static int IsLoad(uint32_t word) {
  const uint32_t form = word >> 27 & 7;           // bits 29..27
  const int is_vector = (word >> 26 & 1) != 0;
  if (form == 3 && (word >> 24 & 1) == 0) return 1;  // from beside the code
  if (form == 7 && !is_vector) return (word >> 22 & 3) != 0;
  return (word >> 22 & 1) != 0;
}

static void Add(struct qemu_plugin_tb* block, enum Class counted, uint64_t number) {
  if (number == 0) return;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, counts + counted,
                                           number);
}

static void Translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  uint64_t found[kClasses] = {0};
  const size_t instructions = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < instructions; ++i) {
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, i)), sizeof(word));
    const unsigned products = ProductsOf(word);
    ++found[kAll];
    found[kMultiplies] += products != 0;
    found[kMultiplyAdds] += products;
    if (IsLoadOrStore(word)) ++found[IsLoad(word) ? kLoads : kStores];
    if ((word >> 25 & 7) == 7) ++found[kVector];    // SIMD and floating point
    if ((word >> 26 & 7) == 5) ++found[kBranches];  // and system instructions
  }
  for (int counted = 0; counted < kClasses; ++counted) {
    Add(block, (enum Class)counted, found[counted]);
  }
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                               const void* info, int count,
                                                               char** arguments) {
  (void)info, (void)count, (void)arguments;
  const char* path = getenv("TCC_COUNTS");
  const int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, kPage) != 0) {
    fprintf(stderr, "tcc_qemu_counts: TCC_COUNTS names no file that can be written\n");
    return 1;
  }
  counts = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (counts == MAP_FAILED) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, Translated);
  return 0;
}
