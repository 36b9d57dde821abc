#include "record/recorders/python_frames.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

/// This program contains no Python. stacks_command_test runs real interpreters.
TEST(PythonMemory, WithoutAnInterpreterThereAreNoFrames) {
  PythonMemory memory;
  EXPECT_FALSE(memory.find());
  char buffer[256];
  StackText text(buffer, sizeof(buffer));
  EXPECT_FALSE(memory.add_frames(buffer, text));
  EXPECT_EQ(text.bytes(), 0U);
}

}  // namespace
}  // namespace peakmark
