#pragma once

// The state of the fake driver. It is strict: using a destroyed context, pool or stream, which is undefined
// behaviour by the documentation, aborts the process.
#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "record/recorders/cupti/tests/fake_libcuda.h"

struct CUctx_st {
  CUdevice device = 0;
  std::uint32_t uid = 0;
  bool alive = false;
  bool primary = false;
  int references = 0;
  CUcontext memory_owner = nullptr;  ///< this context, or for a green context the primary one
};
struct CUgreenCtx_st {
  CUctx_st context;
};
struct CUmemPoolHandle_st {
  CUmemLocation location{};
  CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
  bool alive = false;
  bool is_default = false;
  std::size_t used = 0;
  std::size_t reserved = 0;
  std::size_t allocations = 0;
  std::uint64_t release_threshold = 0;  ///< only stored
};
struct CUgraph_st {
  struct Node {
    CUdeviceptr address;
    std::size_t bytes;
    bool freed_in_graph;
    bool live;
  };
  std::vector<Node> nodes;
  CUdevice device = 0;
};
struct CUgraphExec_st {
  CUgraph graph = nullptr;
};
struct CUstream_st {
  bool alive = true;
  CUcontext context = nullptr;
  CUgraph capture = nullptr;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
};
struct CUevent_st {
  bool alive = true;
  CUcontext context = nullptr;
  std::uint64_t recorded_ns = 0;  ///< 0: never
};
/// A kernel of a module. CUkernel handles are also addresses of this struct.
struct CUfunc_st {
  CUmodule module = nullptr;
  std::string name;
  int registers = 0;
  int shared_bytes = 0;
  int max_dynamic_shared_bytes = 48 << 10;
};
/// A module or a library.
struct CUmod_st {
  struct Global {
    std::size_t bytes = 0;
    CUdeviceptr address = 0;
  };
  /// False: an image in an undocumented format. Any name is found in it, as a kernel.
  bool is_known = true;
  bool is_library = false;
  CUcontext context = nullptr;
  std::map<std::string, CUfunc_st> functions;
  std::map<std::string, Global> globals;
};

namespace fake_cuda {

constexpr int kDevices = 2;
constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

inline bool is_device(CUdevice device) {
  return device >= 0 && device < kDevices;
}
inline std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

[[noreturn]] void abort_with(const char* call, const char* what);

/// Addresses and handles: the most recently freed one is reused first.
class Numbers {
 public:
  Numbers(std::uint64_t first, std::uint64_t step) : next_(first), step_(step) {}
  std::uint64_t take();
  void undo(std::uint64_t number) { free_.push_back(number); }

 private:
  std::uint64_t next_;
  std::uint64_t step_;
  std::vector<std::uint64_t> free_;
};

/// Addresses with memory behind them, as large as a device each. The memory uses no space until it is
/// written.
class Addresses {
 public:
  std::uint64_t take();
  /// Frees the address and sets its memory to zero.
  void undo(std::uint64_t address);
  /// Returns whether the address was ever taken.
  [[nodiscard]] bool contains(std::uint64_t address) const;

 private:
  std::set<std::uint64_t> taken_;
  std::vector<std::uint64_t> free_;
};
/// Reserves addresses with memory behind them. Returns 0 if the system has none left.
std::uint64_t reserve_addresses(std::size_t bytes);
void release_addresses(std::uint64_t address, std::size_t bytes);

enum class Kind { plain, managed, pool, graph, host, registered, array, mipmapped, imported, global };

struct Memory {
  std::size_t bytes = 0;
  Kind kind = Kind::plain;
  CUcontext owner = nullptr;    ///< the memory ends with this context; null for memory of pools
  CUmemoryPool pool = nullptr;  ///< the pool from which it was allocated
  CUdevice device = 0;
};

struct Physical {
  std::size_t bytes = 0;
  CUmemAllocationProp properties{};
  int references = 0;
  int mappings = 0;
  CUmemGenericAllocationHandle handle = 0;  ///< the most recent one
};

struct Multicast {
  std::map<std::size_t, Physical*> bound;  ///< by offset
};

struct State {
  std::mutex mutex;
  int pid = 0;
  bool deinitialised = false;
  bool reuse_handles = false;
  Addresses addresses;
  Numbers objects{0x5500'0000'0000, 0x100};  ///< arrays
  Addresses host_addresses;
  Numbers handles{0x1000, 0x10};
  std::map<std::uint64_t, Memory> memory;
  std::map<std::uint64_t, Physical*> physical;  ///< by valid handle
  std::map<std::uint64_t, Multicast> multicast;
  struct Mapping {
    std::size_t bytes;
    Physical* physical;
  };
  std::map<std::uint64_t, Mapping> mappings;
  std::map<std::uint64_t, std::size_t> reserved;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Physical*> array_mappings;  ///< by array and offset
  std::size_t used[kDevices] = {};
  std::size_t graph_used[kDevices] = {};
  std::size_t graph_reserved[kDevices] = {};
  std::uint32_t next_uid = 1;
  std::deque<CUctx_st> contexts;
  std::vector<CUcontext> free_contexts;
  CUctx_st primary[kDevices];
  std::deque<CUmemPoolHandle_st> pools;
  std::vector<CUmemoryPool> free_pools;
  CUmemPoolHandle_st default_pool[kDevices];
  CUmemPoolHandle_st host_pool;
  CUmemPoolHandle_st managed_pool;
  CUmemoryPool current_pool[kDevices] = {};
  std::deque<CUstream_st> streams;
  std::deque<CUgreenCtx_st> greens;
  std::atomic<std::uint64_t> synchronisations{0};
  std::uint64_t next_stream_id = 1;
  std::map<CUlimit, std::size_t> limits{{CU_LIMIT_STACK_SIZE, 1 << 10},
                                        {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20},
                                        {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20}};
  std::deque<CUevent_st> events;  ///< kept, so that a later use is detected
  std::map<CUmodule, std::unique_ptr<CUmod_st>> modules;
};

State& state();
/// The contexts of a thread, the current one last. It has no destructor, because the main thread makes calls
/// after its objects are destroyed.
class ContextStack {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] CUcontext back() const { return contexts_[size_ - 1]; }
  void push_back(CUcontext context);
  void pop_back() { --size_; }

