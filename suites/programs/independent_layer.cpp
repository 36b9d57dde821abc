// An OpenCL layer with its own accounting, to check peakmark's recorder against. It shares no code with the
// recorder, asks the driver itself for sizes and destruction, and counts in a file that it maps, so that the
// figures survive a crash of the program and no order of destructors matters. ci/programs compiles it, and
// reads the file $INDEPENDENT_BOOK.<pid>.
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace {

/// Allocations of one driver, or of all, in bytes. ci/programs reads this layout.
struct Account {
  char platform[64];
  std::int64_t peak;
  std::int64_t live;  ///< never released by the program, or not destroyed yet
  std::int64_t total;
  std::int64_t count;      ///< memory objects and SVM allocations, without those over host memory
  std::int64_t failed;     ///< calls that returned no object
  std::int64_t host;       ///< bytes of objects over the program's own memory (CL_MEM_USE_HOST_PTR)
  std::int64_t unwatched;  ///< objects whose driver reports no destruction
};

constexpr std::size_t kMaxAccounts = 16;

/// The file: the first account is the sum of all drivers.
struct Book {
  std::array<Account, kMaxAccounts> accounts;
};

struct Object {
  std::int64_t bytes = 0;
  std::int64_t references = 1;  ///< of the program
  std::size_t account = 0;
  bool is_host = false;
  bool is_watched = true;
};

/// Never destroyed: drivers call back until the process ends.
struct State {
  std::mutex mutex;
  Book* book = nullptr;
  pid_t pid = 0;
  std::unordered_map<const void*, Object> objects;
  std::array<const cl_icd_dispatch*, kMaxAccounts> drivers{};
  std::size_t used = 1;
  cl_icd_dispatch next{};  ///< of the first loader, whose functions accept the handles of all loaders
};
State& state() {
  static State* const only = new State;
  return *only;
}

/// Returns the table of the driver, which may lack functions that the loader has.
const cl_icd_dispatch& driver_of(const void* handle) {
  return **static_cast<const cl_icd_dispatch* const*>(handle);
}

/// A forked child begins its own file. It inherits no allocations, since no handle is valid there.
void open_book(State& s) {
  if (s.book != nullptr && s.pid == getpid()) return;
  s.pid = getpid();
  s.objects.clear();
  s.drivers = {};
  s.used = 1;
  const char* const prefix = std::getenv("INDEPENDENT_BOOK");
  std::array<char, 4096> path{};
  void* mapped = MAP_FAILED;
  if (prefix != nullptr) {
    std::snprintf(path.data(), path.size(), "%s.%d", prefix, static_cast<int>(s.pid));
    const int file = open(path.data(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file >= 0) {
      if (ftruncate(file, sizeof(Book)) == 0)
        mapped = mmap(nullptr, sizeof(Book), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      close(file);
    }
  }
  if (mapped == MAP_FAILED) {
    std::fprintf(stderr, "independent layer: INDEPENDENT_BOOK cannot be written: %s\n", path.data());
    static Book nowhere;
    mapped = &nowhere;
  }
  s.book = static_cast<Book*>(mapped);
  std::strcpy(s.book->accounts[0].platform, "all");
}

/// Returns the account of a driver, by one of its contexts.
std::size_t account_of(State& s, cl_context context) {
  const cl_icd_dispatch* const driver = &driver_of(context);
  for (std::size_t i = 1; i < s.used; ++i)
    if (s.drivers[i] == driver) return i;
  if (s.used == kMaxAccounts) return 0;
  s.drivers[s.used] = driver;
  std::array<cl_device_id, 64> devices{};
  cl_platform_id platform = nullptr;
  if (driver->clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(devices), devices.data(), nullptr) ==
          CL_SUCCESS &&
      driver->clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(platform), static_cast<void*>(&platform),
                              nullptr) == CL_SUCCESS) {
    driver->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(Account::platform) - 1,
                              s.book->accounts[s.used].platform, nullptr);
  }
  return s.used++;
}

/// Changes the account of a driver, and the sum.
template <typename Change>
void change(State& s, std::size_t account, Change what) {
  what(s.book->accounts[0]);
  if (account != 0) what(s.book->accounts[account]);
}

void add(State& s, std::size_t account, std::int64_t bytes) {
  change(s, account, [bytes](Account& one) {
    one.live += bytes;
    one.peak = std::max(one.peak, one.live);
  });
}

