#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "record/profile/event.hpp"

namespace peakmark::opencl_layer {

/// The allocations that a recording must contain, counted at each call instead of by replaying events.
struct AllocationLog {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  std::int64_t total = 0;
  std::int64_t host_live = 0;  ///< in the program's own memory: not part of the peak
  std::int64_t host_peak = 0;
  std::int64_t allocations = 0;
  std::int64_t failed = 0;
  std::int64_t failed_by_budget = 0;
  std::uint64_t events = 0;

  void allocated(MemoryKind kind, std::int64_t bytes);
  void released(MemoryKind kind, std::int64_t bytes);
  void refused(bool by_budget = false);
};

/// A context with a queue and a kernel, shared by all programs.
struct Device {
  Device();
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
  std::size_t max_buffer = 0;
  std::size_t alignment = 0;  ///< of sub-buffers, bytes
};

/// A program generated from a seed. It creates, shares, retains and releases memory of every kind, lets
/// kernels use memory that it has released, makes calls that are refused, and allocates from several threads.
/// For each call it counts the memory according to the OpenCL specification. With a budget it knows which
/// requests must be refused, and throws if another one is refused, or one of these is not.
class RandomProgram {
 public:
  RandomProgram(Device& device, EventSource& recorder, unsigned seed,
                std::optional<std::int64_t> budget = std::nullopt);

  /// Runs the program. At the end all commands are complete, and some memory is left.
  void run();
  /// Releases what run() left.
  void clean_up();

  [[nodiscard]] const AllocationLog& allocation_log() const { return allocation_log_; }
  /// Addresses and bytes of the memory that is left.
  [[nodiscard]] std::map<std::uint64_t, std::int64_t> left() const;

 private:
  struct Object {
    cl_mem handle = nullptr;
    MemoryKind kind = MemoryKind::none;
    std::int64_t bytes = 0;  ///< bytes with which it counts
    std::size_t extent = 0;  ///< of its memory
    bool buffer = false;
    int references = 1;  ///< from the program
    int held = 0;        ///< references by views and by commands
    std::shared_ptr<Object> parent;
    std::vector<char> host;
  };
  using Handle = std::shared_ptr<Object>;

  std::size_t number(std::size_t lo, std::size_t hi);
  bool chance(int percent) { return number(1, 100) <= static_cast<std::size_t>(percent); }
  Handle any(bool buffers_only);

  void create_buffer();
  void create_image();
  void create_view();
  void retain();
  void release();
  void svm();
  void be_refused();
  void launch();  ///< enqueues a kernel that waits, so that it holds memory that is released meanwhile
  void settle();  ///< lets the kernels finish
  void threads();

  [[nodiscard]] bool exceeds_budget(MemoryKind kind, std::int64_t bytes) const;
  /// Checks a creation, and counts it if it was refused. Returns whether there is an object.
  bool made(const void* object, cl_int result, MemoryKind kind, std::int64_t bytes, const char* call);
  void wait_for_budget();

  void keep(Handle object);
  void drop(const Handle& dropped);
  void destroy_if_unused(const Handle& object);
  void wait_for_recorder();

  Device& device_;
  EventSource& recorder_;
  std::optional<std::int64_t> budget_;
  std::mt19937 random_;
  AllocationLog allocation_log_;
  std::uint64_t first_event_;
  std::vector<Handle> objects_;  ///< objects to which the program has a reference
  std::map<void*, std::int64_t> svm_;
  std::vector<std::pair<void*, std::int64_t>> svm_pending_;
  std::vector<Handle> in_flight_;
  cl_event gate_ = nullptr;
};

}  // namespace peakmark::opencl_layer
