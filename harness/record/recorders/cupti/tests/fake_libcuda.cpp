// The fake driver's state, and the callbacks of its calls.
#include "record/recorders/cupti/tests/fake_libcuda.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace fake_cuda {
namespace {

std::atomic<const FakeCudaHook*> hook{nullptr};
std::atomic<std::uint32_t> next_correlation{1};
thread_local CUresult refused_next = CUDA_SUCCESS;
thread_local bool is_shown = false;  // within the hook

void make_default_pool(CUmemPoolHandle_st& pool, CUmemLocationType location, int id,
                       CUmemAllocationType type) {
  pool.alive = true;
  pool.is_default = true;
  pool.location.type = location;
  pool.location.id = id;
  pool.type = type;
}

State* made_state() {
  auto* const made = new State;
  for (int device = 0; device < kDevices; ++device) {
    make_default_pool(made->default_pool[device], CU_MEM_LOCATION_TYPE_DEVICE, device,
                      CU_MEM_ALLOCATION_TYPE_PINNED);
    made->current_pool[device] = &made->default_pool[device];
    made->primary[device].device = device;
    made->primary[device].primary = true;
    made->primary[device].memory_owner = &made->primary[device];
  }
  make_default_pool(made->host_pool, CU_MEM_LOCATION_TYPE_HOST, 0, CU_MEM_ALLOCATION_TYPE_PINNED);
  make_default_pool(made->managed_pool, CU_MEM_LOCATION_TYPE_DEVICE, 0, CU_MEM_ALLOCATION_TYPE_MANAGED);
  return made;
}

}  // namespace

State& state() {
  static State* const one = made_state();  // never destroyed: the program may call it until it ends
  return *one;
}

void abort_with(const char* call, const char* what) {
  std::fprintf(stderr, "fake driver: %s: %s\n", call, what);
  std::abort();
}

std::uint64_t Numbers::take() {
  if (free_.empty()) {
    next_ += step_;
    return next_ - step_;
  }
  const std::uint64_t number = free_.back();
  free_.pop_back();
  return number;
}

std::uint64_t reserve_addresses(std::size_t bytes) {
  void* const place =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place == MAP_FAILED ? 0 : reinterpret_cast<std::uint64_t>(place);
}
void release_addresses(std::uint64_t address, std::size_t bytes) {
  munmap(reinterpret_cast<void*>(address), bytes);
}

std::uint64_t Addresses::take() {
  if (free_.empty()) {
    const std::uint64_t made = reserve_addresses(kDeviceBytes);
    if (made == 0) abort_with("mmap", "the system has no addresses left");
    taken_.insert(made);
    return made;
  }
  const std::uint64_t address = free_.back();
  free_.pop_back();
  return address;
}
void Addresses::undo(std::uint64_t address) {
  madvise(reinterpret_cast<void*>(address), kDeviceBytes, MADV_DONTNEED);
  free_.push_back(address);
}
bool Addresses::contains(std::uint64_t address) const {
  const auto after = taken_.upper_bound(address);
  return after != taken_.begin() && address - *std::prev(after) < kDeviceBytes;
}

ContextStack& context_stack() {
  thread_local ContextStack stack;  // zero-initialised
  return stack;
}

void ContextStack::push_back(CUcontext context) {
  if (size_ == std::size(contexts_)) abort_with("cuCtxPushCurrent", "more contexts than it has places for");
  contexts_[size_++] = context;
}

CUcontext context_or_null() {
  return context_stack().empty() ? nullptr : context_stack().back();
}

CUresult current_context(CUcontext& context) {
  context = context_or_null();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void check_alive(CUcontext context, const char* call) {
  if (!context->alive) abort_with(call, "a context that was destroyed");
}
void check_alive(CUmemoryPool pool, const char* call) {
  if (!pool->alive) abort_with(call, "a pool that was destroyed");
}

CUresult take_bytes(CUdevice device, std::size_t bytes) {
  std::size_t& used = state().used[device];
  if (bytes > kDeviceBytes - used) return CUDA_ERROR_OUT_OF_MEMORY;
  used += bytes;
  return CUDA_SUCCESS;
}
void give_bytes(CUdevice device, std::size_t bytes) {
  state().used[device] -= bytes;
}

Call::Call(CUpti_CallbackId id, const char* name, const void* parameters)
    : id_(id), name_(name), parameters_(parameters), correlation_(next_correlation++), hidden_(is_shown) {
  show(false, nullptr);
}

void Call::show(bool is_exit, CUresult* result) {
  const FakeCudaHook* const shown_to = hook.load();
  if (hidden_ || shown_to == nullptr) return;
  const CUcontext context = context_or_null();
  const bool alive = context != nullptr && context->alive;
  const FakeCudaCall call{
      is_exit,      id_,   name_, parameters_, result, alive ? context : nullptr, alive ? context->uid : 0,
      correlation_, &data_};
  is_shown = true;
  shown_to->call(&call);
  is_shown = false;
}

CUresult Call::refusal() {
  // CUDA does not work in a forked child.
  if (getpid() != state().pid) return CUDA_ERROR_NOT_INITIALIZED;
  if (state().deinitialised) return CUDA_ERROR_DEINITIALIZED;
  if (hidden_) return CUDA_SUCCESS;
  return std::exchange(refused_next, CUDA_SUCCESS);
}

CUresult Call::end(CUresult result) {
  show(true, &result);
  return result;
}

void show_kernel(CUcontext context, std::uint32_t correlation) {
  if (const FakeCudaHook* const shown_to = hook.load()) shown_to->kernel(context, correlation);
}

}  // namespace fake_cuda

using fake_cuda::state;

extern "C" {

void fake_cuda_refuse_next(CUresult result) {
  fake_cuda::refused_next = result;
}
void fake_cuda_reuse_handles(int on) {
  state().reuse_handles = on != 0;
}
void fake_cuda_set_hook(const FakeCudaHook* hook) {
  fake_cuda::hook = hook;
}
void fake_cuda_context(CUcontext context, uint32_t* uid, uint32_t* device) {
  // In a forked child the lock may be held by a thread of the parent.
  std::unique_lock lock(state().mutex, std::defer_lock);
  if (getpid() == state().pid) lock.lock();
  fake_cuda::check_alive(context, "CUPTI");
  *uid = context->uid;
  *device = static_cast<std::uint32_t>(context->device);
}

CUresult cuInit(unsigned int /*flags*/) {
  if (state().pid != 0) return getpid() == state().pid ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
  state().pid = getpid();
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return CUDA_SUCCESS;  // the real driver prints nothing either
  const auto initialise = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (initialise != nullptr && initialise() == 0) return CUDA_ERROR_UNKNOWN;
  return CUDA_SUCCESS;
}

}  // extern "C"