 private:
  CUcontext contexts_[64];
  std::size_t size_;
};
ContextStack& context_stack();
/// Returns CUDA_SUCCESS and the current context, or the error.
CUresult current_context(CUcontext& context);
CUcontext context_or_null();

void check_alive(CUcontext context, const char* call);
void check_alive(CUmemoryPool pool, const char* call);

/// Returns CUDA_ERROR_OUT_OF_MEMORY if the device has less.
CUresult take_bytes(CUdevice device, std::size_t bytes);
void give_bytes(CUdevice device, std::size_t bytes);
/// Ends memory of any kind. The caller has checked that this is permitted.
void end_memory(std::map<std::uint64_t, Memory>::iterator memory);
void end_context(CUcontext context);
void release_primary(CUdevice device);
void drop_if_unheld(Physical* physical);

/// One call, from its start to its end. The state is locked only during `body`.
class Call {
 public:
  Call(CUpti_CallbackId id, const char* name, const void* parameters);
  /// Makes the callback at the call's end.
  CUresult end(CUresult result);
  /// Returns the error with which the call is refused; CUDA_SUCCESS: it is executed.
  [[nodiscard]] CUresult refusal();
  [[nodiscard]] std::uint32_t correlation() const { return correlation_; }

 private:
  void show(bool is_exit, CUresult* result);
  CUpti_CallbackId id_;
  const char* name_;
  const void* parameters_;
  std::uint64_t data_ = 0;
  std::uint32_t correlation_;
  bool hidden_;  ///< made inside a callback, and therefore not reported
};

template <typename Parameters, typename Body>
CUresult make_call(CUpti_CallbackId id, const char* name, const Parameters& parameters, Body body) {
  Call call(id, name, &parameters);
  CUresult result = call.refusal();
  if (result == CUDA_SUCCESS) {
    const std::scoped_lock lock(state().mutex);
    result = body(state());
  }
  return call.end(result);
}

void show_kernel(CUcontext context, std::uint32_t correlation);

/// Returns the memory that contains the address, or the end of the map.
std::map<std::uint64_t, Memory>::iterator find_memory(State& s, std::uint64_t address);
void check_stream(CUstream stream, const char* call);
/// Returns whether the stream was created, and is not a default stream.
bool is_created(CUstream stream);
/// Checks that work can be enqueued. Work begins and ends at once, except during a capture.
CUresult enqueue(CUstream stream, const char* call, bool is_kernel);
/// Ends one module, or all modules of a context.
void end_modules(CUcontext context);

}  // namespace fake_cuda

/// FAKE_CALL(cuMemFree_v2, dptr)([&](State& s) {…}): the call, with CUPTI's name and parameters.
#define FAKE_CALL(name, ...)                                                                         \
  return [&, parameters = name##_params{__VA_ARGS__}](auto body) {                                   \
    return fake_cuda::make_call(CUPTI_DRIVER_TRACE_CBID_##name, #name, parameters, std::move(body)); \
  }

#define FAKE_UNPACK(...) __VA_ARGS__
/// FAKE_VARIANTS(cuMemcpyAsync, _ptsz, (CUdeviceptr to, …), (to, …), [&](State& s) {…}): defines the call,
/// and its variant for the thread's default stream.
#define FAKE_VARIANTS(name, suffix, parameters, arguments, ...)  \
  CUresult name parameters {                                     \
    FAKE_CALL(name, FAKE_UNPACK arguments)(__VA_ARGS__);         \
  }                                                              \
  CUresult name##suffix parameters {                             \
    FAKE_CALL(name##suffix, FAKE_UNPACK arguments)(__VA_ARGS__); \
  }
