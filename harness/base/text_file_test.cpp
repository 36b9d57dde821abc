#include "base/text_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <istream>
#include <stdexcept>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

class TextFile : public testing::Test {
 protected:
  const TemporaryFolder temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
  const std::filesystem::path path_ = folder_ / "file";
  const std::filesystem::path owner_ = folder_ / "named";
};

TEST_F(TextFile, ReplacingLeavesTheOldOneOnAFullDisk) {
  replace_text_file(path_, "old");
  {
    const FullDisk full(8);
    EXPECT_THROW(replace_text_file(path_, "new and too long for the disk"), IoError);
  }
  EXPECT_EQ(read_text_file(path_), "old");
  replace_text_file(path_, "new");
  EXPECT_EQ(read_text_file(path_), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(TextFile, ReplacingFollowsNoLinkThatSomebodyPutBeside) {
  // The name must be new, whatever it is made of. Here all names with the id of this process are taken.
  const std::filesystem::path theirs = folder_ / "theirs";
  replace_text_file(theirs, "theirs");
  std::filesystem::create_symlink(theirs, path_.string() + ".new-" + std::to_string(::getpid()));
  replace_text_file(path_, "ours");
  EXPECT_EQ(read_text_file(theirs), "theirs");
  EXPECT_EQ(read_text_file(path_), "ours");
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
}

TEST_F(TextFile, ReplacingNeedsAFolder) {
  EXPECT_THROW(replace_text_file(folder_ / "absent" / "file", "text"), IoError);
}

TEST_F(TextFile, LinesAreNotAddedBehindALink) {
  const std::filesystem::path theirs = folder_ / "theirs";
  replace_text_file(theirs, "theirs\n");
  std::filesystem::create_symlink(theirs, path_);
  EXPECT_THROW(LineFile(path_, owner_, "in use"), IoError);
  EXPECT_EQ(read_text_file(theirs), "theirs\n");
}

TEST_F(TextFile, ALineThatDoesNotFitIsTakenBack) {
  LineFile file(path_, owner_, "in use");
  file.append("first");
  {
    const FullDisk full(10);
    EXPECT_THROW(file.append("second"), IoError);
  }
  EXPECT_EQ(read_text_file(path_), "first\n");
  file.append("third");
  EXPECT_EQ(file.take_whole_lines(), "first\nthird\n");
}

TEST_F(TextFile, WithoutSpaceForTheFirstLineThereIsNoFile) {
  const FullDisk full(100);
  try {
    const LineFile file(path_, owner_, "in use");
    FAIL() << "the disk is full";
  } catch (const IoError& error) {
    EXPECT_EQ(error.what(), owner_.string() + ": cannot write file next to it: File too large");
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(TextFile, OnAFullDiskTheWrittenLinesStay) {
  std::ofstream(path_) << "one\n";
  const FullDisk full(100);
  EXPECT_THROW(LineFile(path_, owner_, "in use"), IoError);
  EXPECT_EQ(read_text_file(path_), "one\n");
}

TEST_F(TextFile, OnlyAFileIsReplaced) {
  EXPECT_THROW(replace_text_file(folder_, "text"), UsageError);
  EXPECT_THROW(replace_text_file(folder_ / "", "text"), UsageError);
  const std::filesystem::path fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THROW(replace_text_file(fifo, "text"), UsageError);
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
}

TEST_F(TextFile, HalfALineIsCutOff) {
  std::ofstream(path_) << "one\ntwo\nthr";
  LineFile file(path_, owner_, "in use");
  EXPECT_EQ(file.take_whole_lines(), "one\ntwo\n");
  file.append("three");
  EXPECT_EQ(read_text_file(path_), "one\ntwo\nthree\n");
}

// The text is longer than what is read at once.
TEST_F(TextFile, HalfOfALongLineIsCutOff) {
  const std::string half(1'000'000, 'x');
  for (const std::string& whole : {std::string(), std::string("one\n"), std::string(300'000, 'y') + "\n"}) {
    std::ofstream(path_) << whole << half;
    LineFile file(path_, owner_, "in use");
    EXPECT_EQ(file.is_empty(), false);
    file.cut_half_line();
    EXPECT_EQ(std::filesystem::file_size(path_), whole.size());
    file.cut_half_line();
    EXPECT_TRUE(file.take_whole_lines() == whole);
  }
}

TEST_F(TextFile, ALineInPiecesIsWholeOrNotThere) {
  LineFile file(path_, owner_, "in use");
  const std::string piece(200'000, 'x');
  file.append([&](const TextSink& sink) {
    for (int i = 0; i < 3; ++i) sink(piece);
  });
  const std::string line = piece + piece + piece + "\n";
  EXPECT_TRUE(read_text_file(path_) == line);
  const auto fails = [&](const TextSink& sink) {
    for (int i = 0; i < 3; ++i) sink(piece);
    throw std::runtime_error("no more");
  };
  EXPECT_THROW(file.append(fails), std::runtime_error);
  EXPECT_TRUE(read_text_file(path_) == line);
  {
    const FullDisk full(1'000'000);
    EXPECT_THROW(file.append([&](const TextSink& sink) { sink(line); }), IoError);
  }
  EXPECT_TRUE(read_text_file(path_) == line);
}

TEST_F(TextFile, ReplacingInPiecesLeavesTheOldOneWhenTheyEndEarly) {
  replace_text_file(path_, "old");
  const std::string piece(300'000, 'x');
  const auto fails = [&](const TextSink& sink) {
    sink(piece);
    throw std::runtime_error("no more");
  };
  EXPECT_THROW(replace_text_file(path_, fails), std::runtime_error);
  {
    const FullDisk full(500'000);
    const auto writes = [&](const TextSink& sink) {
      sink(piece);
      sink(piece);
    };
    EXPECT_THROW(replace_text_file(path_, writes), IoError);
  }
  EXPECT_EQ(read_text_file(path_), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  replace_text_file(path_, [&](const TextSink& sink) {
    sink(piece);
    sink("end");
  });
  EXPECT_TRUE(read_text_file(path_) == piece + "end");
}

TEST_F(TextFile, ABufferKnowsThePlaceOfAByte) {
  const std::string text = "one\n" + std::string(600'000, 'x') + "\nthree";
  std::ofstream(path_) << " \n\t" << text;
  FileBuffer file(path_);
  std::istream in(&file);
  EXPECT_EQ(file.bytes(), 0u);
  EXPECT_TRUE(file.is_blank());
  std::string read;
  std::getline(in, read);
  EXPECT_EQ(file.place_of(0), "line 1, column 0");
  EXPECT_EQ(file.place_of(2), "line 2, column 0");
  EXPECT_EQ(file.place_of(5), "line 2, column 3");
  EXPECT_EQ(file.place_of(10), "line 3, column 3");
  EXPECT_FALSE(file.is_blank());
  while (std::getline(in, read)) continue;
  EXPECT_EQ(read, "three");
  EXPECT_EQ(file.bytes(), text.size() + 3);
  EXPECT_EQ(file.place_of(file.bytes()), "line 4, column 5");
  EXPECT_THROW(FileBuffer(folder_ / "absent"), IoError);
  FileBuffer no_file(folder_);
  EXPECT_THROW(no_file.sgetc(), IoError) << "a folder is opened, and cannot be read";
}

TEST_F(TextFile, IsHeldByOneAtATime) {
  {
    const LineFile file(path_, owner_, "in use");
    EXPECT_THROW(LineFile(path_, owner_, "another one writes it"), UsageError);
  }
  LineFile again(path_, owner_, "in use");
  again.remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
  const LineFile fresh(path_, owner_, "in use");
}

}  // namespace
}  // namespace peakmark
