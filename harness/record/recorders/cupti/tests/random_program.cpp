// Memory that belongs to a context, and the steps of a random program.
#include "record/recorders/cupti/tests/random_program.hpp"

#include <condition_variable>
#include <cstring>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>

namespace {

/// A thread that executes one action while the caller waits: the order of actions depends on the seed only.
class Hand {
 public:
  Hand() : thread_([this] { work(); }) {}
  ~Hand() {
    give(nullptr);
    thread_.join();
  }
  void give(std::function<void()> task) {
    std::unique_lock lock(mutex_);
    task_ = std::move(task);
    is_given_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_given_; });
  }

 private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_given_; });
      const std::function<void()> task = task_;
      if (task) task();
      is_given_ = false;
      changed_.notify_all();
      if (!task) return;
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool is_given_ = false;
  std::thread thread_;
};

std::int64_t level_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned level, int texel) {
  const auto extent = [&](std::size_t whole) { return std::max<std::size_t>(whole >> level, 1); };
  const bool layered = (array.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  return static_cast<std::int64_t>(extent(array.Width) * extent(array.Height) *
                                   (layered ? array.Depth : extent(array.Depth))) *
         texel;
}

}  // namespace

const std::vector<RandomProgram::Action>& RandomProgram::actions() {
  using P = RandomProgram;
  static const std::vector<Action> all{{"", &P::allocate_plain},
                                       {"", &P::allocate_plain},
                                       {"", &P::free_item},
                                       {"", &P::free_item},
                                       {"", &P::free_item},
                                       {"", &P::exhaust},
                                       {"host", &P::allocate_host},
                                       {"arrays", &P::create_array},
                                       {"arrays", &P::create_mipmapped},
                                       {"mipmap-levels", &P::create_clamped_mipmapped},
                                       {"sparse", &P::create_sparse},
                                       {"refused-releases", &P::free_without_context},
                                       {"refused-releases", &P::free_unknown},
                                       {"async", &P::allocate_async},
                                       {"async", &P::allocate_async},
                                       {"pools", &P::allocate_from_pool},
                                       {"pools", &P::create_pool},
                                       {"pools", &P::destroy_pool},
                                       {"pools", &P::trim_pool},
                                       {"host-pools", &P::allocate_from_host_pool},
                                       {"graphs", &P::capture},
                                       {"graphs", &P::build_graph},
                                       {"imports", &P::import_memory},
                                       {"contexts", &P::create_context},
                                       {"contexts", &P::destroy_context},
                                       {"contexts", &P::retain_primary},
                                       {"detach", &P::detach_context},
                                       {"last-release", &P::release_primary},
                                       {"reset", &P::reset_primary},
                                       {"green", &P::green_context},
                                       {"fork", &P::fork_child},
                                       {"concurrent", &P::be_concurrent},
                                       {"vmm", &P::create_chunk},
                                       {"vmm", &P::map_chunk},
                                       {"vmm", &P::unmap_chunk},
                                       {"vmm", &P::release_chunk},
                                       {"vmm", &P::retain_chunk},
                                       {"map-array", &P::map_array},
                                       {"multicast", &P::bind_multicast}};
  return all;
}

std::vector<std::string> RandomProgram::triggers() {
  // Triggers that change an action but have no action themselves. `devices` prints the live bytes of each
  // device.
  std::vector<std::string> names{"destroyed-pool", "devices",        "pool-outlives", "refused-allocations",
                                 "reset-others",   "reused-handles", "threads"};
  for (const Action& action : actions()) {
    if (*action.trigger != '\0' && std::ranges::find(names, action.trigger) == names.end())
      names.emplace_back(action.trigger);
  }
  std::ranges::sort(names);
  return names;
}

void RandomProgram::run(int steps) {
  std::vector<const Action*> chosen;
  for (const Action& action : actions()) {
    if (*action.trigger == '\0' || on(action.trigger)) chosen.push_back(&action);
  }
  std::vector<std::unique_ptr<Hand>> hands;
  if (on("threads") && one_in(2)) {
    for (int i = 0; i < 3; ++i) hands.push_back(std::make_unique<Hand>());
  }
  for (int step = 0; step < steps; ++step) {
    const Action& action = *chosen[below(chosen.size())];
    const auto act = [&] {
      choose_context();
      (this->*action.act)();
    };
    if (hands.empty()) {
      act();
    } else {
      hands[below(hands.size())]->give(act);
    }
  }
}

