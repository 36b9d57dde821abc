#include "measure/external/note_on_marks.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

TEST(NoteOnMarks, MarksInOrderHaveNoNote) {
  EXPECT_EQ(note_on_marks({}, {}), "");
  EXPECT_EQ(note_on_marks({"call"}, {}), "");
  EXPECT_EQ(note_on_marks({"setup", "inputs", "outputs", "warm-up", "call", "call/fft", "end"}, {}), "");
  EXPECT_EQ(note_on_marks({"benchmark/call"}, {}), "");
  EXPECT_EQ(note_on_marks({"call", "send", "wall", "load", "call/Input"}, {}), "")
      << "names of the program's own";
}

TEST(NoteOnMarks, WithoutACallTheNoteListsTheMarks) {
  EXPECT_EQ(
      note_on_marks({"inputs", "Call"}, {}),
      "measured whole: the program marks 'inputs', 'Call', but no 'call'; did you mean 'call' by 'Call'?");
  EXPECT_EQ(note_on_marks({"fft", "filter"}, {}),
            "measured whole: the program marks 'fft', 'filter', but no 'call'");
  EXPECT_EQ(note_on_marks({"input", "cal/fft"}, {}),
            "measured whole: the program marks 'input', 'cal/fft', but no 'call'; did you mean 'inputs' by "
            "'input', "
            "'call' by 'cal'?");
  EXPECT_EQ(note_on_marks({}, {"calls"}),
            "measured whole: the program marks 'calls', but no 'call'; did you mean 'call' by 'calls'?");
  EXPECT_EQ(
      note_on_marks({"1", "2", "3", "4", "5", "6", "7", "8", "9", "\x1b[2J"}, {}),
      "measured whole: the program marks '1', '2', '3', '4', '5', '6', '7', '8' and 2 more, but no 'call'");
}

TEST(NoteOnMarks, BesideACallMisspeltWordsAreNamed) {
  EXPECT_EQ(note_on_marks({"input", "call"}, {}),
            "unknown phase: the phases of a suite are setup, inputs, outputs, call and end; did you mean "
            "'inputs' by 'input'?");
  EXPECT_EQ(note_on_marks({"call", "End"}, {"Outputs"}),
            "unknown phase: the phases of a suite are setup, inputs, outputs, call and end; did you mean "
            "'end' by 'End', "
            "'outputs' by 'Outputs'?");
  EXPECT_EQ(note_on_marks({"inputs", "input", "call"}, {}), "") << "the program knows the word";
}

}  // namespace
}  // namespace peakmark
