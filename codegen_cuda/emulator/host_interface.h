#pragma once

// The interface between compiled CUDA text and the emulator. The text is compiled by itself,
// without our headers, so the declarations are written once and used twice: as C++ here, and as the
// beginning of the header that the text includes (device_header.h).
#define TCC_DECLARE_HERE_AND_IN_TEXT(...) \
  __VA_ARGS__                             \
  inline constexpr char kHostInterfaceText[] = #__VA_ARGS__;

namespace tcc::emulator {

// TccWhere: one access to an array, for messages: `name[index]` in that line of the text.
//
// TccHost: the indices of the running thread, whether it has yet to wait for the launch before
// (LaunchOptions::dependent), and the functions that it may call. A function that finds a mistake
// does not return.
//   shared_array    returns where array `id` lies, the same for all threads of a block: at byte
//                   `offset` of dynamic shared memory, or in static memory if offset < 0
//   shared_access   is called before each read ('r'), write ('w') and atomic update ('a') of shared
//                   memory
//   global_write    is called before each write or atomic update of global memory
//   global_read     is called before each read of a buffer that the kernel may write
//   too_early       is called by an access to global memory that has not waited
//   barrier         waits until all threads of the block have come
//   barrier_or      does the same; returns whether any of them voted true
//   fence           orders the running thread's accesses to global memory
//   take_ticket     is called by one thread, before it counts its block; `last` if it is the last
//   exchange        gives `bytes` <= kTccSlot to the warp; returns 32 slots of kTccSlot bytes,
//                   valid until the next call but one
//   async_wait      waits until at most `pending` committed groups are in flight
//   init_boxes, expect_boxes, copy_box, wait_boxes    see box_copies.h; `room` bytes follow `to`
//   shared_address  returns the address of a byte of shared memory as a descriptor counts it
//   group_product   issues a product of a warp group (codegen_cuda/text/group_prelude.h)
//   group_wait      waits until at most `pending` batches of the thread's products are in flight
//   group_results   hands out the sums between two addresses, if none is in flight
//
// TccMatrix: a descriptor, and the shared array that holds its first element. TccProduct: what one
// thread says of a product; elements are 'h' f16, 'b' bf16, 't' tf32 or 's' s8, `sums` is the first
// tile of its part of C.
//
// TccMap: a tensor map in the emulated driver's encoding, the innermost dimension first; `mark` is
// kTccMapMark, and beside it kTccLargeMap if that bit is set. `swizzle` is the number of address
// bits that are XORed.
//
// TccParameter: a parameter of kind 'i'nput, 'o'utput, 't'ickets, 's'hape or tensor 'm'ap.
// TccArgument: the value passed for it; `pointer` of a map is that to the TccMap. TccKernel: the
// description of a kernel that TCC_END_KERNEL defines; `threads` is the most per block.
TCC_DECLARE_HERE_AND_IN_TEXT(
    inline constexpr int kTccSlot = 32; struct TccWhere {
      const char* name;
      long long index;
      int line;
    };
    struct TccMatrix {
      unsigned long long descriptor;
      const void* array;
      long long array_bytes;
      TccWhere where;
    };
    struct TccProduct {
      const char* operation;
      char type;
      int columns;
      bool a_transposed;
      bool b_transposed;
      TccMatrix a;
      TccMatrix b;
      void* sums;
      TccWhere where;
    };
    inline constexpr unsigned kTccMapMark = 0x544343;
    inline constexpr unsigned kTccLargeMap = 1u << 21; struct alignas(64) TccMap {
      unsigned char* data;
      unsigned mark;
      unsigned char rank;
      unsigned char element_bytes;
      unsigned char swizzle;
      bool rounds_to_tf32;
      unsigned long long extents[5];
      unsigned long long byte_strides[5];
      unsigned short box[5];
      unsigned char rest[22];
    };
    struct TccHost {
      unsigned thread[3];
      unsigned block[3];
      unsigned linear_thread;
      bool early;
      void* (*shared_array)(int id, long long offset, long long bytes, TccWhere where);
      void (*shared_access)(void* address, unsigned bytes, char kind, TccWhere where);
      void (*global_write)(void* address, unsigned bytes, char kind, TccWhere where);
      void (*global_read)(const void* address, unsigned bytes, TccWhere where);
      void (*too_early)(TccWhere where);
      void (*out_of_bounds)(long long elements, long long count, TccWhere where);
      void (*misaligned)(const void* address, unsigned bytes, TccWhere where);
      void (*barrier)(int line);
      bool (*barrier_or)(bool vote, int line);
      void (*fence)();
      void (*take_ticket)(const void* ticket, bool last, TccWhere where);
      const unsigned char* (*exchange)(const char* operation, const void* value, unsigned bytes,
                                       int line);
      void (*async_copy)(void* to, const void* from, unsigned bytes, TccWhere where);
      void (*async_commit)();
      void (*async_wait)(int pending);
      unsigned (*shared_address)(const void* address);
      void (*proxy_fence)();
      void (*group_fence)();
      void (*group_product)(const TccProduct* product);
      void (*group_commit)();
      void (*group_wait)(int pending, int line);
      void (*group_results)(void* sums, unsigned bytes, int line);
      void (*init_boxes)(const void* barrier, TccWhere where);
      void (*expect_boxes)(const void* barrier, long long bytes, TccWhere where);
      void (*copy_box)(void* to, long long room, const TccMap* map, const int* first, int rank,
                       const void* barrier, TccWhere where);
      void (*wait_boxes)(const void* barrier, unsigned parity, TccWhere where);
    };
    struct TccParameter {
      const char* name;
      unsigned element_bytes;
      char kind;
    };
    struct TccArgument {
      void* pointer;
      long long bytes;
      long long value;
    };
    struct TccKernel {
      int threads;
      int parameter_count;
      const TccParameter* parameters;
      void (*run)(const TccArgument* arguments);
    };)

}  // namespace tcc::emulator
