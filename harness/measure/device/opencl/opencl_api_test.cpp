#include "measure/device/opencl/opencl_api.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "peakmark/opencl_error.hpp"

namespace peakmark {
namespace {

TEST(OpenClFailure, SuccessThrowsNothing) {
  EXPECT_NO_THROW(check_opencl(0, "clFinish"));
}

TEST(OpenClFailure, AnAllocationThatDoesNotFitIsOutOfMemory) {
  for (const cl_int code : {-4, -5, -6, -61}) {
    EXPECT_THROW(check_opencl(code, "clCreateBuffer"), OutOfMemoryError) << code;
    EXPECT_THROW(check_opencl(code, "clSVMAlloc"), OutOfMemoryError) << code;
  }
  EXPECT_THROW(check_opencl(-4, "clEnqueueNDRangeKernel"), OutOfMemoryError) << "allocated at first use";
}

// NVIDIA answers CL_OUT_OF_RESOURCES after an illegal access: the context is lost, and so is every result.
TEST(OpenClFailure, OutOfResourcesOfAnyOtherCallIsACrash) {
  for (const char* call : {"clFinish", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer", "clWaitForEvents"}) {
    for (const cl_int code : {-5, -6, -61}) {
      EXPECT_FALSE(is_opencl_out_of_memory(code, call)) << call << " " << code;
      try {
        check_opencl(code, call);
        FAIL() << call;
      } catch (const OutOfMemoryError&) {
        FAIL() << call << " " << code;
      } catch (const MeasurementError&) {
      }
    }
  }
}

TEST(OpenClFailure, TheMessageNamesCallErrorAndRequest) {
  try {
    check_opencl(-54, "clEnqueueNDRangeKernel", "scale");
    FAIL();
  } catch (const OutOfMemoryError&) {
    FAIL();
  } catch (const MeasurementError& error) {
    EXPECT_STREQ(error.what(), "clEnqueueNDRangeKernel, scale: CL_INVALID_WORK_GROUP_SIZE (-54)");
  }
}

TEST(OpenClFailure, NamesAreThoseOfTheHeaders) {
#define EXPECT_NAME(code) EXPECT_EQ(opencl_error_name(code), #code)
  EXPECT_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_NAME(CL_INVALID_ARG_SIZE);
  EXPECT_NAME(CL_INVALID_KERNEL_ARGS);
  EXPECT_NAME(CL_INVALID_BUFFER_SIZE);
  EXPECT_NAME(CL_INVALID_DEVICE_PARTITION_COUNT);
#undef EXPECT_NAME
  EXPECT_EQ(opencl_error_text(-1001), "CL_PLATFORM_NOT_FOUND_KHR (-1001)");
  EXPECT_EQ(opencl_error_text(-9999), "unknown OpenCL error (-9999)");
}

}  // namespace
}  // namespace peakmark
