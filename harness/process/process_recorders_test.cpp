// Recorders in this process, without a device: libraries stand in for CUDA's driver, for OpenCL's
// loader and for the recorders. What a loader has loaded stays, so each test is a process of its own.
#include "process/process_recorders.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

class ProcessRecordersTest : public testing::Test {
 protected:
  ProcessRecordersTest() {
    fs::copy_file(PEAKMARK_FAKE_RECORDER, opencl_);
    fs::copy_file(PEAKMARK_FAKE_RECORDER, cuda_);
  }

  /// What `body` tells on standard error, in a process of its own in which CUDA's driver is loaded and the
  /// recorders in `folder_` are found.
  void expect_told(const std::string& text, const std::function<void()>& body) const {
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
          _exit(0);  // a sanitizer would wait at each orderly end
        },
        testing::ExitedWithCode(0), text);
  }

  static void initialise_cuda() { reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0); }
  /// OpenCL's loader comes into the process; nobody calls it.
  static void* load_opencl() { return dlopen(PEAKMARK_FAKE_OPENCL, RTLD_NOW | RTLD_LOCAL); }
  static void call_opencl() {
    std::uint32_t count = 0;
    reinterpret_cast<std::int32_t (*)(std::uint32_t, void*, std::uint32_t*)>(
        dlsym(load_opencl(), "clGetPlatformIDs"))(0, nullptr, &count);
  }
  template <typename... Arguments>
  static void tell(const fs::path& recorder, const char* what, Arguments... arguments) {
    void* const library = dlopen(recorder.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    reinterpret_cast<void (*)(Arguments...)>(dlsym(library, what))(arguments...);
  }
  static void allocate(const fs::path& recorder, std::uint64_t address, std::int64_t bytes) {
    tell(recorder, "fake_allocation", address, bytes);
  }
  /// Does what OpenCL's loader would.
  void load_opencl_recorder() const {
    setenv("PEAKMARK_PROFILE", (folder_.path() / "profile").c_str(), 1);
    setenv("OPENCL_LAYERS", opencl_.c_str(), 1);
    dlopen(opencl_.c_str(), RTLD_NOW | RTLD_LOCAL);
    tell(opencl_, "InitializeInjection");
  }
  static void print(const MemoryUse& use) {
    std::cerr << "peak " << use.peak_bytes << " total " << use.total_bytes << " live "
              << use.live_before_bytes << " to " << use.live_after_bytes << std::endl;
  }

  static inline void* driver = nullptr;
  const TemporaryFolder folder_;
  const fs::path opencl_ = folder_.path() / "libpeakmark-opencl.so";
  const fs::path cuda_ = folder_.path() / "libpeakmark-cupti.so";
};

TEST_F(ProcessRecordersTest, CudaBringsItsRecorder) {
  expect_told("peak 110 total 10 live 100 to 110", [&] {
    ProcessRecorders recorders("/nowhere");
    allocate(cuda_, 1, 100);
    const std::size_t stretch = recorders.begin();
    allocate(cuda_, 2, 10);
    print(recorders.end(stretch));
  });
}

TEST_F(ProcessRecordersTest, CudaThatWasCalledBeforeIsTold) {
  expect_told("CUDA was called before its recorder could come in: .*peakmark record", [&] {
    initialise_cuda();
    ProcessRecorders recorders("/nowhere");
  });
}

TEST_F(ProcessRecordersTest, WithoutARecorderCudaIsNotTouched) {
  expect_told("CUDA stays as it is", [&] {
    fs::remove(cuda_);
    load_opencl_recorder();
    const ProcessRecorders recorders("/nowhere");
    int count = 0;
    if (reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"))(&count) != 0)
      std::cerr << "CUDA stays as it is" << std::endl;
  });
}

TEST_F(ProcessRecordersTest, TwoRecordersAreOneAccount) {
  expect_told("peak 12 total 12 live 0 to 5", [&] {
    load_opencl_recorder();
    setenv("CUDA_INJECTION64_PATH", cuda_.c_str(), 1);
    ProcessRecorders recorders("/nowhere");
    const std::size_t stretch = recorders.begin();
    allocate(opencl_, 1, 7);
    allocate(cuda_, 1, 5);
    tell(opencl_, "fake_release", std::uint64_t{1});
    print(recorders.end(stretch));
  });
}

TEST_F(ProcessRecordersTest, CudaWithoutARecorderLeavesNoFigure) {
  expect_told("CUDA is in use, and its recorder libpeakmark-cupti.so is not installed", [&] {
    load_opencl_recorder();
    ProcessRecorders recorders("/nowhere");
    const std::size_t stretch = recorders.begin();
    initialise_cuda();
    print(recorders.end(stretch));
  });
}

TEST_F(ProcessRecordersTest, OpenclThatWasCalledBeforeIsToldThoughCudaIsRecorded) {
  expect_told("OpenCL is not: OpenCL was called before its recorder could come in: .*peakmark record", [&] {
    call_opencl();
    ProcessRecorders recorders("/nowhere");
  });
}

TEST_F(ProcessRecordersTest, OpenclThatComesLaterIsRecordedToo) {
  expect_told("peak 12 total 12 live 0 to 12", [&] {
    ProcessRecorders recorders("/nowhere");
    load_opencl();
    const std::size_t stretch = recorders.begin();
    allocate(opencl_, 1, 7);
    allocate(cuda_, 1, 5);
    print(recorders.end(stretch));
  });
}

TEST_F(ProcessRecordersTest, OpenclThatComesLaterWithoutItsRecorderLeavesNoFigure) {
  expect_told("before 0 .*OpenCL is not: OpenCL was called before", [&] {
    ProcessRecorders recorders("/nowhere");
    std::size_t stretch = recorders.begin();
    recorders.end(stretch);
    std::cerr << "before " << stretch << ' ';
    stretch = recorders.begin();
    unsetenv("OPENCL_LAYERS");  // as a program that clears its environment does
    call_opencl();
    print(recorders.end(stretch));
  });
}

TEST_F(ProcessRecordersTest, OpenclWithoutARecorderLeavesNoFigure) {
  expect_told("is in this process, and its recorder libpeakmark-opencl.so is not installed", [&] {
    fs::remove(opencl_);
    load_opencl();
    ProcessRecorders recorders("/nowhere");
  });
}

TEST_F(ProcessRecordersTest, WhatWasReadTakesNoRoom) {
  expect_told("little room, peak 100", [&] {
    ProcessRecorders recorders("/nowhere");
    const std::size_t stretch = recorders.begin();
    void* const library = dlopen(cuda_.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    const auto allocation =
        reinterpret_cast<void (*)(std::uint64_t, std::int64_t)>(dlsym(library, "fake_allocation"));
    for (int i = 0; i < 100'000; ++i) allocation(1, 100);
    const MemoryUse use = recorders.end(stretch);
    struct stat file {};
    stat(reinterpret_cast<const char* (*)()>(dlsym(library, "peakmark_profile_path"))(), &file);
    // 100,000 events of 64 bytes, less what a file system may keep, and the extent that is being filled.
    if (file.st_blocks * 512 <= (2 << 20)) std::cerr << "little room, ";
    print(use);
  });
}

TEST_F(ProcessRecordersTest, WhatCannotBeTrustedIsNoFigure) {
  expect_told("invalid: CUPTI is gone", [&] {
    ProcessRecorders recorders("/nowhere");
    const std::size_t stretch = recorders.begin();
    tell(cuda_, "fake_note", "invalid: CUPTI is gone");
    print(recorders.end(stretch));
  });
}

}  // namespace
}  // namespace peakmark
