// PEAKMARK_REFUSE_AT_USE=1: a memory object that the budget refuses is created nevertheless, and refused when
// a command first uses it, like with drivers that allocate lazily. The driver's object is real. It becomes
// part of the profile once the budget backs it: a command that uses it takes its bytes if they are free by
// then.
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "record/recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

/// A memory object that was created without bytes of the budget.
struct LazyObject {
  Request request;
  bool is_refused_once = false;  ///< by its number, not by the budget
  bool is_backed = false;
  Charge charge;
};

bool is_enabled = false;

pthread_mutex_t guarding_objects = PTHREAD_MUTEX_INITIALIZER;  // guards the two maps
/// Never destroyed, because memory may be released until the process has ended.
std::map<cl_mem, LazyObject>& objects() {
  static auto& all = *new std::map<cl_mem, LazyObject>;
  return all;
}
/// The lazy objects among the arguments of kernels, by index.
std::map<cl_kernel, std::map<cl_uint, cl_mem>>& kernel_arguments() {
  static auto& all = *new std::map<cl_kernel, std::map<cl_uint, cl_mem>>;
  return all;
}
std::atomic<bool> has_objects{false};  // stays true: most programs never have one

void CL_CALLBACK on_lazy_destroyed(cl_mem memory, void* /*user_data*/) {
  LazyObject object;
  {
    const MutexLock lock(guarding_objects);
    const auto found = objects().find(memory);
    if (found == objects().end()) return;
    object = found->second;
    objects().erase(found);
  }
  if (!object.is_backed || is_driver_unloading()) return;
  layer.writer.release(to_address(memory));
  give_budget_back(object.charge);
}

/// Returns the object that owns the memory of a sub-buffer or of an image over a buffer.
cl_mem owner(cl_mem memory) {
  cl_mem parent = nullptr;
  while (ask_driver<&cl_icd_dispatch::clGetMemObjectInfo>(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem),
                                                          &parent, nullptr) == CL_SUCCESS &&
         parent != nullptr) {
    memory = parent;
  }
  return memory;
}

bool is_lazy(cl_mem memory) {
  const MutexLock lock(guarding_objects);
  return objects().contains(memory);
}

/// Returns the request of a lazy object without bytes of the budget; null if a command may use it.
std::optional<Request> unbacked_request(cl_mem memory, bool& is_refused) {
  const MutexLock lock(guarding_objects);
  const auto found = objects().find(memory);
  if (found == objects().end() || found->second.is_backed) return std::nullopt;
  is_refused = std::exchange(found->second.is_refused_once, false);
  return found->second.request;
}

/// Returns false if another thread has backed it.
bool set_charge(cl_mem memory, Charge charge) {
  const MutexLock lock(guarding_objects);
  const auto found = objects().find(memory);
  if (found == objects().end() || std::exchange(found->second.is_backed, true)) return false;
  found->second.charge = charge;
  return true;
}

/// Takes the bytes for a lazy object. Returns the error for the command that uses it; CL_SUCCESS: it may run.
cl_int back(cl_mem memory) {
  if (memory == nullptr) return CL_SUCCESS;
  memory = owner(memory);
  bool is_refused = false;
  const auto request = unbacked_request(memory, is_refused);
  if (!request) return CL_SUCCESS;
  if (is_refused) return refuse(*request);
  const Charge charge = take_budget_again(request->context, request->bytes, request->kind);
  if (charge.is_refused()) return refuse(*request);
  if (set_charge(memory, charge)) {
    layer.writer.allocation(to_address(memory), request->bytes, request->kind,
                            {.device = note_devices(request->context, request->device)});
  } else {
    give_budget_back(charge);
  }
  return CL_SUCCESS;
}