void forget(State& s, std::unordered_map<const void*, Object>::iterator found) {
  const Object& object = found->second;
  if (!object.is_host) add(s, object.account, -object.bytes);
  s.objects.erase(found);
}

/// Called when the driver destroys an object. If the program still holds it, the driver is cleaning up at its
/// end: the program has not released the object, so it stays live.
void CL_CALLBACK on_destroyed(cl_mem memory, void* /*unused*/) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const auto found = s.objects.find(memory);
  if (found != s.objects.end() && found->second.references <= 0) forget(s, found);
}

void enter(State& s, cl_context context, const void* handle, Object object) {
  const std::lock_guard lock(s.mutex);
  open_book(s);
  object.account = account_of(s, context);
  if (handle == nullptr) return change(s, object.account, [](Account& one) { ++one.failed; });
  if (const auto old = s.objects.find(handle); old != s.objects.end()) s.objects.erase(old);
  s.objects.emplace(handle, object);
  change(s, object.account, [&](Account& one) {
    if (!object.is_watched) ++one.unwatched;
    if (object.is_host) {
      one.host += object.bytes;
    } else {
      ++one.count;
      one.total += object.bytes;
    }
  });
  if (!object.is_host) add(s, object.account, object.bytes);
}

std::int64_t size_of(cl_mem memory) {
  std::size_t bytes = 0;
  driver_of(memory).clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr);
  return static_cast<std::int64_t>(bytes);
}

/// Records the object that a creating call returned. `parent` is the object that contains it, or null.
cl_mem created(cl_context context, cl_mem_flags flags, cl_mem parent, cl_mem memory) {
  if (parent != nullptr) {
    driver_of(parent).clGetMemObjectInfo(parent, CL_MEM_CONTEXT, sizeof(context),
                                         static_cast<void*>(&context), nullptr);
  }
  Object object;
  if (memory != nullptr) {
    object.bytes = parent != nullptr ? 0 : size_of(memory);
    object.is_host = parent == nullptr && (flags & CL_MEM_USE_HOST_PTR) != 0;
    object.is_watched = driver_of(memory).clSetMemObjectDestructorCallback != nullptr;
  }
  enter(state(), context, memory, object);
  if (memory != nullptr && object.is_watched)
    driver_of(memory).clSetMemObjectDestructorCallback(memory, on_destroyed, nullptr);
  return memory;
}

cl_int CL_API_CALL retain(cl_mem memory) {
  State& s = state();
  const cl_int result = state().next.clRetainMemObject(memory);
  const std::lock_guard lock(s.mutex);
  const auto found = s.objects.find(memory);
  if (result == CL_SUCCESS && found != s.objects.end()) ++found->second.references;
  return result;
}

/// Counts before the driver is called, since it may destroy the object in the call.
cl_int CL_API_CALL release(cl_mem memory) {
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (const auto found = s.objects.find(memory);
        found != s.objects.end() && --found->second.references <= 0 && !found->second.is_watched)
      forget(s, found);
  }
  return state().next.clReleaseMemObject(memory);
}

cl_mem CL_API_CALL create_buffer(cl_context c, cl_mem_flags f, size_t size, void* host, cl_int* e) {
  return created(c, f, nullptr, state().next.clCreateBuffer(c, f, size, host, e));
}
cl_mem CL_API_CALL create_buffer_with(cl_context c, const cl_mem_properties* p, cl_mem_flags f, size_t size,
                                      void* host, cl_int* e) {
  return created(c, f, nullptr, state().next.clCreateBufferWithProperties(c, p, f, size, host, e));
}
cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags f, cl_buffer_create_type type,
                                     const void* info, cl_int* e) {
  return created(nullptr, f, buffer, state().next.clCreateSubBuffer(buffer, f, type, info, e));
}
cl_mem parent_of(const cl_image_desc* shape) {
  return shape == nullptr ? nullptr : shape->buffer;
}
cl_mem CL_API_CALL create_image(cl_context c, cl_mem_flags f, const cl_image_format* format,
                                const cl_image_desc* shape, void* host, cl_int* e) {
  return created(c, f, parent_of(shape), state().next.clCreateImage(c, f, format, shape, host, e));
}
cl_mem CL_API_CALL create_image_with(cl_context c, const cl_mem_properties* p, cl_mem_flags f,
                                     const cl_image_format* format, const cl_image_desc* shape, void* host,
                                     cl_int* e) {
  return created(c, f, parent_of(shape),
                 state().next.clCreateImageWithProperties(c, p, f, format, shape, host, e));
}
cl_mem CL_API_CALL create_image_2d(cl_context c, cl_mem_flags f, const cl_image_format* format, size_t width,
                                   size_t height, size_t pitch, void* host, cl_int* e) {
  return created(c, f, nullptr, state().next.clCreateImage2D(c, f, format, width, height, pitch, host, e));
}
cl_mem CL_API_CALL create_image_3d(cl_context c, cl_mem_flags f, const cl_image_format* format, size_t width,
                                   size_t height, size_t depth, size_t pitch, size_t slice, void* host,
                                   cl_int* e) {
  return created(c, f, nullptr,
                 state().next.clCreateImage3D(c, f, format, width, height, depth, pitch, slice, host, e));
}
cl_mem CL_API_CALL create_pipe(cl_context c, cl_mem_flags f, cl_uint packet, cl_uint packets,
                               const cl_pipe_properties* p, cl_int* e) {
  return created(c, f, nullptr, state().next.clCreatePipe(c, f, packet, packets, p, e));
}

