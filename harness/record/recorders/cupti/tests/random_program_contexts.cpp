// Contexts, processes and threads of a random program.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "record/recorders/cupti/tests/random_program.hpp"

RandomProgram::RandomProgram(std::uint64_t seed, std::set<std::string> triggers)
    : random_(seed), triggers_(std::move(triggers)) {
  CHECK(cuInit(0));
  fake_cuda_reuse_handles(on("reused-handles") && one_in(2) ? 1 : 0);
  for (int device = 0; device < 2; ++device) {
    contexts_.push_back({.device = device, .primary = true});
    primary_[device] = &contexts_.back();
    primary_[device]->owner = primary_[device];
    pools_.push_back({.device = device, .is_default = true});
    current_pool_[device] = &pools_.back();
    CHECK(cuDeviceGetDefaultMemPool(&pools_.back().handle, device));
  }
  choose_context();
}

RandomProgram::~RandomProgram() = default;

Context& RandomProgram::add_context() {
  Context& context = contexts_.emplace_back();
  context.owner = &context;
  context.references = 1;
  return context;
}

void RandomProgram::choose_context() {
  std::vector<Context*> there;
  for (Context& context : contexts_) {
    if (context.references > 0) there.push_back(&context);
  }
  if (there.empty()) {
    Context& primary = *primary_[0];
    CHECK(cuDevicePrimaryCtxRetain(&primary.handle, primary.device));
    primary.references = 1;
    there.push_back(&primary);
  }
  current_ = there[below(there.size())];
  CHECK(cuCtxSetCurrent(current_->handle));
}

/// The context's memory ends with it; memory of pools and of cuMemCreate does not.
void RandomProgram::context_ended(Context* context) {
  context->references = 0;
  for (std::size_t i = 0; i < items_.size();) {
    if (items_[i].owner == context) {
      removed(i);
    } else {
      ++i;
    }
  }
}

bool RandomProgram::holds_pool_memory(const Context* context) const {
  return std::ranges::any_of(items_, [&](const Item& item) {
    return item.owner == nullptr &&
           (item.made_in == context || (context->primary && item.device == context->device));
  });
}

void RandomProgram::create_context() {
  Context made;
  made.device = static_cast<int>(below(2));
  if (contexts_.size() > 20) return;
  CHECK(cuCtxCreate(&made.handle, nullptr, 0, made.device));
  CHECK(cuCtxPopCurrent(nullptr));
  Context& context = add_context();
  context.handle = made.handle;
  context.device = made.device;
}

void RandomProgram::destroy_context() {
  if (current_->primary || current_->green != nullptr) return;
  if (!on("pool-outlives") && holds_pool_memory(current_)) return;
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(cuCtxDestroy(current_->handle), expected);
  if (expected == CUDA_SUCCESS) context_ended(current_);
}

void RandomProgram::detach_context() {
  if (current_->primary || current_->green != nullptr) return;
  if (!on("pool-outlives") && holds_pool_memory(current_)) return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (one_in(2)) {
    CUcontext same = nullptr;
    CHECK(cuCtxAttach(&same, 0));
    ++current_->references;
  }
  CHECK(cuCtxDetach(current_->handle));
#pragma GCC diagnostic pop
  if (--current_->references == 0) context_ended(current_);
}

void RandomProgram::retain_primary() {
  Context& primary = *primary_[below(2)];
  if (one_in(2) && primary.references - primary.greens > 1) {
    CHECK(cuDevicePrimaryCtxRelease(primary.device));
    --primary.references;
    return;
  }
  CHECK(cuDevicePrimaryCtxRetain(&primary.handle, primary.device));
  ++primary.references;
}

void RandomProgram::release_primary() {
  Context& primary = *primary_[below(2)];
  if (primary.references == 0) {
    EXPECT_RESULT(cuDevicePrimaryCtxRelease(primary.device), CUDA_ERROR_INVALID_CONTEXT);
    return;
  }
  if (primary.references == primary.greens) return;
  if (!on("pool-outlives") && holds_pool_memory(&primary)) return;
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(cuDevicePrimaryCtxRelease(primary.device), expected);
  if (expected == CUDA_SUCCESS && --primary.references == 0) context_ended(&primary);
}

