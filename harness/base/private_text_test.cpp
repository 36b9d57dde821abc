#include "base/private_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace peakmark {
namespace {

const PrivateTexts kTexts{{{"/home/ada/my project", ""}, {"/home/ada", "~"}},
                          {{"nvapi-0123456789", "$NVIDIA_API_KEY"}},
                          {{"gpu-node-7", "HOST"}, {"ada", "USER"}}};

std::string shown(std::string_view text) {
  return public_text(text, kTexts);
}

TEST(PrivateText, PathsOfAPersonAreRelative) {
  EXPECT_EQ(shown("/home/ada/my project/theirs.py:12: no"), "theirs.py:12: no");
  EXPECT_EQ(shown("File \"/home/ada/my project/a b/theirs.py\", line 3"), "File \"a b/theirs.py\", line 3");
  EXPECT_EQ(shown("in /home/ada/my project: no"), "in .: no");
  EXPECT_EQ(shown("/home/ada/env/bin/python is not there"), "~/env/bin/python is not there");
  EXPECT_EQ(shown("HOME=/home/ada/"), "HOME=~/");
  EXPECT_EQ(shown("/home/adam/x.py"), "x.py");
}

TEST(PrivateText, OtherPathsKeepTheirLastPart) {
  EXPECT_EQ(shown("cannot open '/scratch/team secret/run.npy': no"), "cannot open 'run.npy': no");
  EXPECT_EQ(shown("A=/data/x/lib:/srv/y/z.so, B"), "A=lib:z.so, B");
  EXPECT_EQ(shown("file:///home/bob/plan.txt"), "file://plan.txt");
  EXPECT_EQ(shown("(/tmp/peakmark-1/out/)"), "(out)");
  EXPECT_EQ(shown("/usr/lib/x.so and /proc/self/maps"), "/usr/lib/x.so and /proc/self/maps");
}

TEST(PrivateText, WhatIsNoPathStays) {
  for (const char* const text : {"padding/coords1d/cuda/n:20", "1 GB/s", "1 / 2", "https://host/path/x",
                                 "and/or", "~/x/y", "a //b", "one / two / three", "./run/x", "", "/"}) {
    EXPECT_EQ(shown(text), text);
  }
}

TEST(PrivateText, SecretsAndNamesAreReplaced) {
  EXPECT_EQ(shown("401: key=nvapi-0123456789!"), "401: key=$NVIDIA_API_KEY!");
  EXPECT_EQ(shown("ada@gpu-node-7: canada, gpu-node-71"), "USER@HOST: canada, gpu-node-71");
}

TEST(PrivateText, AccountsOfUrlsAreHidden) {
  EXPECT_EQ(shown("no postgresql://me:se/cr@et@host/db, https://token@pypi.host/x: 401"),
            "no postgresql://…@host/db, https://…@pypi.host/x: 401");
  EXPECT_EQ(shown("https://host/pkg@1.2"), "https://host/pkg@1.2");
}

TEST(PrivateText, IsDoneOnce) {
  for (const char* const text : {"/home/ada/my project/theirs.py", "/scratch/x/y", "/home/ada/z"}) {
    EXPECT_EQ(shown(shown(text)), shown(text));
  }
}

TEST(PrivateText, ThisProcessKnowsItsOwn) {
  const std::string here = std::filesystem::current_path().string();
  const PrivateTexts texts = private_texts(
      {"HOME=/home/eve", "USER=eve", "GITHUB_TOKEN=ghp_abcdefgh", "THREADS=nvapi-123456", "SHORT_KEY=1"});
  EXPECT_EQ(public_text(here + "/x.py of /home/eve/y by eve: ghp_abcdefgh 1", texts),
            "x.py of ~/y by USER: $GITHUB_TOKEN 1");
}

TEST(PrivateText, VariablesArePublishedByNameAndForm) {
  EXPECT_TRUE(is_public_variable("CUDA_VISIBLE_DEVICES", "0,1"));
  EXPECT_TRUE(is_public_variable("POCL_MAX_PTHREAD_COUNT", "2"));
  EXPECT_FALSE(is_public_variable("NVIDIA_API_KEY", "nvapi-1"));
  EXPECT_FALSE(is_public_variable("CUDA_HOME", "cuda"));
  EXPECT_FALSE(is_public_variable("POCL_CACHE_DIR", "x"));
  EXPECT_FALSE(is_public_variable("POCL_DEVICES", "/home/ada/x"));
  EXPECT_FALSE(is_public_variable("POCL_DEVICES", std::string(200, 'x')));
  EXPECT_TRUE(is_public_fact("cpu governor", "performance"));
  EXPECT_FALSE(is_public_fact("CUDA_HOME", "/opt/cuda"));
}

TEST(PrivateText, AHostsMarkIsNotItsName) {
  char name[256] = "";
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  EXPECT_THAT(host_mark(), testing::AnyOf("", testing::MatchesRegex("host-[0-9a-f]{8}")));
  EXPECT_EQ(host_mark(), host_mark());
  EXPECT_THAT(host_mark(), testing::Not(testing::HasSubstr(name)));
}

}  // namespace
}  // namespace peakmark
