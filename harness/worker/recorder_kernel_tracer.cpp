#include "worker/recorder_kernel_tracer.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "recorders/marks.h"

namespace peakmark {

namespace {

constexpr std::uint64_t kMaxKernels = 256;

class RecorderKernelTracer final : public KernelTracer {
 public:
  RecorderKernelTracer(peakmark_kernel_records_start_t start, peakmark_kernel_records_stop_t stop)
      : start_(start), stop_(stop) {}

  void start() override { started_ = told(start_(PEAKMARK_KERNEL_RECORDS_VERSION)); }

  std::vector<KernelTime> stop() override {
    if (!started_) return {};
    std::vector<peakmark_kernel_record> records(kMaxKernels);
    std::uint64_t count = 0;
    if (!told(stop_(records.data(), kMaxKernels, &count))) return {};
    if (count > kMaxKernels) {
      std::fprintf(stderr, "kernel times: %llu kernels, of which the longest %llu are told\n",
                   static_cast<unsigned long long>(count), static_cast<unsigned long long>(kMaxKernels));
    }
    std::vector<KernelTime> kernels;
    for (std::uint64_t i = 0; i < std::min(count, kMaxKernels); ++i) {
      kernels.push_back({records[i].name, static_cast<std::int64_t>(records[i].count),
                         static_cast<std::int64_t>(records[i].ns)});
    }
    return kernels;
  }

 private:
  /// Says on standard error why there are no records. True when there is nothing to say.
  static bool told(const char* trouble) {
    if (trouble != nullptr) std::fprintf(stderr, "kernel times are unknown: %s\n", trouble);
    return trouble == nullptr;
  }

  peakmark_kernel_records_start_t start_;
  peakmark_kernel_records_stop_t stop_;
  bool started_ = false;
};

}  // namespace

std::unique_ptr<KernelTracer> find_kernel_tracer(const std::filesystem::path& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  const auto start =
      reinterpret_cast<peakmark_kernel_records_start_t>(dlsym(handle, PEAKMARK_KERNEL_RECORDS_START_SYMBOL));
  const auto stop =
      reinterpret_cast<peakmark_kernel_records_stop_t>(dlsym(handle, PEAKMARK_KERNEL_RECORDS_STOP_SYMBOL));
  if (start == nullptr || stop == nullptr) return nullptr;
  return std::make_unique<RecorderKernelTracer>(start, stop);
}

}  // namespace peakmark
