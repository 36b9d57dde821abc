#include "record/recorders/opencl/tests/random_program.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace peakmark::opencl_layer {
namespace {

void must(cl_int result, const char* call) {
  if (result != CL_SUCCESS) throw std::runtime_error(std::string(call) + ": " + std::to_string(result));
}

constexpr const char* kSource =
    "__kernel void touch(__global uchar* p) { p[get_global_id(0)] = (uchar)get_global_id(0); }";

}  // namespace

void AllocationLog::allocated(MemoryKind kind, std::int64_t bytes) {
  ++events;
  if (kind == MemoryKind::host_pointer) {
    host_live += bytes;
    host_peak = std::max(host_peak, host_live);
    return;
  }
  ++allocations;
  live += bytes;
  total += bytes;
  peak = std::max(peak, live);
}

void AllocationLog::released(MemoryKind kind, std::int64_t bytes) {
  ++events;
  (kind == MemoryKind::host_pointer ? host_live : live) -= bytes;
}

void AllocationLog::refused(bool by_budget) {
  ++events;
  ++failed;
  if (by_budget) ++failed_by_budget;
}

Device::Device() {
  cl_platform_id platform = nullptr;
  must(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr), "clGetDeviceIDs");
  cl_int result = CL_SUCCESS;
  context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &result);
  must(result, "clCreateContext");
  queue = clCreateCommandQueueWithProperties(context, id, nullptr, &result);
  must(result, "clCreateCommandQueueWithProperties");
  const char* source = kSource;
  const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &result);
  must(result, "clCreateProgramWithSource");
  must(clBuildProgram(program, 1, &id, "", nullptr, nullptr), "clBuildProgram");
  kernel = clCreateKernel(program, "touch", &result);
  must(result, "clCreateKernel");
  cl_ulong largest = 0;
  cl_uint bits = 0;
  must(clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(largest), &largest, nullptr),
       "MAX_MEM_ALLOC");
  must(clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, nullptr), "BASE_ADDR_ALIGN");
  max_buffer = largest;
  alignment = bits / 8;
}

RandomProgram::RandomProgram(Device& device, EventSource& recorder, unsigned seed,
                             std::optional<std::int64_t> budget)
    : device_(device), recorder_(recorder), budget_(budget), random_(seed), first_event_(recorder.count()) {}

std::size_t RandomProgram::number(std::size_t lo, std::size_t hi) {
  return lo + random_() % (hi - lo + 1);  // the same on every C++ library
}

RandomProgram::Handle RandomProgram::any(bool buffers_only) {
  std::vector<Handle> candidates;
  for (const Handle& object : objects_) {
    if (!buffers_only || object->buffer) candidates.push_back(object);
  }
  return candidates.empty() ? nullptr : candidates[number(0, candidates.size() - 1)];
}

void RandomProgram::run() {
  const std::size_t steps = number(20, 60);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t draw = number(0, 99);
    if (draw < 25)
      create_buffer();
    else if (draw < 35)
      create_image();
    else if (draw < 45)
      create_view();
    else if (draw < 50)
      retain();
    else if (draw < 72)
      release();
    else if (draw < 82)
      svm();
    else if (draw < 88)
      be_refused();
    else if (draw < 94)
      launch();
    else if (draw < 97)
      settle();
    else
      threads();
  }
  settle();
}

void RandomProgram::keep(Handle object) {
  allocation_log_.allocated(object->kind, object->bytes);
  if (object->parent) ++object->parent->held;
  objects_.push_back(std::move(object));
  wait_for_recorder();
}

