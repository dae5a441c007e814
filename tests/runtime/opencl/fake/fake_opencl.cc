#include "tests/runtime/opencl/fake/fake_opencl.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>

using namespace tcc;

namespace {

test::FakeOpenCl fake;

enum class Kind { kContext, kQueue, kBuffer, kProgram, kKernel, kEvent };

struct Object {
  Kind kind;
  std::vector<uint8_t> bytes = {};  // of a buffer
  std::string text = {};            // of a program
  bool is_binary = false;
  bool is_built = false;
  std::string name = {};                                 // of a kernel
  std::map<uint32_t, std::vector<uint8_t>> values = {};  // of its arguments
  OpenClResult status = kOpenClSuccess;                  // of an event
};

std::set<void*> known;
char platform_place, device_place;
OpenClPlatform Platform() {
  return reinterpret_cast<OpenClPlatform>(&platform_place);
}
OpenClDeviceHandle Device() {
  return reinterpret_cast<OpenClDeviceHandle>(&device_place);
}

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fake OpenCL: %s\n", what);
  std::abort();
}

// Records a call and returns the error that it is to fail with.
OpenClResult Called(const char* name) {
  const auto number = static_cast<int64_t>(fake.calls.size());
  fake.calls.emplace_back(name);
  return number == fake.failing_call ? fake.error : kOpenClSuccess;
}

template <typename Handle>
Handle Make(Object object) {
  auto* made = new Object(std::move(object));
  known.insert(made);
  ++fake.objects;
  return reinterpret_cast<Handle>(made);
}

Object& Get(void* handle, Kind kind) {
  Expect(known.contains(handle), "a handle that is not known");
  auto* object = static_cast<Object*>(handle);
  Expect(object->kind == kind, "a handle of another kind");
  return *object;
}

OpenClResult Release(void* handle, Kind kind) {
  delete &Get(handle, kind);
  known.erase(handle);
  --fake.objects;
  return kOpenClSuccess;
}

// Answers a question as OpenCL does.
OpenClResult Answer(const void* answer, size_t answer_bytes, size_t room, void* value,
                    size_t* bytes) {
  if (bytes != nullptr) *bytes = answer_bytes;
  if (value == nullptr) return kOpenClSuccess;
  if (room < answer_bytes) return -30;
  std::memcpy(value, answer, answer_bytes);
  return kOpenClSuccess;
}
OpenClResult Answer(const char* text, size_t room, void* value, size_t* bytes) {
  return Answer(text, std::strlen(text) + 1, room, value, bytes);
}
template <typename Number>
OpenClResult AnswerNumber(Number number, size_t room, void* value, size_t* bytes) {
  return Answer(&number, sizeof(number), room, value, bytes);
}

std::span<uint8_t> Range(OpenClBuffer buffer, size_t offset, size_t bytes) {
  Object& object = Get(buffer, Kind::kBuffer);
  Expect(offset <= object.bytes.size() && bytes <= object.bytes.size() - offset && bytes > 0,
         "a range outside of its buffer");
  return std::span(object.bytes).subspan(offset, bytes);
}

// The arguments of a launch in turn.
class Arguments {
 public:
  explicit Arguments(const Object& kernel) : kernel_(kernel) {}

  template <typename Value>
  Value Next() {
    auto found = kernel_.values.find(next_++);
    Expect(found != kernel_.values.end(), "an argument that was not set");
    Expect(found->second.size() == sizeof(Value), "an argument of another size");
    Value value;
    std::memcpy(&value, found->second.data(), sizeof(value));
    return value;
  }
  // Memory, which takes two. A buffer that has no bytes left behind the offset gives no place.
  template <typename Element>
  Element* Memory() {
    Object& buffer = Get(Next<void*>(), Kind::kBuffer);
    const auto offset = static_cast<size_t>(Next<int64_t>());
    Expect(offset <= buffer.bytes.size(), "an offset outside of its buffer");
    return reinterpret_cast<Element*>(buffer.bytes.data() + offset);
  }

 private:
  const Object& kernel_;
  uint32_t next_ = 0;
};

void ScaleAdd(Arguments& arguments) {
  auto* x = arguments.Memory<float>();
  auto* w = arguments.Memory<float>();
  auto* y = arguments.Memory<float>();
  const auto count = arguments.Next<int64_t>();
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] + 2 * w[i];
}

