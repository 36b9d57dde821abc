#include "kernels/fft/vkfft_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A step between a complex and a real transform that writes at these indices.
std::string step(std::initializer_list<const char*> writes,
                 const std::string& offset = "shiftZ + consts.inputOffset") {
  std::string text =
      "__kernel void VkFFT_main_R2C (__global float2* inputs, __global float2* outputs) {\nshiftZ = " +
      offset + ";\ntemp_0 = inputs[inoutID];\n";
  for (const char* index : writes) text += std::string("outputs[") + index + "] = temp_0;\n";
  return text + "}\n";
}

std::string message(const std::string& text, int version = 10304) {
  try {
    corrected_vkfft_text(text, version);
  } catch (const MeasurementError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(VkfftText, EveryWriteOfAStepIsAtItsOwnOffset) {
  const std::string text =
      corrected_vkfft_text(step({"inoutID", "tempInt", "tempInt2", "inoutID", "tempInt"}), 10304);
  EXPECT_THAT(text, HasSubstr("outputs[consts.outputOffset - consts.inputOffset + inoutID] = "));
  EXPECT_THAT(text, HasSubstr("outputs[consts.outputOffset - consts.inputOffset + tempInt] = "));
  EXPECT_THAT(text, HasSubstr("outputs[consts.outputOffset - consts.inputOffset + tempInt2] = "));
  for (const char* index : {"inoutID", "tempInt", "tempInt2"})
    EXPECT_THAT(text, Not(HasSubstr(std::string("outputs[") + index)));
  EXPECT_THAT(text, HasSubstr("inputs[inoutID]"));
}

TEST(VkfftText, WritesThatAreNotKnownAreAnError) {
  // The indices of version 1.2.26.
  EXPECT_THAT(
      message(step({"inoutID", "inoutID2", "inoutID3", "inoutID", "inoutID2"}), 10226),
      HasSubstr("VkFFT 1.2.26 writes a kernel that peakmark cannot correct: outputs[…] at inoutID inoutID2"));
  EXPECT_THAT(message(step({"inoutID", "tempInt", "tempInt2", "inoutID", "tempInt", "tempInt3"})),
              HasSubstr("VkFFT 1.3.4 writes"));
  EXPECT_THAT(message(step({"inoutID"})), HasSubstr("build peakmark with the VkFFT that ci/vkfft downloads"));
  EXPECT_THAT(message(step({})), HasSubstr("cannot correct"));
}

TEST(VkfftText, AStepWithAnotherOffsetIsAnError) {
  // A version in which this error is corrected.
  EXPECT_THAT(
      message(step({"inoutID", "inoutID", "tempInt"}, "shiftZ + consts.inputOffset - consts.outputOffset")),
      HasSubstr("cannot correct"));
  EXPECT_THAT(message(step({"inoutID", "inoutID", "tempInt"}, "shiftZ")), HasSubstr("cannot correct"));
}

TEST(VkfftText, BarriersOrderAllMemory) {
  const std::string text =
      corrected_vkfft_text("__kernel void VkFFT_main () {\noutputs[inoutID] = temp_0;\n}", 10304);
  EXPECT_THAT(text, HasSubstr("outputs[inoutID] = temp_0;"));
  EXPECT_THAT(text, HasSubstr("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"));
}

}  // namespace
}  // namespace peakmark
