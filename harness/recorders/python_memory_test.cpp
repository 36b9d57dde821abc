#include "recorders/python_memory.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

/// This program holds no Python. What is read of one is tried on real interpreters (stacks_command_test).
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
