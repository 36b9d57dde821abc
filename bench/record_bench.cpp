// Measures the overhead of the OpenCL recorder in ns per event.
//
//     build/release/bench/record_bench
//
// `layer` creates and releases a buffer (two events) on the first OpenCL device. It interleaves calls through
// the loader and the recorder with direct calls of the driver's dispatch table. `ns_per_event` is half the
// difference of the medians. The bound is 200 ns per event. `budget` and `budget_svm` allocate and release in
// three processes, one of which has a budget (PEAKMARK_BUDGET) that refuses nothing, in interleaved blocks of
// processor time: `ns_per_allocation` is the median of the paired differences, for an allocation with its
// release, and lies between `at_least` and `at_most` with 95 % confidence. `same_ns` is the same median for
// the two processes without a budget, which should be 0. The bound is 20 ns. `write` only writes events into
// a growing file. For the cost of call stacks, compare with
//
//     PEAKMARK_STACKS=1 build/release/bench/record_bench --benchmark_filter=layer
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "record/recorders/profile_writer.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 4096;
constexpr int kPairs = 500;  // in one block: long enough for the clock, short enough to interleave finely

template <typename Create, typename Release>
double ns_per_pair(Create create, Release release) {
  const auto start = Clock::now();
  for (int i = 0; i < kPairs; ++i) release(create());
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kPairs;
}

/// The same in processor time of this thread, which excludes other programs.
template <typename Create, typename Release>
double processor_ns_per_pair(Create create, Release release) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (int i = 0; i < kPairs; ++i) release(create());
  return (now() - start) / kPairs;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

struct Interval {
  double low;
  double high;
};
/// Returns the interval that contains the median with 95 % confidence, by the binomial distribution.
Interval median_interval(std::vector<double> values) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  const double half = 0.98 * std::sqrt(count);
  const auto at = [&](double place) {
    return values[static_cast<std::size_t>(std::clamp(place, 0.0, count - 1))];
  };
  return {at(std::floor(count / 2 - half)), at(std::ceil(count / 2 + half))};
}

cl_context first_context() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
    return nullptr;
  }
  return clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
}

void layer(benchmark::State& state) {
  const auto libraries = peakmark::find_recorder_libraries();
  if (!libraries.opencl) {
    state.SkipWithError("libpeakmark-opencl.so is not built");
    return;
  }
  const peakmark::TemporaryFolder folder;
  const std::string profile = folder.path() / "p";
  setenv("OPENCL_LAYERS", libraries.opencl->c_str(), 1);
  setenv("PEAKMARK_PROFILE", profile.c_str(), 1);
  const cl_context context = first_context();
  if (context == nullptr) {
    state.SkipWithError("no OpenCL device");
    return;
  }
  const auto recorder = peakmark::attach_recorder(*libraries.opencl);

  // An OpenCL handle starts with a pointer to the driver's dispatch table.
  const cl_icd_dispatch& driver = **reinterpret_cast<const cl_icd_dispatch* const*>(context);
  std::vector<double> with;
  std::vector<double> without;
  const std::uint64_t first = recorder->count();
  for ([[maybe_unused]] auto step : state) {
    with.push_back(ns_per_pair([&] { return clCreateBuffer(context, 0, kBytes, nullptr, nullptr); },
                               [](cl_mem memory) { clReleaseMemObject(memory); }));
    without.push_back(ns_per_pair([&] { return driver.clCreateBuffer(context, 0, kBytes, nullptr, nullptr); },
                                  [&](cl_mem memory) { driver.clReleaseMemObject(memory); }));
  }
  // Call stacks are events too.
  if (recorder->count() - first < 2 * kPairs * with.size()) state.SkipWithError("events are missing");
  state.counters["with_ns"] = median(with);
  state.counters["without_ns"] = median(without);
  state.counters["ns_per_event"] = (median(with) - median(without)) / 2;
  clReleaseContext(context);
}
BENCHMARK(layer)->Iterations(400)->Unit(benchmark::kMillisecond);

