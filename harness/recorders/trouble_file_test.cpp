#include "recorders/trouble_file.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>

#include "base/temporary_folder.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TroubleFileTest : public testing::Test {
 protected:
  TroubleFileTest() { ::setenv("PEAKMARK_TROUBLE", told_.path().c_str(), 1); }
  ~TroubleFileTest() override { ::unsetenv("PEAKMARK_TROUBLE"); }
  TroubleFileTest(const TroubleFileTest&) = delete;
  TroubleFileTest& operator=(const TroubleFileTest&) = delete;

  const TemporaryFolder folder_;
  const TroubleFile told_{folder_.path() / "p"};
};

TEST_F(TroubleFileTest, EachLineHasAKindOfItsOwn) {
  EXPECT_EQ(told_.first_line(), "");
  tell_trouble("Call", Trouble::range_left_out);
  tell_trouble("CUDA is not recorded: no driver");
  tell_trouble("recording into p stops here: the disk is full", Trouble::stopped, "the disk is full");
  EXPECT_EQ(told_.first_line(), "CUDA is not recorded: no driver");
  EXPECT_EQ(told_.why_stopped(), "the disk is full");
  EXPECT_THAT(told_.ranges_left_out(), ElementsAre("Call"));
}

// The name of a profile is anybody's: no text in it decides what a line means.
TEST_F(TroubleFileTest, ATextThatLooksLikeAnotherKindIsNone) {
  tell_trouble("range left out: /data/run 7 stops here: /p.peak is not recorded");
  EXPECT_EQ(told_.first_line(), "range left out: /data/run 7 stops here: /p.peak is not recorded");
  EXPECT_EQ(told_.why_stopped(), "");
  EXPECT_THAT(told_.ranges_left_out(), IsEmpty());
}

TEST_F(TroubleFileTest, ALineWithoutAKindIsRead) {
  std::ofstream(told_.path()) << "CUDA is not recorded: an older recorder says so\n\nx\ty\n";
  EXPECT_EQ(told_.first_line(), "CUDA is not recorded: an older recorder says so");
  EXPECT_EQ(told_.why_stopped(), "");
}

}  // namespace
}  // namespace peakmark
