#include <gtest/gtest.h>

#include "record/show/process_tree.hpp"
#include "record/show/sample_process.hpp"

namespace peakmark {
namespace {

TEST(KeepOneDevice, KeepsTheOneWithTheLargestPeak) {
  SampleProcess sample(1);
  sample.say(EventType::device, 1, 1, "0 PoCL: cpu\n")
      .say(EventType::device, 2, 2, "1 PoCL: basic\n")
      .allocate(3, 16, 1024)
      .on(1)
      .allocate(5, 32, 2048)
      .on(2);
  RecordedTree tree{{sample.process(), SampleProcess(2).allocate(4, 16, 7).process()}};
  EXPECT_EQ(keep_one_device(tree),
            "it uses 2 devices, with these peaks: PoCL: basic 2 KiB, PoCL: cpu 1 KiB; only the memory of "
            "PoCL: basic is judged");
  EXPECT_EQ(summarise(tree.processes[0].events).peak_bytes, 2048);
  EXPECT_EQ(summarise(tree.processes[1].events).peak_bytes, 7) << "a process with one device names none";
}

TEST(KeepOneDevice, ChangesNothingOfAProgramWithOne) {
  RecordedTree tree{{SampleProcess(1).allocate(3, 16, 1024).on(1).process()}};
  EXPECT_EQ(keep_one_device(tree), "");
  EXPECT_EQ(summarise(tree.processes[0].events).peak_bytes, 1024);
}

}  // namespace
}  // namespace peakmark