void RandomProgram::create_buffer() {
  auto object = std::make_shared<Object>();
  object->buffer = true;
  object->extent = number(1, chance(10) ? std::size_t{4} << 20 : 70'000);
  object->bytes = static_cast<std::int64_t>(object->extent);
  object->kind = MemoryKind::buffer;
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  void* host = nullptr;
  const std::size_t sort = number(0, 5);
  if (sort == 0) {
    flags |= CL_MEM_ALLOC_HOST_PTR;
    object->kind = MemoryKind::alloc_host_ptr;
  } else if (sort <= 2) {
    object->host.resize(object->extent);
    host = object->host.data();
    flags |= sort == 1 ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
    if (sort == 1) object->kind = MemoryKind::host_pointer;
  }
  cl_int result = CL_SUCCESS;
  const bool asks_why = chance(50);
  object->handle = clCreateBuffer(device_.context, flags, object->extent, host, asks_why ? &result : nullptr);
  if (!asks_why && object->handle == nullptr) result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (made(object->handle, result, object->kind, object->bytes, "clCreateBuffer")) keep(std::move(object));
}

void RandomProgram::create_image() {
  auto object = std::make_shared<Object>();
  const cl_image_format format{CL_RGBA, CL_FLOAT};
  cl_image_desc shape{};
  shape.image_type = chance(50) ? CL_MEM_OBJECT_IMAGE2D : CL_MEM_OBJECT_IMAGE3D;
  shape.image_width = number(1, 100);
  shape.image_height = number(1, 60);
  shape.image_depth = shape.image_type == CL_MEM_OBJECT_IMAGE3D ? number(1, 9) : 0;
  object->extent = 16 * shape.image_width * shape.image_height * std::max<std::size_t>(1, shape.image_depth);
  object->bytes = static_cast<std::int64_t>(object->extent);
  object->kind = MemoryKind::image;
  cl_mem_flags flags = CL_MEM_READ_WRITE;
  if (chance(30)) {
    flags |= CL_MEM_ALLOC_HOST_PTR;
    object->kind = MemoryKind::alloc_host_ptr;
  }
  cl_int result = CL_SUCCESS;
  object->handle = clCreateImage(device_.context, flags, &format, &shape, nullptr, &result);
  if (made(object->handle, result, object->kind, object->bytes, "clCreateImage")) keep(std::move(object));
}

/// Creates a sub-buffer. A sub-buffer cannot have sub-buffers itself.
void RandomProgram::create_view() {
  const Handle parent = any(true);
  if (parent == nullptr || parent->parent != nullptr) return;
  auto object = std::make_shared<Object>();
  object->buffer = true;
  object->kind = MemoryKind::view;
  cl_buffer_region region{};
  region.origin = number(0, (parent->extent - 1) / device_.alignment) * device_.alignment;
  region.size = number(1, parent->extent - region.origin);
  object->extent = region.size;
  object->parent = parent;
  cl_int result = CL_SUCCESS;
  object->handle = clCreateSubBuffer(parent->handle, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
  must(result, "clCreateSubBuffer");
  keep(std::move(object));
}

void RandomProgram::retain() {
  const Handle object = any(false);
  if (object == nullptr) return;
  must(clRetainMemObject(object->handle), "clRetainMemObject");
  ++object->references;
}

void RandomProgram::release() {
  const Handle object = any(false);
  if (object != nullptr) drop(object);
}

void RandomProgram::drop(const Handle& dropped) {
  must(clReleaseMemObject(dropped->handle), "clReleaseMemObject");
  if (--dropped->references > 0) return;
  // `dropped` may be the element of the list, which is about to be erased.
  const auto found = std::find(objects_.begin(), objects_.end(), dropped);
  const Handle object = std::move(*found);
  objects_.erase(found);
  destroy_if_unused(object);
  wait_for_recorder();
}

void RandomProgram::destroy_if_unused(const Handle& object) {
  if (object->references > 0 || object->held > 0) return;
  allocation_log_.released(object->kind, object->bytes);
  if (object->parent) {
    --object->parent->held;
    destroy_if_unused(object->parent);
  }
}

void RandomProgram::svm() {
  if (svm_.empty() || chance(50)) {
    const std::size_t bytes = number(1, 50'000);
    void* const memory = clSVMAlloc(device_.context, CL_MEM_READ_WRITE, bytes, 0);
    const cl_int result = memory == nullptr ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
    if (!made(memory, result, MemoryKind::svm, static_cast<std::int64_t>(bytes), "clSVMAlloc")) return;
    svm_[memory] = static_cast<std::int64_t>(bytes);
    allocation_log_.allocated(MemoryKind::svm, static_cast<std::int64_t>(bytes));
    return;
  }
  auto chosen = svm_.begin();
  std::advance(chosen, number(0, svm_.size() - 1));
  void* memory = chosen->first;
  const std::int64_t bytes = chosen->second;
  svm_.erase(chosen);
  if (chance(50)) {
    clSVMFree(device_.context, memory);
    allocation_log_.released(MemoryKind::svm, bytes);
    return;
  }
  // The memory is freed in the queue, behind a kernel that may be waiting, by the driver or by a function of
  // the program.
  const auto free_one = [](cl_command_queue queue, cl_uint count, void* pointers[], void*) {
    cl_context context = nullptr;
    clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, nullptr);
    for (cl_uint i = 0; i < count; ++i) clSVMFree(context, pointers[i]);
  };
  void(CL_CALLBACK * function)(cl_command_queue, cl_uint, void*[], void*) = free_one;
  must(clEnqueueSVMFree(device_.queue, 1, &memory, chance(50) ? function : nullptr, nullptr, 0, nullptr,
                        nullptr),
       "clEnqueueSVMFree");
  svm_pending_.emplace_back(memory, bytes);
  if (gate_ == nullptr) settle();
}

void RandomProgram::be_refused() {
  cl_int result = CL_SUCCESS;
  const void* made = nullptr;
  std::int64_t bytes = static_cast<std::int64_t>(2 * device_.max_buffer);
  switch (number(0, 3)) {
    case 0:
      bytes = 0;
      made = clCreateBuffer(device_.context, CL_MEM_READ_WRITE, 0, nullptr, &result);
      break;
    case 1:
      made = clCreateBuffer(device_.context, CL_MEM_READ_WRITE, 2 * device_.max_buffer, nullptr, nullptr);
      break;
    case 2: {
      const cl_image_format format{CL_RGBA, CL_FLOAT};
      cl_image_desc shape{};
      shape.image_type = CL_MEM_OBJECT_IMAGE2D;
      shape.image_width = 1 << 30;
      bytes = std::int64_t{16} << 30;
      shape.image_height = 1;
      made = clCreateImage(device_.context, CL_MEM_READ_WRITE, &format, &shape, nullptr, &result);
      break;
    }
    default:
      made = clSVMAlloc(device_.context, CL_MEM_READ_WRITE, 2 * device_.max_buffer, 0);
  }
  if (made != nullptr) throw std::runtime_error("what cannot be was made");
  allocation_log_.refused(exceeds_budget(MemoryKind::buffer, bytes));
}

void RandomProgram::launch() {
  const Handle object = any(true);
  if (object == nullptr) return;
  cl_int result = CL_SUCCESS;
  if (gate_ == nullptr) gate_ = clCreateUserEvent(device_.context, &result);
  must(result, "clCreateUserEvent");
  must(clSetKernelArg(device_.kernel, 0, sizeof(cl_mem), &object->handle), "clSetKernelArg");
  const std::size_t items = 1;
  must(clEnqueueNDRangeKernel(device_.queue, device_.kernel, 1, nullptr, &items, nullptr, 1, &gate_, nullptr),
       "clEnqueueNDRangeKernel");
  ++object->held;
  in_flight_.push_back(object);
  if (chance(70)) drop(object);
}

void RandomProgram::settle() {
  if (gate_ != nullptr) {
    must(clSetUserEventStatus(gate_, CL_COMPLETE), "clSetUserEventStatus");
    must(clReleaseEvent(gate_), "clReleaseEvent");
    gate_ = nullptr;
  }
  must(clFinish(device_.queue), "clFinish");
  for (const Handle& object : in_flight_) {
    --object->held;
    destroy_if_unused(object);
  }
  in_flight_.clear();
  for (const auto& [memory, bytes] : svm_pending_) allocation_log_.released(MemoryKind::svm, bytes);
  svm_pending_.clear();
  wait_for_recorder();
  wait_for_budget();
}

bool RandomProgram::exceeds_budget(MemoryKind kind, std::int64_t bytes) const {
  return budget_ && kind != MemoryKind::host_pointer && bytes > *budget_ - allocation_log_.live;
}

bool RandomProgram::made(const void* object, cl_int result, MemoryKind kind, std::int64_t bytes,
                         const char* call) {
  if (!exceeds_budget(kind, bytes)) {
    must(object == nullptr ? CL_OUT_OF_RESOURCES : result, call);
    return true;
  }
  if (object != nullptr) throw std::runtime_error(std::string(call) + ": more than the budget was made");
  if (result != CL_MEM_OBJECT_ALLOCATION_FAILURE) must(result, call);
  allocation_log_.refused(true);
  return false;
}

/// A thread of the driver writes a release before it gives the bytes back. Waits until exactly as many bytes
/// are free as must be: they can be allocated, and one byte more cannot.
void RandomProgram::wait_for_budget() {
  if (!budget_) return;
  const auto create = [&](std::int64_t bytes) {
    return clCreateBuffer(device_.context, CL_MEM_READ_WRITE, static_cast<std::size_t>(bytes), nullptr,
                          nullptr);
  };
  const std::int64_t left = *budget_ - allocation_log_.live;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (left > 0) {
    if (const cl_mem all = create(left)) {
      allocation_log_.allocated(MemoryKind::buffer, left);
      must(clReleaseMemObject(all), "clReleaseMemObject");
      allocation_log_.released(MemoryKind::buffer, left);
      break;
    }
    allocation_log_.refused(true);
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("bytes were not given back");
    sched_yield();
  }
  if (create(left + 1) != nullptr) throw std::runtime_error("one byte more than the budget was made");
  allocation_log_.refused(true);
}

/// First all threads allocate, and only then do all release, so the peak is the same whatever their order.
void RandomProgram::threads() {
  constexpr int kThreads = 3;
  std::vector<std::vector<std::pair<cl_mem, std::size_t>>> memory(kThreads);
  for (auto& mine : memory) {
    mine.resize(number(1, 8));
    for (auto& [handle, bytes] : mine) bytes = number(1, 30'000);
  }
  const auto on_each = [&](auto work) {
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (auto& mine : memory) {
      threads.emplace_back([&] {
        for (auto& one : mine) work(one);
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  on_each([&](auto& one) {
    one.first = clCreateBuffer(device_.context, CL_MEM_READ_WRITE, one.second, nullptr, nullptr);
  });
  for (const auto& mine : memory) {
    for (const auto& [handle, bytes] : mine) {
      if (handle != nullptr) allocation_log_.allocated(MemoryKind::buffer, static_cast<std::int64_t>(bytes));
    }
  }
  // The order of the threads decides which requests are refused. None of the refused ones fits at the end
  // either.
  for (const auto& mine : memory) {
    for (const auto& [handle, bytes] : mine) {
      if (handle == nullptr)
        made(handle, CL_MEM_OBJECT_ALLOCATION_FAILURE, MemoryKind::buffer, static_cast<std::int64_t>(bytes),
             "clCreateBuffer in a thread");
    }
  }
  on_each([&](auto& one) {
    if (one.first != nullptr) clReleaseMemObject(one.first);
  });
  for (const auto& mine : memory) {
    for (const auto& [handle, bytes] : mine) {
      if (handle != nullptr) allocation_log_.released(MemoryKind::buffer, static_cast<std::int64_t>(bytes));
    }
  }
  wait_for_recorder();
}

/// Waits for destructors, which may run late on a thread of the driver: otherwise the peak would vary.
void RandomProgram::wait_for_recorder() {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (recorder_.count() - first_event_ < allocation_log_.events) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("events are missing");
    sched_yield();
  }
}

std::map<std::uint64_t, std::int64_t> RandomProgram::left() const {
  std::map<std::uint64_t, std::int64_t> left;
  for (const auto& [memory, bytes] : svm_) left[reinterpret_cast<std::uint64_t>(memory)] = bytes;
  // Memory that the program has released may still be used by its views.
  for (const Handle& object : objects_) {
    for (Handle each = object; each != nullptr; each = each->parent) {
      left[reinterpret_cast<std::uint64_t>(each->handle)] = each->bytes;
    }
  }
  return left;
}

void RandomProgram::clean_up() {
  while (!objects_.empty()) drop(objects_.back());
  for (const auto& [memory, bytes] : svm_) {
    clSVMFree(device_.context, memory);
    allocation_log_.released(MemoryKind::svm, bytes);
  }
  svm_.clear();
  wait_for_recorder();
}

}  // namespace peakmark::opencl_layer
