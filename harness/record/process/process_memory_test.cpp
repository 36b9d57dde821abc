// Tests of recorders in this process, without a device: fakes replace CUDA's driver, OpenCL's loader and the
// recorders. Libraries that a loader has loaded stay loaded, so each test runs in a separate process.
#include "record/process/process_memory.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;
using Use = ProcessMemory::Use;

/// Regions as Google Benchmark uses them.
class Regions {
 public:
  Regions() { memory_.load(Use::benchmarks, "/nowhere", false, false); }
  std::uint64_t begin() { return memory_.begin(Use::benchmarks, {}); }
  RegionFigures end(std::uint64_t region) { return memory_.end(Use::benchmarks, region).figures; }

 private:
  ProcessMemory memory_;
};

class ProcessMemoryTest : public testing::Test {
 protected:
  ProcessMemoryTest() {
    fs::copy_file(PEAKMARK_FAKE_RECORDER, opencl_);
    fs::copy_file(PEAKMARK_FAKE_RECORDER, cuda_);
  }

  /// Runs `body` in a separate process in which CUDA's driver is loaded and the recorders in `folder_` are
  /// found. Expects `text` on its standard error.
  void expect_output(const std::string& text, const std::function<void()>& body) const {
    EXPECT_EXIT(
        {
          setenv("PEAKMARK_LIBRARY_DIR", folder_.path().c_str(), 1);
          setenv("TMPDIR", folder_.path().c_str(), 1);
          for (const char* const name : {"PEAKMARK_PROFILE", "OPENCL_LAYERS", "CUDA_INJECTION64_PATH"})
            unsetenv(name);
          driver = dlopen(PEAKMARK_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
          try {
            body();
          } catch (const RecorderError& error) {
            std::cerr << error.what() << std::endl;
          }
          _exit(0);  // a sanitizer would wait if the process ended normally
        },
        testing::ExitedWithCode(0), text);
  }

  static void initialise_cuda() { reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0); }
  /// Loads OpenCL's loader into the process but does not call it.
  static void* load_opencl() { return dlopen(PEAKMARK_FAKE_OPENCL, RTLD_NOW | RTLD_LOCAL); }
  static void call_opencl() {
    std::uint32_t count = 0;
    reinterpret_cast<std::int32_t (*)(std::uint32_t, void*, std::uint32_t*)>(
        dlsym(load_opencl(), "clGetPlatformIDs"))(0, nullptr, &count);
  }
  template <typename... Arguments>
  static void call(const fs::path& recorder, const char* what, Arguments... arguments) {
    void* const library = dlopen(recorder.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    reinterpret_cast<void (*)(Arguments...)>(dlsym(library, what))(arguments...);
  }
  static void allocate(const fs::path& recorder, std::uint64_t address, std::int64_t bytes) {
    call(recorder, "fake_allocation", address, bytes);
  }
  /// Does what OpenCL's loader would do.
  void load_opencl_recorder() const {
    setenv("PEAKMARK_PROFILE", (folder_.path() / "profile").c_str(), 1);
    setenv("OPENCL_LAYERS", opencl_.c_str(), 1);
    dlopen(opencl_.c_str(), RTLD_NOW | RTLD_LOCAL);
    call(opencl_, "InitializeInjection");
  }
  static void print(const RegionFigures& use) {
    std::cerr << "peak " << use.live_peak_bytes << " total " << use.total_bytes << " live "
              << use.live_at_start_bytes << " to " << use.live_bytes << std::endl;
  }

  static inline void* driver = nullptr;
  const TemporaryFolder folder_;
  const fs::path opencl_ = folder_.path() / "libpeakmark-opencl.so";
  const fs::path cuda_ = folder_.path() / "libpeakmark-cupti.so";
};

TEST_F(ProcessMemoryTest, CudaLoadsItsRecorder) {
  expect_output("peak 110 total 10 live 100 to 110", [&] {
    Regions regions;
    allocate(cuda_, 1, 100);
    const std::uint64_t region = regions.begin();
    allocate(cuda_, 2, 10);
    print(regions.end(region));
  });
}

TEST_F(ProcessMemoryTest, CudaThatWasCalledBeforeIsAnError) {
  expect_output("CUDA was called before peakmark could load its recorder", [&] {
    initialise_cuda();
    Regions regions;
  });
}

TEST_F(ProcessMemoryTest, WithoutARecorderCudaIsNotTouched) {
  expect_output("CUDA stays as it is", [&] {
    fs::remove(cuda_);
    load_opencl_recorder();
    const Regions regions;
    int count = 0;
    if (reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"))(&count) != 0)
      std::cerr << "CUDA stays as it is" << std::endl;
  });
}

TEST_F(ProcessMemoryTest, TwoRecordersAreOneLedger) {
  expect_output("peak 12 total 12 live 0 to 5", [&] {
    load_opencl_recorder();
    setenv("CUDA_INJECTION64_PATH", cuda_.c_str(), 1);
    Regions regions;
    const std::uint64_t region = regions.begin();
    allocate(opencl_, 1, 7);
    allocate(cuda_, 1, 5);
    call(opencl_, "fake_release", std::uint64_t{1});
    print(regions.end(region));
  });
}

TEST_F(ProcessMemoryTest, CudaWithoutARecorderHasNoFigures) {
  expect_output("CUDA is in use, and its recorder libpeakmark-cupti.so is not installed", [&] {
    load_opencl_recorder();
    Regions regions;
    const std::uint64_t region = regions.begin();
    initialise_cuda();
    print(regions.end(region));
  });
}

TEST_F(ProcessMemoryTest, OpenclThatWasCalledBeforeIsAnErrorThoughCudaIsRecorded) {
  expect_output("OpenCL is not: OpenCL was called before peakmark could load its recorder", [&] {
    call_opencl();
    Regions regions;
  });
}

TEST_F(ProcessMemoryTest, OpenclThatIsLoadedLaterIsRecordedToo) {
  expect_output("peak 12 total 12 live 0 to 12", [&] {
    Regions regions;
    load_opencl();
    const std::uint64_t region = regions.begin();
    allocate(opencl_, 1, 7);
    allocate(cuda_, 1, 5);
    print(regions.end(region));
  });
}

TEST_F(ProcessMemoryTest, OpenclThatIsLoadedLaterWithoutItsRecorderHasNoFigures) {
  expect_output("before 0 .*OpenCL is not: OpenCL was called before", [&] {
    Regions regions;
    std::uint64_t region = regions.begin();
    regions.end(region);
    std::cerr << "before " << region << ' ';
    region = regions.begin();
    unsetenv("OPENCL_LAYERS");  // as a program that clears its environment does
    call_opencl();
    print(regions.end(region));
  });
}

TEST_F(ProcessMemoryTest, OpenclWithoutARecorderHasNoFigures) {
  expect_output("is in this process, and its recorder libpeakmark-opencl.so is not installed", [&] {
    fs::remove(opencl_);
    load_opencl();
    Regions regions;
  });
}

TEST_F(ProcessMemoryTest, EventsThatWereReadTakeNoDiskSpace) {
  expect_output("little space, peak 100", [&] {
    Regions regions;
    const std::uint64_t region = regions.begin();
    void* const library = dlopen(cuda_.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    const auto allocation =
        reinterpret_cast<void (*)(std::uint64_t, std::int64_t)>(dlsym(library, "fake_allocation"));
    for (int i = 0; i < 100'000; ++i) allocation(1, 100);
    const RegionFigures use = regions.end(region);
    struct stat file {};
    stat(reinterpret_cast<const char* (*)()>(dlsym(library, "peakmark_profile_path"))(), &file);
    // 100,000 events of 64 bytes were written. The limit allows for space that the file system keeps, and for
    // the part of the file that is being filled.
    if (file.st_blocks * 512 <= (2 << 20)) std::cerr << "little space, ";
    print(use);
  });
}

TEST_F(ProcessMemoryTest, AnInvalidRecordingHasNoFigures) {
  expect_output("cannot be trusted: invalid: CUPTI was unloaded", [&] {
    Regions regions;
    const std::uint64_t region = regions.begin();
    call(cuda_, "fake_note", "invalid: CUPTI was unloaded");
    print(regions.end(region));
  });
}

/// Windows as the Python package uses them: nothing is called before the program calls it.
class Windows : public ProcessMemoryTest {
 protected:
  static void load() { memory().load(Use::windows, "/nowhere", false, false); }
  static std::uint64_t begin() { return memory().begin(Use::windows, {}); }
  static RegionResult end(std::uint64_t region) { return memory().end(Use::windows, region); }
  static ProcessMemory& memory() {
    static ProcessMemory of_process;
    return of_process;
  }
};

TEST_F(Windows, NothingIsRecordedBeforeALoaderIsCalled) {
  expect_output("nothing, then 7", [&] {
    load();
    std::uint64_t region = begin();
    std::cerr << (end(region).is_recorded ? "something" : "nothing");
    initialise_cuda();
    region = begin();
    allocate(cuda_, 1, 7);
    std::cerr << ", then " << end(region).figures.peak_bytes << std::endl;
  });
}

TEST_F(Windows, OpenclThatWasCalledBeforeIsAnErrorThoughCudaIsRecorded) {
  expect_output("late: CUDA is recorded and OpenCL is not: OpenCL was called before peakmark could load",
                [&] {
                  call_opencl();
                  load();
                  initialise_cuda();
                  try {
                    begin();
                  } catch (const RecorderTooLateError& error) {
                    std::cerr << "late: " << error.what() << std::endl;
                  }
                });
}

TEST_F(Windows, ACudaRecorderThatIsNotStartedIsAnError) {
  expect_output("late: CUDA was called before", [&] {
    initialise_cuda();
    load();
    try {
      begin();
    } catch (const RecorderTooLateError& error) {
      std::cerr << "late: " << error.what() << std::endl;
    }
  });
}

TEST_F(Windows, ANoteThatBytesAreNotCountedIsAnErrorFromThenOn) {
  expect_output("once; not everything is recorded: not counted: by another loader", [&] {
    load();
    initialise_cuda();
    call(cuda_, "fake_note", "not counted: by another loader");
    try {
      begin();
    } catch (const RecorderError&) {
      std::cerr << "once; ";
    }
    begin();
  });
}

TEST_F(Windows, ACompactRecordingHasNone) {
  expect_output("record without --compact", [&] {
    load_opencl_recorder();
    setenv("PEAKMARK_COMPACT", "1", 1);
    load();
    begin();
  });
}

TEST_F(Windows, AForkedChildBeginsAnew) {
  expect_output("child: live 0, peak 30, outer peak 100; parent: peak 130", [&] {
    load();
    initialise_cuda();
    const std::uint64_t region = begin();
    allocate(cuda_, 1, 100);
    end(begin());  // reads it
    const pid_t child = fork();
    if (child == 0) {
      const std::uint64_t own = begin();
      allocate(cuda_, 2, 30);
      const RegionFigures use = end(own).figures;
      std::cerr << "child: live " << use.live_at_start_bytes << ", peak " << use.peak_bytes << ", outer peak "
                << end(region).figures.peak_bytes << "; ";
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    std::cerr << "parent: peak " << end(region).figures.peak_bytes << std::endl;
  });
}

TEST_F(Windows, AHoleInAChildsProfileIsLostEvents) {
  expect_output("2 events are lost: a thread or process stopped while it wrote them", [&] {
    load();
    initialise_cuda();
    begin();
    const pid_t child = fork();
    if (child == 0) {
      for (std::uint64_t i = 1; i < 10; ++i) allocate(cuda_, i, 8);
      void* const library = dlopen(cuda_.c_str(), RTLD_NOLOAD | RTLD_LAZY);
      const char* const profile =
          reinterpret_cast<const char* (*)()>(dlsym(library, "peakmark_profile_path"))();
      const int file = open(profile, O_WRONLY);
      const std::array<char, 2 * sizeof(Event)> zeros{};
      if (pwrite(file, zeros.data(), zeros.size(), ProfileHeader::kBytes + 2 * sizeof(Event)) < 0) _exit(1);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    begin();
  });
}

}  // namespace
}  // namespace peakmark
