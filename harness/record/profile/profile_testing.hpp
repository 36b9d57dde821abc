#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/profile_writer.hpp"

namespace peakmark {

/// A writer that is never destroyed, as in a recorder (0.5 MiB); kept, so that it is no leak.
inline ProfileWriter& new_writer() {
  static auto& writers = *new std::vector<ProfileWriter*>;
  return *writers.emplace_back(new ProfileWriter);
}

/// Runs `body` in a child, as a recorded program would be; gives its wait status.
inline int in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

inline std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class Profile : public testing::Test {
 protected:
  std::string base() const { return folder_.path() / "p"; }
  std::string own() const { return base() + "." + std::to_string(getpid()); }

  TemporaryFolder folder_;
  ProfileWriter& writer_ = new_writer();
};

}  // namespace peakmark
