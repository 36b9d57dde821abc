#include <CL/cl_layer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/marks.h"
#include "record/recorders/opencl/tests/fake_opencl_driver.hpp"

extern "C" {
int peakmark_marks_version();
void peakmark_phase(const char*);
void peakmark_name(std::uint64_t, const char*);
const char* peakmark_profile_path();
std::uint64_t peakmark_event_count();
const char* peakmark_synchronise();
void peakmark_guards(std::int64_t);
}

namespace peakmark::opencl_layer {
namespace {

using testing::ElementsAre;

constexpr cl_uint kAll = sizeof(cl_icd_dispatch) / sizeof(void*);

/// A process has only one layer. Its folder is removed when the process ends.
struct Loaded {
  Loaded() {
    const std::string profile = folder.path() / "p";
    setenv("PEAKMARK_PROFILE", profile.c_str(), 1);
    // With both variables the layer hooks every enqueue, for each loader that initialises it. It must never
    // hook its own hooks.
    setenv("PEAKMARK_SYNC", "1", 1);
    setenv("PEAKMARK_WORK", "1", 1);
    // First an old loader, whose table ends before pipes, then a new one.
    cl_icd_dispatch old_table = fake_table();
    const auto end = static_cast<cl_uint>(offsetof(cl_icd_dispatch, clCreatePipe) / sizeof(void*));
    EXPECT_EQ(clInitLayer(end, &old_table, &old_entries, &hooks), CL_SUCCESS);
    EXPECT_EQ(old_entries, end);
    old_had_pipes = hooks->clCreatePipe != nullptr;
    cl_uint entries = 0;
    EXPECT_EQ(clInitLayer(kAll, &table, &entries, &hooks), CL_SUCCESS);
    EXPECT_EQ(entries, kAll);
  }

  TemporaryFolder folder;
  cl_icd_dispatch table = fake_table();
  const cl_icd_dispatch* hooks = nullptr;
  cl_uint old_entries = 0;
  bool old_had_pipes = true;
};

const Loaded& loaded() {
  static const Loaded only;
  return only;
}

class OpenclLayer : public testing::Test {
 protected:
  void SetUp() override {
    fake = {};
    first_ = peakmark_event_count();
  }
  std::vector<Event> events() const { return ProfileReader(peakmark_profile_path()).events(first_); }