void RandomProgram::reset_primary() {
  Context& primary = *primary_[below(2)];
  if (!on("pool-outlives") && holds_pool_memory(&primary)) return;
  for (const Context& other : contexts_) {
    const bool is_there = !other.primary && other.device == primary.device && other.references > 0;
    if (is_there && (!on("reset-others") || other.green != nullptr)) return;
  }
  const CUresult expected = refuse("refused-releases");
  EXPECT_RESULT(cuDevicePrimaryCtxReset(primary.device), expected);
  if (expected == CUDA_SUCCESS) context_ended(&primary);
}

/// A green context retains the primary context, which owns its memory.
void RandomProgram::green_context() {
  if (current_->green != nullptr) {
    Context& primary = *current_->owner;
    if (!on("pool-outlives") && holds_pool_memory(&primary)) return;
    CHECK(cuCtxSetCurrent(nullptr));
    CHECK(cuGreenCtxDestroy(current_->green));
    current_->references = 0;
    --primary.greens;
    if (--primary.references == 0) context_ended(&primary);
    return;
  }
  if (contexts_.size() > 20) return;
  Context& green = add_context();
  green.device = static_cast<int>(below(2));
  green.owner = primary_[green.device];
  CHECK(cuGreenCtxCreate(&green.green, nullptr, green.device, CU_GREEN_CTX_DEFAULT_STREAM));
  CHECK(cuCtxFromGreenCtx(&green.handle, green.green));
  ++green.owner->references;
  ++green.owner->greens;
  if (green.owner->handle == nullptr) {
    CHECK(cuDevicePrimaryCtxRetain(&green.owner->handle, green.device));
    ++green.owner->references;
  }
}

/// CUDA does not work in a child: its calls are refused and have no effect.
void RandomProgram::fork_child() {
  if (!one_in(4)) return;
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr address = 0;
    CUresult result = cuMemAlloc(&address, 1000);
    for (const Item& item : items_) {
      if (item.how == Item::How::free && result == CUDA_ERROR_NOT_INITIALIZED)
        result = cuMemFree(item.address);
    }
    _exit(result == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    std::fprintf(stderr, "the forked child ended with %d\n", status);
    std::exit(3);
  }
}

/// Runs threads at the same time. Together they hold less than is allocated after them, so that the peak is
/// known.
void RandomProgram::be_concurrent() {
  if (concurrent_ || !one_in(4)) return;
  concurrent_ = true;
  constexpr int kThreads = 4;
  constexpr std::size_t kLive = 8;
  constexpr std::size_t kMost = 1000;
  std::vector<Item> kept[kThreads];
  std::vector<std::thread> threads;
  const std::uint64_t seed = random_();
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, &kept, thread, seed] {
      std::mt19937_64 random(seed + static_cast<std::uint64_t>(thread));
      CHECK(cuCtxSetCurrent(current_->handle));
      for (int step = 0; step < 200; ++step) {
        auto& mine = kept[thread];
        if (mine.size() == kLive || (!mine.empty() && random() % 2 == 0)) {
          const std::size_t item = random() % mine.size();
          CHECK(cuMemFree(mine[item].address));
          mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(item));
          continue;
        }
        CUdeviceptr address = 0;
        const std::size_t bytes = 1 + random() % kMost;
        CHECK(cuMemAlloc(&address, bytes));
        mine.push_back({.address = address,
                        .bytes = static_cast<std::int64_t>(bytes),
                        .device = current_->device,
                        .owner = current_->owner,
                        .made_in = current_});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : kept) {
    for (const Item& item : mine) {
      account_.add(item.bytes, item.device);
      items_.push_back(item);
    }
  }
  CUdeviceptr address = 0;
  const std::size_t ceiling =
      kThreads * kLive * kMost + std::max<std::int64_t>(account_.peak - account_.live, 0);
  CHECK(cuMemAlloc(&address, ceiling));
  allocated(CUDA_SUCCESS, CUDA_SUCCESS,
            {.address = address,
             .bytes = static_cast<std::int64_t>(ceiling),
             .device = current_->device,
             .owner = current_->owner,
             .made_in = current_});
}
