#pragma once

#include <cstddef>
#include <memory>
#include <vector>

// libcuda as a program uses it that has no toolkit: opened by its path, with the functions that are
// needed declared by hand.
struct Driver {
  // Of the file that TCC_CUDA_DRIVER names, else of libcuda.so.1. Ends the program without it.
  Driver();

  int (*init)(unsigned flags);
  int (*device_get)(int* device, int ordinal);
  int (*context_retain)(void** context, int device);
  int (*context_release)(int device);
  int (*context_push)(void* context);
  int (*context_pop)(void** context);
  int (*allocate)(unsigned long long* memory, std::size_t bytes);
  int (*free)(unsigned long long memory);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_destroy)(void* stream);
  int (*stream_synchronize)(void* stream);
  int (*upload)(unsigned long long to, const void* from, std::size_t bytes, void* stream);
  int (*download)(void* to, unsigned long long from, std::size_t bytes, void* stream);
};

// Ends the program, naming `what`, unless the driver's answer is success.
void Expect(int result, const char* what);

// A device with a stream, and memory that is given back with it. Its context is the thread's from
// its beginning to its end.
class Device {
 public:
  Device(const Driver& driver, int ordinal);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  void* stream() const { return stream_; }
  void* Allocate(std::size_t bytes);
  // Both are enqueued in the stream.
  void Upload(void* to, const std::vector<char>& from);
  void Download(std::vector<char>& to, const void* from);
  void Synchronize();

 private:
  const Driver& driver_;
  int device_ = 0;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  std::vector<unsigned long long> memory_;
};