  /// Makes one creation through the layer that is refused and one that succeeds, and destroys the created
  /// object.
  template <typename Create>
  void expect_counted(MemoryKind kind, std::int64_t bytes, std::int64_t refused_bytes, Create create) {
    fake.result = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_int result = CL_SUCCESS;
    EXPECT_EQ(create(&result), nullptr);
    EXPECT_EQ(result, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT_EQ(create(nullptr), nullptr);
    fake.result = CL_SUCCESS;
    const cl_mem memory = create(&result);
    EXPECT_EQ(result, CL_SUCCESS);
    ASSERT_NE(memory, nullptr);
    const auto address = reinterpret_cast<std::uint64_t>(memory);
    destroy(memory);

    const auto seen = events();
    ASSERT_EQ(seen.size(), 4U);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(seen[i].type, EventType::failed_allocation);
      EXPECT_STREQ(to_string(seen[i].kind), to_string(kind));
      EXPECT_EQ(seen[i].amounts.bytes, refused_bytes);
      EXPECT_EQ(seen[i].amounts.result, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    EXPECT_EQ(seen[2].type, EventType::allocation);
    EXPECT_STREQ(to_string(seen[2].kind), to_string(kind));
    EXPECT_EQ(seen[2].amounts.bytes, bytes);
    EXPECT_EQ(seen[2].address, address);
    EXPECT_EQ(seen[3].type, EventType::release);
    EXPECT_EQ(seen[3].address, address);
  }

  const cl_icd_dispatch& hooks_ = *loaded().hooks;
  std::uint64_t first_ = 0;
};

const cl_image_format kFloats{CL_RGBA, CL_FLOAT};

TEST_F(OpenclLayer, ReportsNameAndVersion) {
  cl_layer_api_version version = 0;
  EXPECT_EQ(clGetLayerInfo(CL_LAYER_API_VERSION, sizeof(version), &version, nullptr), CL_SUCCESS);
  EXPECT_EQ(version, CL_LAYER_API_VERSION_100);
  size_t bytes = 0;
  EXPECT_EQ(clGetLayerInfo(CL_LAYER_NAME, 0, nullptr, &bytes), CL_SUCCESS);
  std::string name(bytes, '\0');
  EXPECT_EQ(clGetLayerInfo(CL_LAYER_NAME, bytes, name.data(), nullptr), CL_SUCCESS);
  EXPECT_STREQ(name.c_str(), "peakmark recorder");
  EXPECT_EQ(clGetLayerInfo(CL_LAYER_NAME, 3, name.data(), nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(clGetLayerInfo(1, 0, nullptr, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(clInitLayer(0, nullptr, nullptr, nullptr), CL_INVALID_VALUE);
}

TEST_F(OpenclLayer, SlotsThatTheLoaderLacksAreNotHooked) {
  EXPECT_FALSE(loaded().old_had_pipes);
  EXPECT_NE(hooks_.clCreatePipe, nullptr);
  EXPECT_EQ(hooks_.clEnqueueFillBuffer, nullptr);  // the fake driver lacks it
  EXPECT_EQ(hooks_.clCreateContext, nullptr);
}

TEST_F(OpenclLayer, BuffersOfEachFlag) {
  fake.size = 4096;
  for (const auto& [flags, kind] : {std::pair{cl_mem_flags{CL_MEM_READ_ONLY}, MemoryKind::buffer},
                                    {CL_MEM_COPY_HOST_PTR, MemoryKind::buffer},
                                    {CL_MEM_ALLOC_HOST_PTR, MemoryKind::alloc_host_ptr},
                                    {CL_MEM_USE_HOST_PTR, MemoryKind::host_pointer}}) {
    first_ = peakmark_event_count();
    expect_counted(kind, 4096, 4000, [&, f = flags](cl_int* result) {
      return hooks_.clCreateBuffer(nullptr, f, 4000, nullptr, result);
    });
    first_ = peakmark_event_count();
    expect_counted(kind, 4096, 4000, [&, f = flags](cl_int* result) {
      return hooks_.clCreateBufferWithProperties(nullptr, nullptr, f, 4000, nullptr, result);
    });
  }
}

TEST_F(OpenclLayer, GuardsAreNotCountedAndTheArrayInThemIsNoView) {
  peakmark_guards(96);
  fake.size = 4096;
  expect_counted(MemoryKind::buffer, 4000, 3904, [&](cl_int* result) {
    return hooks_.clCreateBuffer(nullptr, CL_MEM_READ_WRITE, 4000, nullptr, result);
  });
  first_ = peakmark_event_count();
  fake.has_parent = true;
  destroy(hooks_.clCreateSubBuffer(nullptr, 0, CL_BUFFER_CREATE_TYPE_REGION, nullptr, nullptr));
  peakmark_guards(0);
  EXPECT_EQ(peakmark_event_count(), first_);
}

TEST_F(OpenclLayer, SubBuffersAreViews) {
  fake.size = 512;
  fake.has_parent = true;
  expect_counted(MemoryKind::view, 0, 0, [&](cl_int* result) {
    return hooks_.clCreateSubBuffer(nullptr, 0, CL_BUFFER_CREATE_TYPE_REGION, nullptr, result);
  });
}

TEST_F(OpenclLayer, Images) {
  fake.size = 5000;
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY;
  shape.image_width = 10;
  shape.image_height = 20;
  shape.image_array_size = 3;
  expect_counted(MemoryKind::image, 5000, 10 * 20 * 3 * 16, [&](cl_int* result) {
    return hooks_.clCreateImage(nullptr, 0, &kFloats, &shape, nullptr, result);
  });
  first_ = peakmark_event_count();
  expect_counted(MemoryKind::alloc_host_ptr, 5000, 10 * 20 * 3 * 16, [&](cl_int* result) {
    return hooks_.clCreateImageWithProperties(nullptr, nullptr, CL_MEM_ALLOC_HOST_PTR, &kFloats, &shape,
                                              nullptr, result);
  });
  first_ = peakmark_event_count();
  expect_counted(MemoryKind::image, 5000, 10 * 20 * 16, [&](cl_int* result) {
    return hooks_.clCreateImage2D(nullptr, 0, &kFloats, 10, 20, 0, nullptr, result);
  });
  first_ = peakmark_event_count();
  expect_counted(MemoryKind::image, 5000, 10 * 20 * 30 * 16, [&](cl_int* result) {
    return hooks_.clCreateImage3D(nullptr, 0, &kFloats, 10, 20, 30, 0, 0, nullptr, result);
  });
}

TEST_F(OpenclLayer, ImageOverABufferIsAView) {
  fake.size = 5000;
  fake.has_parent = true;
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  shape.image_width = 10;
  shape.buffer = reinterpret_cast<cl_mem>(fake_heap);
  expect_counted(MemoryKind::view, 0, 0, [&](cl_int* result) {
    return hooks_.clCreateImage(nullptr, CL_MEM_USE_HOST_PTR, &kFloats, &shape, nullptr, result);
  });
}

TEST_F(OpenclLayer, Pipes) {
  fake.size = 1100;
  expect_counted(MemoryKind::pipe, 1100, 16 * 64,
                 [&](cl_int* result) { return hooks_.clCreatePipe(nullptr, 0, 16, 64, nullptr, result); });
}

TEST_F(OpenclLayer, OpenGlObjects) {
  fake.size = 777;
  const auto texture = [](auto create) {
    return [create](cl_int* result) { return create(nullptr, 0, 0, 0, 0, result); };
  };
  expect_counted(MemoryKind::gl_shared, 777, 0,
                 [&](cl_int* result) { return hooks_.clCreateFromGLBuffer(nullptr, 0, 1, result); });
  first_ = peakmark_event_count();
  expect_counted(MemoryKind::gl_shared, 777, 0,
                 [&](cl_int* result) { return hooks_.clCreateFromGLRenderbuffer(nullptr, 0, 1, result); });
  for (const auto create :
       {hooks_.clCreateFromGLTexture, hooks_.clCreateFromGLTexture2D, hooks_.clCreateFromGLTexture3D}) {
    first_ = peakmark_event_count();
    expect_counted(MemoryKind::gl_shared, 777, 0, texture(create));
  }
  first_ = peakmark_event_count();
  expect_counted(MemoryKind::gl_shared, 777, 0, [&](cl_int* result) {
    return hooks_.clCreateFromEGLImageKHR(nullptr, nullptr, nullptr, 0, nullptr, result);
  });
}

TEST_F(OpenclLayer, SvmIsReleasedBeforeTheDriverIsCalled) {
  void* const memory = hooks_.clSVMAlloc(nullptr, 0, 300, 0);
  EXPECT_EQ(memory, fake_heap + 256);
  fake.result = CL_OUT_OF_RESOURCES;
  EXPECT_EQ(hooks_.clSVMAlloc(nullptr, 0, 400, 0), nullptr);
  hooks_.clSVMFree(nullptr, memory);
  hooks_.clSVMFree(nullptr, nullptr);
  EXPECT_THAT(fake.calls, ElementsAre("svm alloc", "svm alloc", "svm free", "svm free"));
  const auto seen = events();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].amounts.bytes, 300);
  EXPECT_EQ(seen[0].kind, MemoryKind::svm);
  EXPECT_EQ(seen[1].type, EventType::failed_allocation);
  EXPECT_EQ(seen[1].amounts.bytes, 400);
  EXPECT_EQ(seen[2].type, EventType::release);
  EXPECT_EQ(seen[2].address, seen[0].address);
}

TEST_F(OpenclLayer, IntelsSharedMemoryIsWrapped) {
  const auto function = [&](const char* name) { return hooks_.clGetExtensionFunctionAddress(name); };
  const auto device = reinterpret_cast<clDeviceMemAllocINTEL_fn>(function("clDeviceMemAllocINTEL"));
  const auto shared = reinterpret_cast<clSharedMemAllocINTEL_fn>(
      hooks_.clGetExtensionFunctionAddressForPlatform(nullptr, "clSharedMemAllocINTEL"));
  const auto host = reinterpret_cast<clHostMemAllocINTEL_fn>(function("clHostMemAllocINTEL"));
  const auto release = reinterpret_cast<clMemFreeINTEL_fn>(function("clMemFreeINTEL"));
  const auto blocking = reinterpret_cast<clMemFreeINTEL_fn>(function("clMemBlockingFreeINTEL"));
  cl_int result = -1;
  void* memory = device(nullptr, nullptr, nullptr, 100, 0, &result);
  EXPECT_EQ(result, CL_SUCCESS);
  EXPECT_EQ(release(nullptr, memory), CL_SUCCESS);
  memory = shared(nullptr, nullptr, nullptr, 200, 0, nullptr);
  EXPECT_EQ(blocking(nullptr, memory), CL_SUCCESS);
  memory = host(nullptr, nullptr, 300, 0, &result);
  EXPECT_EQ(release(nullptr, memory), CL_SUCCESS);
  EXPECT_EQ(release(nullptr, nullptr), CL_SUCCESS);
  fake.result = CL_OUT_OF_HOST_MEMORY;
  EXPECT_EQ(device(nullptr, nullptr, nullptr, 400, 0, &result), nullptr);
  EXPECT_EQ(result, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(host(nullptr, nullptr, 500, 0, nullptr), nullptr);

  const auto seen = events();
  ASSERT_EQ(seen.size(), 8U);
  const MemoryKind kinds[] = {MemoryKind::usm_device, MemoryKind::usm_shared, MemoryKind::usm_host};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(seen[2 * i].type, EventType::allocation);
    EXPECT_EQ(seen[2 * i].kind, kinds[i]);
    EXPECT_EQ(seen[2 * i].amounts.bytes, 100 * (i + 1));
    EXPECT_EQ(seen[2 * i + 1].type, EventType::release);
    EXPECT_EQ(seen[2 * i + 1].address, seen[2 * i].address);
  }
  EXPECT_EQ(seen[6].type, EventType::failed_allocation);
  EXPECT_EQ(seen[6].amounts.result, CL_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(seen[7].kind, MemoryKind::usm_host);
  EXPECT_EQ(seen[7].amounts.bytes, 500);
}

TEST_F(OpenclLayer, ExtensionFunctionsByName) {
  EXPECT_EQ(hooks_.clGetExtensionFunctionAddress("clNoSuchThing"), nullptr);
  EXPECT_EQ(hooks_.clGetExtensionFunctionAddress("clSomethingElse"), reinterpret_cast<void*>(fake_unknown));
  EXPECT_EQ(hooks_.clGetExtensionFunctionAddress("clCreateFromGLBuffer"),
            reinterpret_cast<void*>(hooks_.clCreateFromGLBuffer));
  EXPECT_TRUE(events().empty());
  // A function whose memory is not counted is returned unwrapped, with a note.
  EXPECT_EQ(hooks_.clGetExtensionFunctionAddress("clImportMemoryARM"), reinterpret_cast<void*>(fake_unknown));
  const auto seen = events();
  ASSERT_GE(seen.size(), 1U);
  EXPECT_EQ(seen[0].type, EventType::note);
  EXPECT_THAT(text_of(seen, 0), testing::HasSubstr("clImportMemoryARM"));

  first_ = peakmark_event_count();
  fake.size = 64;
  const auto create = reinterpret_cast<clCreateBufferWithPropertiesINTEL_fn>(
      hooks_.clGetExtensionFunctionAddress("clCreateBufferWithPropertiesINTEL"));
  expect_counted(MemoryKind::buffer, 64, 60,
                 [&](cl_int* result) { return create(nullptr, nullptr, 0, 60, nullptr, result); });
}

/// A driver may return its own core functions, past the loader and the layer.
TEST_F(OpenclLayer, CoreFunctionsByName) {
  fake.any_name = true;
  for (const auto& [name, hooked] :
       {std::pair{"clCreateBuffer", reinterpret_cast<void*>(hooks_.clCreateBuffer)},
        {"clCreateBufferWithProperties", reinterpret_cast<void*>(hooks_.clCreateBufferWithProperties)},
        {"clCreateSubBuffer", reinterpret_cast<void*>(hooks_.clCreateSubBuffer)},
        {"clCreateImage", reinterpret_cast<void*>(hooks_.clCreateImage)},
        {"clCreateImage2D", reinterpret_cast<void*>(hooks_.clCreateImage2D)},
        {"clSVMAlloc", reinterpret_cast<void*>(hooks_.clSVMAlloc)}}) {
    EXPECT_EQ(hooks_.clGetExtensionFunctionAddress(name), hooked) << name;
    EXPECT_EQ(hooks_.clGetExtensionFunctionAddressForPlatform(nullptr, name), hooked) << name;
  }
}

TEST_F(OpenclLayer, ADriverWithoutDestructorCallbacksIsNoted) {
  fake.callbacks = false;
  destroy(hooks_.clCreateBuffer(nullptr, 0, 1, nullptr, nullptr));
  destroy(hooks_.clCreateBuffer(nullptr, 0, 1, nullptr, nullptr));
  const auto seen = events();
  std::size_t notes = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].type != EventType::note) continue;
    ++notes;
    EXPECT_THAT(text_of(seen, i), testing::HasSubstr("releases of memory objects are not recorded"));
  }
  EXPECT_EQ(notes, 1U);
}

TEST_F(OpenclLayer, SyncFinishesTheQueueUnlessAUserEventIsOpen) {
  const auto copy = [&] {
    return hooks_.clEnqueueCopyBuffer(nullptr, nullptr, nullptr, 0, 0, 0, 0, nullptr, nullptr);
  };
  EXPECT_EQ(copy(), CL_SUCCESS);
  EXPECT_THAT(fake.calls, ElementsAre("copy", "finish"));
  fake.calls.clear();
  const cl_event event = hooks_.clCreateUserEvent(nullptr, nullptr);
  EXPECT_EQ(copy(), CL_SUCCESS);
  EXPECT_THAT(fake.calls, ElementsAre("copy"));
  EXPECT_EQ(hooks_.clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
  fake.calls.clear();
  EXPECT_EQ(copy(), CL_SUCCESS);
  EXPECT_THAT(fake.calls, ElementsAre("copy", "finish"));
  fake.calls.clear();
  fake.result = CL_INVALID_VALUE;
  EXPECT_EQ(copy(), CL_INVALID_VALUE);
  EXPECT_THAT(fake.calls, ElementsAre("copy"));
}

TEST_F(OpenclLayer, SynchronisingFinishesTheQueuesThatTheProgramHolds) {
  const auto finished = [&]() -> std::ptrdiff_t {
    fake.calls.clear();
    EXPECT_EQ(peakmark_synchronise(), nullptr);
    return std::count(fake.calls.begin(), fake.calls.end(), "finish");
  };
  EXPECT_EQ(finished(), 0);
  const cl_command_queue one = hooks_.clCreateCommandQueue(nullptr, nullptr, 0, nullptr);
  const cl_command_queue two = hooks_.clCreateCommandQueueWithProperties(nullptr, nullptr, nullptr, nullptr);
  fake.result = CL_OUT_OF_HOST_MEMORY;
  EXPECT_EQ(hooks_.clCreateCommandQueue(nullptr, nullptr, 0, nullptr), nullptr);
  fake.result = CL_SUCCESS;
  EXPECT_EQ(finished(), 2);

  EXPECT_EQ(hooks_.clRetainCommandQueue(one), CL_SUCCESS);
  EXPECT_EQ(hooks_.clReleaseCommandQueue(one), CL_SUCCESS);
  EXPECT_EQ(hooks_.clReleaseCommandQueue(two), CL_SUCCESS);
  EXPECT_THAT(fake.calls, testing::Contains("queue destroyed"));  // the recorder keeps none alive
  EXPECT_EQ(finished(), 1);

  const cl_event event = hooks_.clCreateUserEvent(nullptr, nullptr);
  fake.calls.clear();
  EXPECT_THAT(peakmark_synchronise(), testing::HasSubstr("a user event is not set"));
  EXPECT_THAT(fake.calls, testing::IsEmpty());
  EXPECT_EQ(hooks_.clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(finished(), 1);

  EXPECT_EQ(hooks_.clReleaseCommandQueue(one), CL_SUCCESS);
  EXPECT_EQ(finished(), 0);
}

TEST_F(OpenclLayer, Marks) {
  EXPECT_EQ(peakmark_marks_version(), PEAKMARK_MARKS_VERSION);
  peakmark_phase("inputs");
  peakmark_name(77, "a stack");
  const auto seen = events();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].type, EventType::phase);
  EXPECT_EQ(text_of(seen, 0), "inputs");
  EXPECT_EQ(seen[1].address, 77U);
  EXPECT_EQ(text_of(seen, 1), "a stack");
}

}  // namespace
}  // namespace peakmark::opencl_layer