void Put(Arguments& arguments) {
  auto* x = arguments.Memory<float>();
  std::copy_n(x, 4, arguments.Memory<float>());
}

void Take(Arguments& arguments) {
  auto* middle = arguments.Memory<float>();
  std::reverse_copy(middle, middle + 4, arguments.Memory<float>());
}

void CountUp(Arguments& arguments) {
  auto* x = arguments.Memory<float>();
  auto* y = arguments.Memory<float>();
  const auto count = arguments.Next<int64_t>();
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] + static_cast<float>(i);
}

void SumParts(Arguments& arguments) {
  auto* x = arguments.Memory<float>();
  auto* y = arguments.Memory<float>();
  auto* parts = arguments.Memory<float>();
  auto* tickets = arguments.Memory<uint32_t>();
  const auto count = arguments.Next<int64_t>();
  for (int64_t tile = 0; 128 * tile < count; ++tile) {
    Expect(tickets[tile] == 0, "tickets that are not zero");
    parts[256 * tile] = 0;
  }
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] + 2 * x[i];
}

void Step(Arguments& arguments) {
  auto* x = arguments.Memory<float>();
  auto* y = arguments.Memory<float>();
  auto* more = arguments.Memory<uint8_t>();
  y[0] = 2 * x[0] + static_cast<float>(arguments.Next<int64_t>());
  more[0] = y[0] < 1000;
}

struct FakeKernel {
  const char* name;
  uint32_t arguments;
  size_t block;
  void (*run)(Arguments& arguments);
};
constexpr FakeKernel kKernels[] = {
    {"scale_add", 7, 128, ScaleAdd},
    {"put", 4, 4, Put},
    {"take", 4, 4, Take},
    {"count_up", 5, 128, CountUp},
    {"sum_parts", 9, 128, SumParts},
    {"advance", 7, 1, Step},
};

const FakeKernel& KernelOf(const Object& kernel) {
  const auto* found = std::ranges::find(kKernels, kernel.name, &FakeKernel::name);
  Expect(found != std::end(kKernels), "a kernel that is not known");
  return *found;
}

}  // namespace