CUresult RandomProgram::refuse(const char* trigger) {
  if (!on(trigger) || !one_in(10)) return CUDA_SUCCESS;
  const CUresult result = one_in(2) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED;
  fake_cuda_refuse_next(result);
  return result;
}

void RandomProgram::allocated(CUresult result, CUresult expected, const Item& item) {
  EXPECT_RESULT(result, expected);
  if (result != CUDA_SUCCESS) {
    ++account_.failed;
    return;
  }
  account_.add(item.bytes, item.device);
  items_.push_back(item);
}

void RandomProgram::removed(std::size_t item) {
  account_.remove(items_[item].bytes, items_[item].device);
  items_[item] = items_.back();
  items_.pop_back();
}

void RandomProgram::allocate_plain() {
  if (items_.size() > 60) return free_item();
  const std::int64_t bytes = some_bytes();
  CUdeviceptr address = 0;
  Item item{.bytes = bytes, .device = current_->device, .owner = current_->owner, .made_in = current_};
  const std::uint64_t kind = below(3);
  const CUresult expected = refuse("refused-allocations");
  CUresult result = CUDA_SUCCESS;
  if (kind == 0) {
    result = cuMemAlloc(&address, bytes);
  } else if (kind == 1) {
    result = cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL);
  } else {
    std::size_t pitch = 0;
    const std::size_t height = 1 + below(50);
    result = cuMemAllocPitch(&address, &pitch, 1 + below(3000), height, 4);
    item.bytes = static_cast<std::int64_t>(pitch * height);
  }
  item.address = address;
  allocated(result, expected, item);
}

void RandomProgram::exhaust() {
  if (!on("refused-allocations")) return;
  CUdeviceptr address = 0;
  const bool async = on("async") && one_in(2);
  allocated(async ? cuMemAllocAsync(&address, std::size_t{1} << 45, nullptr)
                  : cuMemAlloc(&address, std::size_t{1} << 45),
            CUDA_ERROR_OUT_OF_MEMORY, {});
}

void RandomProgram::allocate_host() {
  void* pointer = nullptr;
  Item item{.how = Item::How::host, .owner = current_->owner, .made_in = current_};
  const std::uint64_t kind = below(3);
  const CUresult expected = refuse("refused-allocations");
  CUresult result = CUDA_SUCCESS;
  if (kind == 0) {
    result = cuMemAllocHost(&pointer, some_bytes());
  } else if (kind == 1) {
    result = cuMemHostAlloc(&pointer, some_bytes(), 0);
  } else {
    item.how = Item::How::registered;
    registered_ += 0x1'0000'0000;
    pointer = reinterpret_cast<void*>(registered_);
    result = cuMemHostRegister(pointer, some_bytes(), 0);
  }
  item.address = reinterpret_cast<std::uint64_t>(pointer);
  allocated(result, expected, item);
}

CUresult RandomProgram::release(const Item& item) {
  switch (item.how) {
    case Item::How::free:
      if (on("async") && one_in(2)) return cuMemFreeAsync(item.address, some_stream());
      return cuMemFree(item.address);
    case Item::How::host:
      return cuMemFreeHost(reinterpret_cast<void*>(item.address));
    case Item::How::registered:
      return cuMemHostUnregister(reinterpret_cast<void*>(item.address));
    case Item::How::array:
      return cuArrayDestroy(reinterpret_cast<CUarray>(item.address));
    case Item::How::mipmapped:
      return cuMipmappedArrayDestroy(reinterpret_cast<CUmipmappedArray>(item.address));
  }
  return CUDA_ERROR_UNKNOWN;
}

void RandomProgram::free_item() {
  if (items_.empty()) return;
  const std::size_t item = below(items_.size());
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(release(items_[item]), expected);
  if (expected == CUDA_SUCCESS) removed(item);
}

void RandomProgram::free_without_context() {
  if (items_.empty()) return;
  CHECK(cuCtxSetCurrent(nullptr));
  EXPECT_RESULT(release(items_[below(items_.size())]), CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxSetCurrent(current_->handle));
}

