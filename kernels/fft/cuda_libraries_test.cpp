#include "kernels/fft/cuda_libraries.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "peakmark/worker/case.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;

TEST(CudaLibraries, AMissingOneIsUnsupportedAndTheMessageReportsWhatToDo) {
  EXPECT_THAT([] { open_cuda_library("libno-such-library.so.13"); },
              testing::Throws<Unsupported>(Property(
                  &std::exception::what,
                  AllOf(HasSubstr("libno-such-library.so.13 is not found"), HasSubstr("CUDA_HOME")))));
}

TEST(CudaLibraries, AFunctionThatALibraryLacksIsUnsupported) {
  void* library = open_cuda_library("libm.so.6");
  EXPECT_NE(function_of_library(library, "cos"), nullptr);
  EXPECT_THROW(function_of_library(library, "no_such_function"), Unsupported);
}

}  // namespace
}  // namespace peakmark