cl_int back_arguments(cl_kernel kernel) {
  std::map<cl_uint, cl_mem> arguments;
  {
    const MutexLock lock(guarding_objects);
    if (const auto found = kernel_arguments().find(kernel); found != kernel_arguments().end())
      arguments = found->second;
  }
  for (const auto& [index, memory] : arguments) {
    if (const cl_int error = back(memory); error != CL_SUCCESS) return error;
  }
  return CL_SUCCESS;
}

template <typename Argument>
cl_int back_argument(Argument argument) {
  if constexpr (std::is_same_v<Argument, cl_mem>) return back(argument);
  if constexpr (std::is_same_v<Argument, cl_kernel>) return back_arguments(argument);
  return CL_SUCCESS;
}

/// Map calls return a pointer, and their error in the last argument.
template <typename Result, typename... Arguments>
Result failure(cl_int error, Arguments... arguments) {
  if constexpr (std::is_same_v<Result, cl_int>) {
    return error;
  } else {
    cl_int* const errcode_ret = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
    if (errcode_ret != nullptr) *errcode_ret = error;
    return nullptr;
  }
}

template <auto Slot, typename Function>
struct Backing;

template <auto Slot, typename Result, typename... Arguments>
struct Backing<Slot, Result(CL_API_CALL*)(cl_command_queue, Arguments...)> {
  static Result CL_API_CALL call(cl_command_queue queue, Arguments... arguments) {
    if (has_objects.load(std::memory_order_acquire)) {
      cl_int error = CL_SUCCESS;
      ((error = error != CL_SUCCESS ? error : back_argument(arguments)), ...);
      if (error != CL_SUCCESS) return failure<Result>(error, arguments...);
    }
    return forward(queue, arguments...);
  }
  static inline Result(CL_API_CALL* forward)(cl_command_queue, Arguments...) = nullptr;
};

decltype(cl_icd_dispatch::clEnqueueMigrateMemObjects) migrate = nullptr;
decltype(cl_icd_dispatch::clSetKernelArg) set_argument = nullptr;
decltype(cl_icd_dispatch::clCreateKernel) create_kernel = nullptr;
decltype(cl_icd_dispatch::clCloneKernel) clone_kernel = nullptr;
decltype(cl_icd_dispatch::clCreateKernelsInProgram) create_kernels = nullptr;

cl_int CL_API_CALL migrate_backed(cl_command_queue queue, cl_uint count, const cl_mem* memory,
                                  cl_mem_migration_flags flags, cl_uint waits, const cl_event* wait_list,
                                  cl_event* event) {
  for (cl_uint i = 0; memory != nullptr && i < count; ++i) {
    if (!has_objects.load(std::memory_order_acquire)) break;
    if (const cl_int error = back(memory[i]); error != CL_SUCCESS) return error;
  }
  return migrate(queue, count, memory, flags, waits, wait_list, event);
}

cl_int CL_API_CALL set_lazy_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  const cl_int result = set_argument(kernel, index, size, value);
  if (result != CL_SUCCESS || !has_objects.load(std::memory_order_acquire)) return result;
  cl_mem memory = nullptr;
  // Other arguments of this size may have any value: they are only compared with the lazy objects.
  if (value != nullptr && size == sizeof(cl_mem)) std::memcpy(&memory, value, sizeof(cl_mem));
  const bool is_own = memory != nullptr && is_lazy(memory);
  const MutexLock lock(guarding_objects);
  if (is_own) {
    try {
      kernel_arguments()[kernel][index] = memory;
    } catch (...) {  // too little host memory: commands with this argument are not refused
    }
  } else if (const auto found = kernel_arguments().find(kernel); found != kernel_arguments().end()) {
    found->second.erase(index);
  }
  return result;
}

/// A new kernel may have the handle of an ended one. It starts with the arguments of `like`; null: with none.
void begin_kernel(cl_kernel kernel, cl_kernel like) {
  if (kernel == nullptr || !has_objects.load(std::memory_order_acquire)) return;
  const MutexLock lock(guarding_objects);
  kernel_arguments().erase(kernel);
  if (const auto found = kernel_arguments().find(like); found != kernel_arguments().end())
    kernel_arguments()[kernel] = found->second;
}

