#include "device/opencl/failure.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

TEST(OpenClFailure, SuccessThrowsNothing) {
  EXPECT_NO_THROW(check_opencl(0, "clFinish"));
}

TEST(OpenClFailure, WantOfMemoryIsOutOfMemory) {
  for (const cl_int code : {-4, -5, -6, -61}) {
    EXPECT_THROW(check_opencl(code, "clCreateBuffer"), OutOfMemory) << code;
  }
}

TEST(OpenClFailure, TheMessageNamesCallErrorAndRequest) {
  try {
    check_opencl(-54, "clEnqueueNDRangeKernel", "scale");
    FAIL();
  } catch (const OutOfMemory&) {
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "clEnqueueNDRangeKernel, scale: CL_INVALID_WORK_GROUP_SIZE (-54)");
    EXPECT_EQ(error.code(), ExitCode::measurement);
  }
}

TEST(OpenClFailure, NamesAreTheHeaders) {
  EXPECT_EQ(opencl_error_name(CL_MEM_OBJECT_ALLOCATION_FAILURE), "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  EXPECT_EQ(opencl_error_name(CL_INVALID_KERNEL_ARGS), "CL_INVALID_KERNEL_ARGS");
  EXPECT_EQ(opencl_error_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
  EXPECT_EQ(opencl_error_name(-9999), "unknown OpenCL error");
}

}  // namespace
}  // namespace peakmark