/// A process that times blocks on request. It has not called OpenCL before, so it loads its own recorder.
class TimingProcess {
 public:
  /// `kind`: `buffer` or `svm`.
  TimingProcess(const std::string& kind, const std::vector<std::string>& variables) {
    std::array<int, 2> requests{};
    std::array<int, 2> answers{};
    if (pipe2(requests.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(requests[0], STDIN_FILENO);
      dup2(answers[1], STDOUT_FILENO);
      for (const std::string& variable : variables) putenv(const_cast<char*>(variable.c_str()));
      execl("/proc/self/exe", "record_bench", "--time-blocks", kind.c_str(), nullptr);
      _exit(127);
    }
    close(requests[0]);
    close(answers[1]);
    request_ = requests[1];
    answer_ = answers[0];
  }
  TimingProcess(const TimingProcess&) = delete;
  TimingProcess& operator=(const TimingProcess&) = delete;
  ~TimingProcess() {
    close(request_);
    close(answer_);
    waitpid(child_, nullptr, 0);
  }

  /// Returns the ns of an allocation with its release; null if the process has failed.
  std::optional<double> time_block() const {
    double ns = 0;
    if (::write(request_, "b", 1) != 1 || read(answer_, &ns, sizeof(ns)) != sizeof(ns)) return std::nullopt;
    return ns;
  }

 private:
  pid_t child_ = -1;
  int request_ = -1;
  int answer_ = -1;
};

/// The main function of a TimingProcess.
int time_blocks(const std::string& kind) {
  const cl_context context = first_context();
  if (context == nullptr) return 1;
  char request = 0;
  while (read(STDIN_FILENO, &request, 1) == 1) {
    const double ns =
        kind == "svm"
            ? processor_ns_per_pair([&] { return clSVMAlloc(context, CL_MEM_READ_WRITE, kBytes, 0); },
                                    [&](void* memory) { clSVMFree(context, memory); })
            : processor_ns_per_pair([&] { return clCreateBuffer(context, 0, kBytes, nullptr, nullptr); },
                                    [](cl_mem memory) { clReleaseMemObject(memory); });
    if (::write(STDOUT_FILENO, &ns, sizeof(ns)) != sizeof(ns)) return 1;
  }
  return 0;
}

void budget_of(benchmark::State& state, const std::string& kind) {
  const auto libraries = peakmark::find_recorder_libraries();
  if (!libraries.opencl) {
    state.SkipWithError("libpeakmark-opencl.so is not built");
    return;
  }
  const peakmark::TemporaryFolder folder;
  const auto variables = [&](const std::string& name) {
    return std::vector<std::string>{"OPENCL_LAYERS=" + libraries.opencl->string(),
                                    "PEAKMARK_PROFILE=" + (folder.path() / name).string()};
  };
  std::vector<std::string> with_budget = variables("with");
  with_budget.push_back("PEAKMARK_BUDGET=1073741824");
  const TimingProcess without(kind, variables("without"));
  const TimingProcess with(kind, with_budget);
  const TimingProcess same(kind, variables("same"));
  const std::array<const TimingProcess*, 3> processes{&without, &with, &same};
  std::vector<double> plain;
  std::vector<double> differences;
  std::vector<double> of_same;
  for ([[maybe_unused]] auto step : state) {
    std::array<double, 3> ns{};
    for (std::size_t i = 0; i < processes.size(); ++i) {
      // Each process is first, second and third equally often.
      const std::size_t turn = (i + plain.size()) % processes.size();
      const std::optional<double> block = processes[turn]->time_block();
      if (!block) {
        state.SkipWithError("a process has failed: is there an OpenCL device?");
        return;
      }
      ns[turn] = *block;
    }
    plain.push_back(ns[0]);
    differences.push_back(ns[1] - ns[0]);
    of_same.push_back(ns[2] - ns[0]);
  }
  const Interval interval = median_interval(differences);
  state.counters["without_ns"] = median(plain);
  state.counters["ns_per_allocation"] = median(differences);
  state.counters["at_least"] = interval.low;
  state.counters["at_most"] = interval.high;
  state.counters["same_ns"] = median(of_same);
}
void budget(benchmark::State& state) {
  budget_of(state, "buffer");
}
void budget_svm(benchmark::State& state) {
  budget_of(state, "svm");
}
BENCHMARK(budget)->Iterations(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(budget_svm)->Iterations(1000)->Unit(benchmark::kMillisecond);

void write(benchmark::State& state) {
  const peakmark::TemporaryFolder folder;
  const std::string profile = folder.path() / "p";
  auto& writer = *new peakmark::ProfileWriter;  // never destroyed, as in a recorder
  if (!writer.open(profile.c_str(), "bench 1")) {
    state.SkipWithError("no profile");
    return;
  }
  std::uint64_t address = 0;
  for ([[maybe_unused]] auto step : state) {
    writer.allocation(++address, kBytes, peakmark::MemoryKind::buffer);
  }
  writer.close();
}
BENCHMARK(write)->Iterations(1'000'000);

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--time-blocks") return time_blocks(argv[2]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