void* CL_API_CALL svm_alloc(cl_context c, cl_svm_mem_flags f, size_t size, cl_uint alignment) {
  void* const memory = state().next.clSVMAlloc(c, f, size, alignment);
  enter(state(), c, memory, {.bytes = static_cast<std::int64_t>(size)});
  return memory;
}
void CL_API_CALL svm_free(cl_context c, void* memory) {
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (const auto found = s.objects.find(memory); found != s.objects.end()) forget(s, found);
  }
  state().next.clSVMFree(c, memory);
}

/// Returns the hooks for the functions of a loader. For each function, `next` keeps that of the first loader
/// that has it.
cl_icd_dispatch hooks(const cl_icd_dispatch& offered, cl_icd_dispatch& next) {
  cl_icd_dispatch mine{};
  const auto hook = [&](auto slot, auto function) {
    if (offered.*slot == nullptr) return;
    if (next.*slot == nullptr) next.*slot = offered.*slot;
    mine.*slot = function;
  };
  using Slots = cl_icd_dispatch;
  hook(&Slots::clCreateBuffer, create_buffer);
  hook(&Slots::clCreateBufferWithProperties, create_buffer_with);
  hook(&Slots::clCreateSubBuffer, create_sub_buffer);
  hook(&Slots::clCreateImage, create_image);
  hook(&Slots::clCreateImageWithProperties, create_image_with);
  hook(&Slots::clCreateImage2D, create_image_2d);
  hook(&Slots::clCreateImage3D, create_image_3d);
  hook(&Slots::clCreatePipe, create_pipe);
  hook(&Slots::clRetainMemObject, retain);
  hook(&Slots::clReleaseMemObject, release);
  hook(&Slots::clSVMAlloc, svm_alloc);
  hook(&Slots::clSVMFree, svm_free);
  return mine;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value, size_t* size_ret) {
  constexpr cl_layer_api_version kVersion = CL_LAYER_API_VERSION_100;
  constexpr char kName[] = "independent layer";
  const void* const from = name == CL_LAYER_API_VERSION ? static_cast<const void*>(&kVersion) : kName;
  const std::size_t bytes = name == CL_LAYER_API_VERSION ? sizeof(kVersion) : sizeof(kName);
  if (value != nullptr) {
    if (size < bytes) return CL_INVALID_VALUE;
    std::memcpy(value, from, bytes);
  }
  if (size_ret != nullptr) *size_ret = bytes;
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                                      const cl_icd_dispatch** layer_ret) {
  constexpr cl_uint kSlots = sizeof(cl_icd_dispatch) / sizeof(void*);
  cl_icd_dispatch offered{};
  std::memcpy(static_cast<void*>(&offered), target, std::min(entries, kSlots) * sizeof(void*));
  State& s = state();
  const std::lock_guard lock(s.mutex);
  open_book(s);
  *layer_ret = new cl_icd_dispatch(hooks(offered, s.next));  // each loader keeps a table of its own
  *entries_ret = std::min(entries, kSlots);
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint entries, const cl_icd_dispatch* target,
                                                    cl_uint* entries_ret, const cl_icd_dispatch** layer_ret,
                                                    const void* /*properties*/) {
  return clInitLayer(entries, target, entries_ret, layer_ret);
}

EXPORT cl_int CL_API_CALL clDeinitLayer() {
  return CL_SUCCESS;
}
