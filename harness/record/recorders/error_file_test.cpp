#include "record/recorders/error_file.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ErrorFileTest : public testing::Test {
 protected:
  ErrorFileTest() { ::setenv("PEAKMARK_ERROR_FILE", error_file_.path().c_str(), 1); }
  ~ErrorFileTest() override { ::unsetenv("PEAKMARK_ERROR_FILE"); }
  ErrorFileTest(const ErrorFileTest&) = delete;
  ErrorFileTest& operator=(const ErrorFileTest&) = delete;

  const TemporaryFolder folder_;
  const ErrorFile error_file_{folder_.path() / "p"};
};

TEST_F(ErrorFileTest, EachLineHasAKindOfItsOwn) {
  EXPECT_EQ(error_file_.first_line(), "");
  report_error("Call", RecorderErrorKind::range_left_out);
  report_error("CUDA is not recorded: no driver");
  report_error("recording into p stops here: the disk is full", RecorderErrorKind::stopped,
               "the disk is full");
  EXPECT_EQ(error_file_.first_line(), "CUDA is not recorded: no driver");
  EXPECT_EQ(error_file_.why_stopped(), "the disk is full");
  EXPECT_THAT(error_file_.ranges_left_out(), ElementsAre("Call"));
}

// A profile can have any name, so the name must not decide what kind of line it is in.
TEST_F(ErrorFileTest, ATextThatResemblesAnotherKindIsText) {
  report_error("range left out: /data/run 7 stops here: /p.peak is not recorded");
  EXPECT_EQ(error_file_.first_line(), "range left out: /data/run 7 stops here: /p.peak is not recorded");
  EXPECT_EQ(error_file_.why_stopped(), "");
  EXPECT_THAT(error_file_.ranges_left_out(), IsEmpty());
}

TEST_F(ErrorFileTest, ALineWithoutAKindIsRead) {
  std::ofstream(error_file_.path()) << "CUDA is not recorded: an older recorder says so\n\nx\ty\n";
  EXPECT_EQ(error_file_.first_line(), "CUDA is not recorded: an older recorder says so");
  EXPECT_EQ(error_file_.why_stopped(), "");
}

}  // namespace
}  // namespace peakmark
