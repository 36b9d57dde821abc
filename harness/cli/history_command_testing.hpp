#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command_testing.hpp"

namespace peakmark {

/// CommandTest with a run of two cases, and a SQLite file to add it to.
class HistoryTest : public CommandTest {
 protected:
  void SetUp() override {
#ifndef PEAKMARK_HAS_HISTORY
    GTEST_SKIP() << "built without histories";
#endif
    suite({"ok", "ok"});
    ASSERT_EQ(run().end.exit_code, 0);
  }

  /// Runs a command on that history.
  Answer on_history(std::string command, std::vector<std::string> words) const {
    words.insert(words.begin(), std::move(command));
    words.insert(words.end(), {"--history", file_});
    return peakmark(std::move(words));
  }

  std::string file_ = folder_.path() / "history.db";
};

}  // namespace peakmark