void RandomProgram::free_unknown() {
  EXPECT_RESULT(cuMemFree(0xdead'0000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(cuMemRelease(0xdead), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(cuMemUnmap(0xdead'0000, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(cuMemHostUnregister(reinterpret_cast<void*>(0xdead)), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

void RandomProgram::create_array() {
  constexpr struct {
    CUarray_format format;
    int bytes;
  } kFormats[] = {{CU_AD_FORMAT_FLOAT, 4}, {CU_AD_FORMAT_HALF, 2}, {CU_AD_FORMAT_UNSIGNED_INT8, 1}};
  const auto& format = kFormats[below(std::size(kFormats))];
  const unsigned channels = 1U << below(3);
  CUarray array = nullptr;
  Item item{
      .how = Item::How::array, .device = current_->device, .owner = current_->owner, .made_in = current_};
  const std::size_t width = 1 + below(300);
  const std::size_t height = below(3) == 0 ? 0 : 1 + below(100);
  if (one_in(2)) {
    const CUDA_ARRAY_DESCRIPTOR flat{width, height, format.format, channels};
    item.bytes =
        static_cast<std::int64_t>(width * std::max<std::size_t>(height, 1) * channels) * format.bytes;
    const CUresult expected = refuse("refused-allocations");
    const CUresult result = cuArrayCreate(&array, &flat);
    item.address = reinterpret_cast<std::uint64_t>(array);
    return allocated(result, expected, item);
  }
  const CUDA_ARRAY3D_DESCRIPTOR deep{width, height, height == 0 ? 0 : below(20), format.format, channels, 0};
  item.bytes = level_bytes(deep, 0, static_cast<int>(channels) * format.bytes);
  const CUresult expected = refuse("refused-allocations");
  const CUresult result = cuArray3DCreate(&array, &deep);
  item.address = reinterpret_cast<std::uint64_t>(array);
  allocated(result, expected, item);
}

void RandomProgram::create_mipmapped() {
  const bool layered = one_in(3);
  const CUDA_ARRAY3D_DESCRIPTOR base{32 + below(200),
                                     32 + below(200),
                                     layered ? 1 + below(6) : 0,
                                     CU_AD_FORMAT_FLOAT,
                                     4,
                                     layered ? unsigned{CUDA_ARRAY3D_LAYERED} : 0U};
  const auto levels = static_cast<unsigned>(1 + below(6));
  CUmipmappedArray array = nullptr;
  Item item{
      .how = Item::How::mipmapped, .device = current_->device, .owner = current_->owner, .made_in = current_};
  for (unsigned level = 0; level < levels; ++level) item.bytes += level_bytes(base, level, 16);
  const CUresult expected = refuse("refused-allocations");
  const CUresult result = cuMipmappedArrayCreate(&array, &base, levels);
  item.address = reinterpret_cast<std::uint64_t>(array);
  allocated(result, expected, item);
}

void RandomProgram::create_clamped_mipmapped() {
  const CUDA_ARRAY3D_DESCRIPTOR base{1 + below(200), 1 + below(200), 0, CU_AD_FORMAT_FLOAT, 4, 0};
  unsigned most = 1;
  while (std::max(base.Width, base.Height) >> most != 0) ++most;
  const bool none = one_in(2);
  CUmipmappedArray array = nullptr;
  Item item{
      .how = Item::How::mipmapped, .device = current_->device, .owner = current_->owner, .made_in = current_};
  for (unsigned level = 0; level < (none ? 1 : most); ++level) item.bytes += level_bytes(base, level, 16);
  const CUresult result =
      cuMipmappedArrayCreate(&array, &base, none ? 0 : most + 1 + static_cast<unsigned>(below(20)));
  item.address = reinterpret_cast<std::uint64_t>(array);
  allocated(result, CUDA_SUCCESS, item);
}

void RandomProgram::create_sparse() {
  const unsigned flags = one_in(2) ? CUDA_ARRAY3D_SPARSE : CUDA_ARRAY3D_DEFERRED_MAPPING;
  const CUDA_ARRAY3D_DESCRIPTOR base{1024, 1024, 0, CU_AD_FORMAT_FLOAT, 4, flags};
  Item item{.device = current_->device, .owner = current_->owner, .made_in = current_};
  if (one_in(2)) {
    CUarray array = nullptr;
    item.how = Item::How::array;
    const CUresult result = cuArray3DCreate(&array, &base);
    item.address = reinterpret_cast<std::uint64_t>(array);
    return allocated(result, CUDA_SUCCESS, item);
  }
  CUmipmappedArray array = nullptr;
  item.how = Item::How::mipmapped;
  const CUresult result = cuMipmappedArrayCreate(&array, &base, 3);
  item.address = reinterpret_cast<std::uint64_t>(array);
  allocated(result, CUDA_SUCCESS, item);
}
