#include "record/profile/call_sites.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/profile/call_frames_testing.hpp"

namespace peakmark {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// Returns the sites of call chains that allocate the same bytes, in the order of the chains.
std::vector<std::string> sites(const std::vector<std::string>& chains, std::size_t frames = 0) {
  std::map<std::string, double> bytes;
  for (const std::string& chain : chains) bytes[chain] = 1;
  const auto named = short_call_sites(bytes, frames);
  std::vector<std::string> all;
  for (const std::string& chain : chains) all.push_back(named.at(chain));
  return all;
}

TEST(ShortCallSites, AreTheInnermostLinesOfTheUser) {
  // Three arrays of pyopencl.
  EXPECT_THAT(sites({"pyopencl/array.py:653 < pyopencl/array.py:2410 < main.py:4",
                     "pyopencl/array.py:653 < pyopencl/array.py:2410 < main.py:5",
                     "pyopencl/array.py:653 < pyopencl/array.py:900 < main.py:6"}),
              ElementsAre("main.py:4", "main.py:5", "main.py:6"));
  EXPECT_THAT(sites({"pyopencl/array.py:653 < main.py:4 < <frozen runpy>:88"}), ElementsAre("main.py:4"));
  EXPECT_THAT(sites({"Filter::make < main"}), ElementsAre("Filter::make"));
  EXPECT_THAT(sites({"fftwf_plan (libfftw3f.so.3) < libmine.so+0x12 < main"}), ElementsAre("main"));
  EXPECT_THAT(sites({"", "main.py:4"}), ElementsAre("", "main.py:4"));
}

TEST(ShortCallSites, OfOneLineDifferByWhatItCalled) {
  EXPECT_THAT(
      sites({"pyopencl/array.py:653 < pyopencl/array.py:2410 < main.py:4",
             "pyopencl/array.py:653 < pyopencl/array.py:900 < main.py:4", "cupy/core.py:1 < main.py:5"}),
      ElementsAre("pyopencl/array.py:2410 < main.py:4", "pyopencl/array.py:900 < main.py:4", "main.py:5"));
  // What is called before they differ says nothing.
  EXPECT_THAT(
      sites({"a/x.py:1 < a/y.py:2 < a/z.py:3 < main.py:4", "a/x.py:9 < a/y.py:2 < a/z.py:3 < main.py:4",
             "a/y.py:5 < a/z.py:3 < main.py:4", "a/z.py:3 < main.py:4"}),
      ElementsAre("a/x.py:1 < main.py:4", "a/x.py:9 < main.py:4", "a/y.py:5 < main.py:4", "main.py:4"));
  EXPECT_THAT(
      sites({"Trees::grow (lib_trees.so) < trees/basic.py:3 < train.py:7",
             "Trees::split (lib_trees.so) < trees/basic.py:3 < train.py:7"}),
      ElementsAre("Trees::grow (lib_trees.so) < train.py:7", "Trees::split (lib_trees.so) < train.py:7"));
  // The same frames inside, other callers: one site.
  EXPECT_THAT(sites({"a/x.py:1 < step.py:5 < main.py:1", "a/x.py:2 < other.py:5 < main.py:1",
                     "a/x.py:1 < step.py:5 < main.py:2", "a/x.py:3 < third.py:5"}),
              ElementsAre("step.py:5", "other.py:5", "step.py:5", "third.py:5"));
}

TEST(ShortCallSites, SkipTheUsersWrappers) {
  EXPECT_THAT(sites({"pyopencl/array.py:9 < helper.py:3 < main.py:10",
                     "pyopencl/array.py:9 < helper.py:3 < main.py:20", "pyopencl/array.py:9 < main.py:30"}),
              ElementsAre("main.py:10", "main.py:20", "main.py:30"));
  EXPECT_THAT(sites({"pyopencl/array.py:9 < helper.py:3 < main.py:10"}), ElementsAre("helper.py:3"))
      << "one caller: it adds nothing";
}

TEST(ShortCallSites, HaveTheUsersLineBehindTheUsersFunction) {
  EXPECT_THAT(sites({"Buffer::make < Trees::grow < Booster < train.py:3",
                     "Buffer::make < Trees::split < Booster < train.py:3", "load.py:7 < train.py:1"}),
              ElementsAre("Trees::grow < train.py:3", "Trees::split < train.py:3", "load.py:7"));
}

TEST(ShortCallSites, OfPackagesAloneAreTheOutermostCallsThatDiffer) {
  const std::string start = " < httomo/runner.py:100 < click/core.py:7 < httomo/cli.py:3 < bin/httomo:8";
  EXPECT_THAT(
      sites(
          {"cupy/core.py:1 < cupy/core.py:2 < httomolibgpu/stripe.py:88" + start,
           "cupy/core.py:1 < cupy/core.py:2 < httomolibgpu/stripe.py:99" + start,
           "cupy/core.py:1 < cupy/core.py:2 < httomolibgpu/phase.py:5 < python3.11/functools.py:3" + start}),
      ElementsAre("httomolibgpu/stripe.py:88", "httomolibgpu/stripe.py:99", "httomolibgpu/phase.py:5"));
  EXPECT_THAT(sites({"tinygrad/device.py:1 < tinygrad/realize.py:2 < <frozen runpy>:88"}),
              ElementsAre("tinygrad/realize.py:2"));
  EXPECT_THAT(sites({"<frozen runpy>:88 < python3.11/runpy.py:3"}), ElementsAre("<frozen runpy>:88"));
  EXPECT_THAT(sites({"work (libblas.so.3) < start_thread (libc.so.6)"}), ElementsAre("work (libblas.so.3)"));
}

TEST(ShortCallSites, WithFramesAreTheInnermostOnesAndTheUsersLine) {
  const std::string chain =
      "Buffer::make (_cl.so) < Buffer (_cl.so) < pyopencl/array.py:653 < pyopencl/array.py:2410 < main.py:4";
  EXPECT_THAT(sites({chain}, 1), ElementsAre("Buffer::make (_cl.so) < pyopencl/array.py:653 < main.py:4"));
  EXPECT_THAT(sites({chain}, 2), ElementsAre(chain));
  EXPECT_THAT(sites({chain}, 9), ElementsAre(chain));
  EXPECT_THAT(sites({"a < b < main"}, 2), ElementsAre("a < b"));
}

std::vector<std::string> own_sites(const std::map<std::string, double>& chains) {
  std::vector<std::string> all;
  for (const auto& [chain, site] : short_call_sites(chains)) all.push_back(site);
  return all;
}

TEST(ShortCallSites, WeighChainsAndBytes) {
  // A wrapper has three of five chains,
  EXPECT_THAT(own_sites({{"w < a", 0}, {"w < b", 0}, {"w < c", 0}, {"d", 0}, {"e", 0}}),
              UnorderedElementsAre("a", "b", "c", "d", "e"));
  // or most bytes,
  EXPECT_THAT(own_sites({{"w < a", 60}, {"w < b", 50}, {"c", 10}, {"d", 10}, {"e", 10}}),
              UnorderedElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(own_sites({{"w < a", 10}, {"w < b", 10}, {"c", 10}, {"d", 10}, {"e", 10}}),
              Contains("w").Times(2));
  // and is not the outermost frame.
  EXPECT_THAT(own_sites({{"w < v < a", 1}, {"w < v < b", 1}, {"w", 1}}), UnorderedElementsAre("a", "b", "w"));
  EXPECT_THAT(own_sites({}), IsEmpty());
}

TEST(OwnLines, AreTheUsersPartOfAChain) {
  EXPECT_EQ(own_lines("pyopencl/array.py:636 < sharpen.py:12 < peakmark/marks.py:158 < sharpen.py:15"),
            "sharpen.py:12 < sharpen.py:15");
  EXPECT_EQ(own_lines("pyopencl/array.py:636 < httomo/run.py:12"), "httomo/run.py:12");
  EXPECT_EQ(own_lines("a.py:1 < a.py:2 < a.py:3 < a.py:4 < a.py:5"), "a.py:1 < a.py:2 < a.py:3 < a.py:4");
  EXPECT_EQ(own_lines(""), "");
}

TEST(SiteFrames, AreThoseOfTheCallChain) {
  const std::string stack =
      "P\tzeros\t2410\t/v/lib/python3.11/site-packages/pyopencl/array.py\n"
      "P\tmain\t4\t/home/me/main.py\n"
      "N\tclCreateBuffer\t0\t/lib/libOpenCL.so.1\t10\n"
      "N\tmake\t0\t/v/lib/python3.11/site-packages/pyopencl/_cl.so\t20\n"
      "N\tgrow\t0\t/home/me/libtrees.so\t30\n"
      "N\t_PyEval_EvalFrameDefault\t0\t/usr/bin/python3.11\t70\n";
  const auto frames = site_frames(caller_frames(parse_stack(stack, nullptr)));
  std::vector<std::pair<std::string, std::string>> texts;
  for (const SiteFrame& one : frames) texts.emplace_back(one.text, one.package);
  EXPECT_THAT(texts,
              ElementsAre(Pair("make (_cl.so)", "_cl.so"), Pair("grow (libtrees.so)", ""),
                          Pair("zeros pyopencl/array.py:2410", "pyopencl"), Pair("main main.py:4", "")));
  EXPECT_THAT(name_sites({{frames, 1}}), ElementsAre(ElementsAre(1, 3)));
  EXPECT_EQ(call_chain(stack, nullptr), "make (_cl.so) < grow < pyopencl/array.py:2410 < main.py:4");
  EXPECT_THAT(sites({call_chain(stack, nullptr)}), ElementsAre("grow < main.py:4"));
}

}  // namespace
}  // namespace peakmark