cl_kernel CL_API_CALL create_new_kernel(cl_program program, const char* name, cl_int* errcode_ret) {
  const cl_kernel kernel = create_kernel(program, name, errcode_ret);
  begin_kernel(kernel, nullptr);
  return kernel;
}

cl_kernel CL_API_CALL clone_new_kernel(cl_kernel like, cl_int* errcode_ret) {
  const cl_kernel kernel = clone_kernel(like, errcode_ret);
  begin_kernel(kernel, like);
  return kernel;
}

cl_int CL_API_CALL create_new_kernels(cl_program program, cl_uint count, cl_kernel* kernels,
                                      cl_uint* count_ret) {
  const cl_int result = create_kernels(program, count, kernels, count_ret);
  for (cl_uint i = 0; result == CL_SUCCESS && kernels != nullptr && i < count; ++i)
    begin_kernel(kernels[i], nullptr);
  return result;
}

void note_no_callbacks() {
  static std::atomic<bool> noted{false};
  note_once(noted, "the driver has no destructor callbacks: allocations are refused at their creation");
}

}  // namespace

bool refuses_at_use(const Request& request) {
  if (!is_enabled || request.kind == MemoryKind::gl_shared) return false;
  if (is_too_large(request.bytes, request.kind)) return false;  // drivers know the size at creation
  if (!driver_lacks<&cl_icd_dispatch::clSetMemObjectDestructorCallback>(request.context)) return true;
  note_no_callbacks();
  return false;
}

cl_mem keep_for_use(cl_mem memory, const Request& request) {
  if (memory == nullptr) return memory;
  LazyObject object{request, false, false, {}};
  std::size_t bytes = 0;
  if (ask_driver<&cl_icd_dispatch::clGetMemObjectInfo>(memory, CL_MEM_SIZE, sizeof(bytes), &bytes, nullptr) ==
      CL_SUCCESS)
    object.request.bytes = static_cast<std::int64_t>(bytes);
  // It is refused by its number if the budget has the bytes.
  if (const Charge charge = take_budget_again(request.context, request.bytes, request.kind);
      !charge.is_refused()) {
    object.is_refused_once = true;
    give_budget_back(charge);
  }
  try {
    const MutexLock lock(guarding_objects);
    objects().insert_or_assign(memory, object);
  } catch (...) {  // too little host memory: it is never refused
    return memory;
  }
  has_objects.store(true, std::memory_order_release);
  if (ask_driver<&cl_icd_dispatch::clSetMemObjectDestructorCallback>(memory, on_lazy_destroyed, nullptr) !=
      CL_SUCCESS) {
    const MutexLock lock(
        guarding_objects);  // another object could get its handle unnoticed, so it is never refused
    objects().erase(memory);
  } else {
    watch_unloading();
  }
  return memory;
}

void hook_first_use() {
  using Slots = cl_icd_dispatch;
  if (layer.draft->next.clSetMemObjectDestructorCallback == nullptr) return note_no_callbacks();
  if (!std::exchange(is_enabled, true)) hold_over_forks<guarding_objects>();
  put_hooks_of_memory_commands<Backing>();
  put_hooks<Backing, &Slots::clEnqueueMapBuffer, &Slots::clEnqueueMapImage>();
  put_before(&Slots::clEnqueueMigrateMemObjects, migrate_backed, migrate);
  put_before(&Slots::clSetKernelArg, set_lazy_argument, set_argument);
  put_before(&Slots::clCreateKernel, create_new_kernel, create_kernel);
  put_before(&Slots::clCloneKernel, clone_new_kernel, clone_kernel);
  put_before(&Slots::clCreateKernelsInProgram, create_new_kernels, create_kernels);
}

}  // namespace peakmark::opencl_layer
