// CUDA that cannot be recorded, with a CUPTI that is a fake: no device is needed.
#include <algorithm>

#include "cli/record_command_test.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RecordCuda : public RecordCommand {
 protected:
  Result run(const std::string& subscriber) const {
    return record("-- " PEAKMARK_FAKE_CUDA_PROGRAM, "export LD_LIBRARY_PATH=" PEAKMARK_FAKE_CUPTI_FOLDER
                                                    " FAKE_CUPTI_SUBSCRIBER='" +
                                                        subscriber + "';");
  }
};

TEST_F(RecordCuda, AnotherSubscriberIsNamed) {
  const Result result = run("Nsight Systems");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "goes on\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("CUPTI has a subscriber already, Nsight Systems"),
                                HasSubstr("run without it")));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_FALSE(std::filesystem::exists(profile()));
}

TEST_F(RecordCuda, OneThatHasNoNameIsGuessed) {
  const Result result = run("");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("such as Nsight, cuda-gdb, compute-sanitizer"));
}

}  // namespace
}  // namespace peakmark