// Each call is recorded, and may be told to fail.
#define BEGIN_CALL(name) \
  if (const OpenClResult error = Called(#name); error != kOpenClSuccess) return error
#define BEGIN_MAKING(name) \
  *result = Called(#name); \
  if (*result != kOpenClSuccess) return nullptr
// It still releases.
#define RELEASE(name, handle, kind)         \
  const OpenClResult error = Called(#name); \
  Release(handle, kind);                    \
  return error

extern "C" {

test::FakeOpenCl* tcc_fake_opencl() {
  return &fake;
}

OpenClResult clGetPlatformIDs(uint32_t room, OpenClPlatform* platforms, uint32_t* count) {
  BEGIN_CALL(clGetPlatformIDs);
  if (fake.platforms == 0) return kOpenClPlatformNotFound;
  if (count != nullptr) *count = fake.platforms;
  for (uint32_t i = 0; i < room && platforms != nullptr; ++i) platforms[i] = Platform();
  return kOpenClSuccess;
}

OpenClResult clGetPlatformInfo(OpenClPlatform, uint32_t fact, size_t room, void* value,
                               size_t* bytes) {
  BEGIN_CALL(clGetPlatformInfo);
  return fact == kOpenClPlatformName ? Answer("Fake", room, value, bytes) : -30;
}

OpenClResult clGetDeviceIDs(OpenClPlatform, OpenClFlags, uint32_t room, OpenClDeviceHandle* devices,
                            uint32_t* count) {
  BEGIN_CALL(clGetDeviceIDs);
  if (fake.devices == 0) return kOpenClDeviceNotFound;
  if (count != nullptr) *count = fake.devices;
  for (uint32_t i = 0; i < room && devices != nullptr; ++i) devices[i] = Device();
  return kOpenClSuccess;
}

OpenClResult clGetDeviceInfo(OpenClDeviceHandle, uint32_t fact, size_t room, void* value,
                             size_t* bytes) {
  BEGIN_CALL(clGetDeviceInfo);
  const size_t along[] = {fake.max_threads_along, fake.max_threads_along, fake.max_threads_along};
  switch (static_cast<OpenClDeviceFact>(fact)) {
    case kOpenClDeviceType:
      return AnswerNumber(OpenClFlags{1 << 2}, room, value, bytes);
    case kOpenClComputeUnits:
      return AnswerNumber(uint32_t{4}, room, value, bytes);
    case kOpenClMaxThreads:
      return AnswerNumber(fake.max_threads, room, value, bytes);
    case kOpenClMaxThreadsAlong:
      return Answer(along, sizeof(along), room, value, bytes);
    case kOpenClClockMhz:
      return AnswerNumber(uint32_t{1000}, room, value, bytes);
    case kOpenClMaxAllocationBytes:
      return AnswerNumber(fake.max_allocation_bytes, room, value, bytes);
    case kOpenClMaxArgumentBytes:
      return AnswerNumber(fake.argument_bytes, room, value, bytes);
    case kOpenClFloatAbilities:
      return AnswerNumber(kOpenClRoundsDivision, room, value, bytes);
    case kOpenClCacheBytes:
      return AnswerNumber(uint64_t{1} << 20, room, value, bytes);
    case kOpenClGlobalBytes:
      return AnswerNumber(4 * fake.max_allocation_bytes, room, value, bytes);
    case kOpenClLocalBytes:
      return AnswerNumber(fake.local_bytes, room, value, bytes);
    case kOpenClDeviceName:
      return Answer("fake", room, value, bytes);
    case kOpenClDriverVersion:
      return Answer(fake.driver_version, room, value, bytes);
    case kOpenClDeviceVersion:
      return Answer(fake.version, room, value, bytes);
  }
  return -30;
}

OpenClContextHandle clCreateContext(const intptr_t* properties, uint32_t device_count,
                                    const OpenClDeviceHandle* devices, OpenClContextCallback, void*,
                                    OpenClResult* result) {
  BEGIN_MAKING(clCreateContext);
  Expect(properties[0] == kOpenClContextPlatform && properties[2] == 0, "bad properties");
  Expect(device_count == 1 && devices[0] == Device(), "a device that is not known");
  return Make<OpenClContextHandle>({Kind::kContext});
}
OpenClResult clReleaseContext(OpenClContextHandle context) {
  RELEASE(clReleaseContext, context, Kind::kContext);
}

OpenClQueueHandle clCreateCommandQueue(OpenClContextHandle context, OpenClDeviceHandle, OpenClFlags,
                                       OpenClResult* result) {
  BEGIN_MAKING(clCreateCommandQueue);
  Get(context, Kind::kContext);
  return Make<OpenClQueueHandle>({Kind::kQueue});
}
OpenClResult clReleaseCommandQueue(OpenClQueueHandle queue) {
  RELEASE(clReleaseCommandQueue, queue, Kind::kQueue);
}

OpenClBuffer clCreateBuffer(OpenClContextHandle context, OpenClFlags flags, size_t bytes,
                            void* contents, OpenClResult* result) {
  BEGIN_MAKING(clCreateBuffer);
  Get(context, Kind::kContext);
  Expect((contents != nullptr) == ((flags & kOpenClCopyOfHost) != 0), "contents without a flag");
  if (bytes == 0 || bytes > fake.max_allocation_bytes) {
    *result = kOpenClInvalidBufferSize;
    return nullptr;
  }
  constexpr uint8_t kPoison = 0xA5;
  Object buffer{Kind::kBuffer, std::vector<uint8_t>(bytes, kPoison)};
  if (contents != nullptr) std::memcpy(buffer.bytes.data(), contents, bytes);
  return Make<OpenClBuffer>(std::move(buffer));
}
OpenClResult clReleaseMemObject(OpenClBuffer buffer) {
  RELEASE(clReleaseMemObject, buffer, Kind::kBuffer);
}

OpenClProgramHandle clCreateProgramWithSource(OpenClContextHandle, uint32_t count,
                                              const char** texts, const size_t* sizes,
                                              OpenClResult* result) {
  BEGIN_MAKING(clCreateProgramWithSource);
  Expect(count == 1, "several texts");
  return Make<OpenClProgramHandle>({.kind = Kind::kProgram, .text = std::string(*texts, *sizes)});
}
OpenClProgramHandle clCreateProgramWithBinary(OpenClContextHandle, uint32_t,
                                              const OpenClDeviceHandle*, const size_t* sizes,
                                              const unsigned char** binaries,
                                              OpenClResult* of_device, OpenClResult* result) {
  BEGIN_MAKING(clCreateProgramWithBinary);
  *of_device = kOpenClSuccess;
  std::string text(reinterpret_cast<const char*>(*binaries), *sizes);
  Expect(text.starts_with("binary of "), "a binary that is not the driver's");
  if (fake.refuses_binaries) {
    *result = *of_device = kOpenClInvalidBinary;
    return nullptr;
  }
  return Make<OpenClProgramHandle>({.kind = Kind::kProgram, .text = text, .is_binary = true});
}

OpenClResult clBuildProgram(OpenClProgramHandle handle, uint32_t, const OpenClDeviceHandle*,
                            const char* options, OpenClProgramCallback, void*) {
  BEGIN_CALL(clBuildProgram);
  Object& program = Get(handle, Kind::kProgram);
  fake.options = options;
  if (!program.is_binary) ++fake.compilations;
  if (program.text.find("#error") != std::string::npos) return kOpenClBuildFailed;
  program.is_built = true;
  return kOpenClSuccess;
}

OpenClResult clGetProgramInfo(OpenClProgramHandle handle, uint32_t fact, size_t room, void* value,
                              size_t* bytes) {
  BEGIN_CALL(clGetProgramInfo);
  const std::string binary = "binary of " + Get(handle, Kind::kProgram).text;
  if (fact == kOpenClBinarySizes) return AnswerNumber(binary.size(), room, value, bytes);
  Expect(fact == kOpenClBinaries, "a question that is not known");
  std::memcpy(*static_cast<unsigned char**>(value), binary.data(), binary.size());
  return kOpenClSuccess;
}
OpenClResult clGetProgramBuildInfo(OpenClProgramHandle, OpenClDeviceHandle, uint32_t fact,
                                   size_t room, void* value, size_t* bytes) {
  BEGIN_CALL(clGetProgramBuildInfo);
  Expect(fact == kOpenClBuildLog, "a question that is not known");
  return Answer("line 1: an error\n", room, value, bytes);
}
OpenClResult clReleaseProgram(OpenClProgramHandle program) {
  RELEASE(clReleaseProgram, program, Kind::kProgram);
}

OpenClKernelHandle clCreateKernel(OpenClProgramHandle handle, const char* name,
                                  OpenClResult* result) {
  BEGIN_MAKING(clCreateKernel);
  const Object& program = Get(handle, Kind::kProgram);
  Expect(program.is_built, "a program that was not built");
  if (program.text.find(std::string("void ") + name + "(") == std::string::npos) {
    *result = kOpenClInvalidKernelName;
    return nullptr;
  }
  return Make<OpenClKernelHandle>({.kind = Kind::kKernel, .name = name});
}
OpenClResult clReleaseKernel(OpenClKernelHandle kernel) {
  RELEASE(clReleaseKernel, kernel, Kind::kKernel);
}

OpenClResult clSetKernelArg(OpenClKernelHandle handle, uint32_t index, size_t bytes,
                            const void* value) {
  BEGIN_CALL(clSetKernelArg);
  Object& kernel = Get(handle, Kind::kKernel);
  if (index >= KernelOf(kernel).arguments) return kOpenClInvalidArgumentIndex;
  const auto* begin = static_cast<const uint8_t*>(value);
  kernel.values[index].assign(begin, begin + bytes);
  return kOpenClSuccess;
}
OpenClResult clGetKernelInfo(OpenClKernelHandle handle, uint32_t fact, size_t room, void* value,
                             size_t* bytes) {
  BEGIN_CALL(clGetKernelInfo);
  Expect(fact == kOpenClArgumentCount, "a question that is not known");
  return AnswerNumber(KernelOf(Get(handle, Kind::kKernel)).arguments, room, value, bytes);
}
OpenClResult clGetKernelWorkGroupInfo(OpenClKernelHandle handle, OpenClDeviceHandle, uint32_t fact,
                                      size_t room, void* value, size_t* bytes) {
  BEGIN_CALL(clGetKernelWorkGroupInfo);
  const size_t block[] = {KernelOf(Get(handle, Kind::kKernel)).block, 1, 1};
  if (fact == kOpenClKernelBlock) return Answer(block, sizeof(block), room, value, bytes);
  Expect(fact == kOpenClKernelMaxThreads, "a question that is not known");
  return AnswerNumber(fake.kernel_max_threads, room, value, bytes);
}

OpenClResult clEnqueueReadBuffer(OpenClQueueHandle queue, OpenClBuffer buffer, uint32_t waits,
                                 size_t offset, size_t bytes, void* to, uint32_t,
                                 const OpenClEventHandle*, OpenClEventHandle*) {
  BEGIN_CALL(clEnqueueReadBuffer);
  Get(queue, Kind::kQueue);
  Expect(waits == 1, "a transfer that the host does not wait for");
  std::ranges::copy(Range(buffer, offset, bytes), static_cast<uint8_t*>(to));
  return kOpenClSuccess;
}
OpenClResult clEnqueueWriteBuffer(OpenClQueueHandle queue, OpenClBuffer buffer, uint32_t waits,
                                  size_t offset, size_t bytes, const void* from, uint32_t,
                                  const OpenClEventHandle*, OpenClEventHandle*) {
  BEGIN_CALL(clEnqueueWriteBuffer);
  Get(queue, Kind::kQueue);
  Expect(waits == 1, "a transfer that the host does not wait for");
  std::memcpy(Range(buffer, offset, bytes).data(), from, bytes);
  return kOpenClSuccess;
}
OpenClResult clEnqueueCopyBuffer(OpenClQueueHandle queue, OpenClBuffer from, OpenClBuffer to,
                                 size_t from_offset, size_t to_offset, size_t bytes, uint32_t,
                                 const OpenClEventHandle*, OpenClEventHandle*) {
  BEGIN_CALL(clEnqueueCopyBuffer);
  Get(queue, Kind::kQueue);
  const bool overlap =
      from == to && from_offset < to_offset + bytes && to_offset < from_offset + bytes;
  if (overlap) return -8;
  std::ranges::copy(Range(from, from_offset, bytes), Range(to, to_offset, bytes).begin());
  return kOpenClSuccess;
}
OpenClResult clEnqueueFillBuffer(OpenClQueueHandle queue, OpenClBuffer buffer, const void* pattern,
                                 size_t pattern_bytes, size_t offset, size_t bytes, uint32_t,
                                 const OpenClEventHandle*, OpenClEventHandle*) {
  BEGIN_CALL(clEnqueueFillBuffer);
  Get(queue, Kind::kQueue);
  Expect(bytes % pattern_bytes == 0, "a part of a pattern");
  std::span<uint8_t> range = Range(buffer, offset, bytes);
  for (size_t i = 0; i < bytes; ++i) {
    range[i] = static_cast<const uint8_t*>(pattern)[i % pattern_bytes];
  }
  return kOpenClSuccess;
}

OpenClResult clEnqueueNDRangeKernel(OpenClQueueHandle queue, OpenClKernelHandle handle,
                                    uint32_t rank, const size_t*, const size_t* threads,
                                    const size_t* block, uint32_t, const OpenClEventHandle*,
                                    OpenClEventHandle* event) {
  BEGIN_CALL(clEnqueueNDRangeKernel);
  Get(queue, Kind::kQueue);
  const Object& kernel = Get(handle, Kind::kKernel);
  Expect(rank == 3 && block[0] == KernelOf(kernel).block && threads[0] % block[0] == 0,
         "a launch of other threads");
  Arguments arguments(kernel);
  const bool fails = fake.launches++ == fake.failing_launch;
  if (!fails) KernelOf(kernel).run(arguments);
  *event = Make<OpenClEventHandle>(
      {.kind = Kind::kEvent, .status = fails ? fake.error : kOpenClSuccess});
  return kOpenClSuccess;
}

OpenClResult clFinish(OpenClQueueHandle queue) {
  BEGIN_CALL(clFinish);
  Get(queue, Kind::kQueue);
  return kOpenClSuccess;
}
OpenClResult clGetEventInfo(OpenClEventHandle event, uint32_t fact, size_t room, void* value,
                            size_t* bytes) {
  BEGIN_CALL(clGetEventInfo);
  Expect(fact == kOpenClEventStatus, "a question that is not known");
  return AnswerNumber(Get(event, Kind::kEvent).status, room, value, bytes);
}
OpenClResult clGetEventProfilingInfo(OpenClEventHandle event, uint32_t fact, size_t room,
                                     void* value, size_t* bytes) {
  BEGIN_CALL(clGetEventProfilingInfo);
  Get(event, Kind::kEvent);
  return AnswerNumber(uint64_t{fact == kOpenClStarted ? 1000U : 3000U}, room, value, bytes);
}
OpenClResult clReleaseEvent(OpenClEventHandle event) {
  RELEASE(clReleaseEvent, event, Kind::kEvent);
}

}  // extern "C"
