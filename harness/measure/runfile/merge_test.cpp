#include "measure/runfile/merge.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "measure/runfile/sample_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

NamedRun shard(int index, int count, const std::vector<std::string>& names) {
  NamedRun named{"part" + std::to_string(index) + ".json", example_run()};
  RunContext& context = named.run.context;
  context.shard = Shard{index, count};
  PlannedCase planned = context.planned.front();
  context.planned.clear();
  named.run.observations.clear();
  for (const std::string& name : names) {
    planned.name = name;
    context.planned.push_back(planned);
    named.run.observations.push_back(example_observation(name));
  }
  context.host_name = "host" + std::to_string(index);
  context.warnings = {"of all", "of " + std::to_string(index)};
  context.environment = {{"same", "x"}, {"different", std::to_string(index)}};
  return named;
}

std::string error_of(const std::vector<NamedRun>& shards) {
  try {
    merge_runs(shards);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Merge, PutsTheCasesInTheSuitesOrder) {
  const peakmark::Run merged =
      merge_runs({shard(2, 3, {"b", "e"}), shard(3, 3, {"c"}), shard(1, 3, {"a", "d"})});
  std::vector<std::string> planned;
  for (const PlannedCase& one : merged.context.planned) planned.push_back(one.name);
  std::vector<std::string> measured;
  for (const Observation& one : merged.observations) measured.push_back(one.case_name);
  EXPECT_THAT(planned, ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_EQ(measured, planned);
  EXPECT_TRUE(merged.context.complete);
  EXPECT_FALSE(merged.context.shard);
  EXPECT_FALSE(merged.context.reference.first_ns);
  EXPECT_EQ(merged.context.host_name, "host1+host2+host3");
  EXPECT_THAT(merged.context.warnings, ElementsAre("of all", "of 1", "of 2", "of 3"));
  EXPECT_EQ(merged.context.environment, (std::map<std::string, std::string>{{"same", "x"}}));
  EXPECT_EQ(merged.context.suite_files, std::vector<std::string>{"suites/nightly.toml"});
  EXPECT_NE(merged.context.id, example_run().context.id);
}

TEST(Merge, FilesOfTheSuiteThatDifferAreUnknown) {
  NamedRun elsewhere = shard(2, 2, {"b"});
  elsewhere.run.context.suite_files = {{"nightly.toml"}};
  EXPECT_EQ(merge_runs({shard(1, 2, {"a"}), elsewhere}).context.suite_files, std::nullopt);
}

NamedRun balanced_shard(int index, int count, const std::vector<std::string>& names,
                        const std::vector<std::int64_t>& places) {
  NamedRun named = shard(index, count, names);
  named.run.context.shard->places = places;
  return named;
}

TEST(Merge, PutsTheCasesOfBalancedShardsInTheSuitesOrder) {
  const peakmark::Run merged = merge_runs({balanced_shard(1, 3, {"b"}, {1}), balanced_shard(3, 3, {}, {}),
                                           balanced_shard(2, 3, {"a", "c", "d"}, {0, 2, 3})});
  std::vector<std::string> measured;
  for (const Observation& one : merged.observations) measured.push_back(one.case_name);
  EXPECT_THAT(measured, ElementsAre("a", "b", "c", "d"));
}

TEST(Merge, RefusesShardsOfDifferentBalances) {
  const NamedRun first = balanced_shard(1, 2, {"a", "c"}, {0, 2});
  EXPECT_THAT(error_of({first, shard(2, 2, {"b"})}), HasSubstr("another --balance"));
  EXPECT_THAT(error_of({first, balanced_shard(2, 2, {"c"}, {2})}), HasSubstr("which another part has too"));
  EXPECT_THAT(error_of({first, balanced_shard(2, 2, {"d"}, {3})}), HasSubstr("balanced by different runs"));
  EXPECT_THAT(error_of({first, balanced_shard(2, 2, {"d"}, {1, 3})}), HasSubstr("2 elements for 1 case"));
}

TEST(Merge, TheSameShardsGiveTheSameIdInAnyOrder) {
  NamedRun one = shard(1, 2, {"a"});
  one.run.context.id = "20260131T020000Z-0000000000000001";
  const std::string id = merge_runs({one, shard(2, 2, {"b"})}).context.id;
  EXPECT_THAT(id, testing::MatchesRegex("[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}"));
  EXPECT_EQ(merge_runs({shard(2, 2, {"b"}), one}).context.id, id);
  one.run.context.id = "20260131T020000Z-0000000000000002";
  EXPECT_NE(merge_runs({one, shard(2, 2, {"b"})}).context.id, id) << "measured again";
}

TEST(Merge, WhatDiffersBetweenMachinesIsUnknownOfTheWhole) {
  NamedRun other = shard(2, 2, {"b"});
  EXPECT_EQ(merge_runs({shard(1, 2, {"a"}), other}).context.largest_allocation_bytes, 31);
  other.run.context.device_memory_bytes = 124;
  other.run.context.largest_allocation_bytes.reset();
  other.run.context.clocks.sm_mhz = 345;
  const RunContext merged = merge_runs({shard(1, 2, {"a"}), other}).context;
  EXPECT_EQ(merged.device_memory_bytes, std::nullopt);
  EXPECT_EQ(merged.largest_allocation_bytes, std::nullopt);
  EXPECT_EQ(merged.clocks, Clocks{});
}

TEST(Merge, KeepsTheGoodShardsIfOthersAreMissing) {
  const auto names = [](const peakmark::Run& run) {
    std::vector<std::string> names;
    for (const PlannedCase& one : run.context.planned) names.push_back(one.name);
    for (const Observation& one : run.observations) names.push_back("measured " + one.case_name);
    return names;
  };
  const auto partial = [](const peakmark::Run& run) { return run.context.partial; };
  const peakmark::Run merged = merge_runs({shard(3, 3, {"c"}), shard(1, 3, {"a", "d"})});
  EXPECT_THAT(names(merged), ElementsAre("a", "c", "d", "measured a", "measured c", "measured d"));
  EXPECT_EQ(partial(merged), "shard 2 of 3 is missing");
  EXPECT_FALSE(merged.context.complete);
  EXPECT_EQ(partial(merge_runs({shard(2, 5, {"b"}), shard(4, 5, {"d"})})), "shards 1,3,5 of 5 are missing");
  EXPECT_EQ(partial(merge_runs({balanced_shard(1, 2, {"b", "d"}, {1, 3})})), "shard 2 of 2 is missing");

  NamedRun cut = shard(2, 3, {"b", "e"});
  cut.run.observations.pop_back();
  const peakmark::Run unfinished = merge_runs({shard(1, 3, {"a", "d"}), cut, shard(3, 3, {"c"})});
  EXPECT_THAT(names(unfinished),
              ElementsAre("a", "b", "c", "d", "e", "measured a", "measured b", "measured c", "measured d"));
  EXPECT_EQ(partial(unfinished), "shard 2 of 3 is unfinished");
  EXPECT_EQ(partial(merge_runs({shard(1, 3, {"a", "d"}), cut})),
            "shard 3 of 3 is missing, shard 2 of 3 is unfinished");
  const peakmark::Run whole =
      merge_runs({shard(1, 3, {"a", "d"}), shard(2, 3, {"b", "e"}), shard(3, 3, {"c"})});
  EXPECT_EQ(whole.context.partial, "");
  EXPECT_TRUE(whole.context.complete);
  EXPECT_NE(whole.context.id, unfinished.context.id) << "a history has both";
}

TEST(Merge, NamesTheCasesOfAMissingShard) {
  const auto knowing = [](NamedRun named, const std::vector<std::string>& others) {
    named.run.context.shard->other_cases = others;
    return named;
  };
  const NamedRun one = knowing(shard(1, 3, {"a", "d"}), {"b", "c", "e"});
  const NamedRun three = knowing(shard(3, 3, {"c"}), {"a", "b", "d", "e"});
  const RunContext merged = merge_runs({three, one}).context;
  EXPECT_EQ(merged.partial, "shard 2 of 3 is missing (2 cases: b, e)");
  EXPECT_THAT(merged.lost_cases, ElementsAre("b", "e"));
  EXPECT_EQ(merge_runs({one}).context.partial, "shards 2,3 of 3 are missing (3 cases: b, c, e)");
  const NamedRun two = knowing(shard(2, 3, {"b", "e"}), {"a", "c", "d"});
  EXPECT_THAT(merge_runs({one, two, three}).context.lost_cases, testing::IsEmpty());

  NamedRun cut = two;
  cut.run.observations.clear();
  EXPECT_EQ(merge_runs({one, cut}).context.partial,
            "shard 3 of 3 is missing (1 case: c), shard 2 of 3 is unfinished");
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i) many.push_back("c" + std::to_string(i));
  const RunContext large = merge_runs({knowing(shard(1, 2, {"a"}), many)}).context;
  EXPECT_EQ(large.partial, "shard 2 of 2 is missing (300 cases: c0, c1, c2 and 297 more)");
  EXPECT_EQ(large.lost_cases.size(), kMaxLostCases);
}

TEST(Merge, RefusesWhatIsNoShard) {
  NamedRun whole = shard(1, 1, {"a"});
  whole.run.context.shard.reset();
  EXPECT_THAT(error_of({whole}), HasSubstr("is not a shard"));
  EXPECT_THAT(error_of({}), HasSubstr("nothing to merge"));
}

TEST(Merge, RefusesDuplicates) {
  EXPECT_THAT(error_of({shard(1, 2, {"a"}), shard(1, 2, {"a"})}), HasSubstr("are both part 1"));
  EXPECT_THAT(error_of({shard(1, 2, {"a"}), shard(2, 2, {"a"})}), HasSubstr("which another part has too"));
  NamedRun twice = shard(1, 1, {"a"});
  twice.run.observations.push_back(twice.run.observations.front());
  EXPECT_THAT(error_of({twice}), HasSubstr("a twice"));
}

TEST(Merge, RefusesMixtures) {
  const auto mixed = [](auto&& change) {
    NamedRun other = shard(2, 2, {"b"});
    change(other.run.context);
    return error_of({shard(1, 2, {"a"}), other});
  };
  EXPECT_EQ(mixed([](RunContext&) {}), "no error");
  EXPECT_THAT(mixed([](RunContext& context) { context.device = "H200"; }),
              AllOf(HasSubstr("another device"), HasSubstr("H200")));
  EXPECT_THAT(mixed([](RunContext& context) { context.driver = "9"; }), HasSubstr("another driver"));
  EXPECT_THAT(mixed([](RunContext& context) { context.backend = "cuda"; }), HasSubstr("another backend"));
  EXPECT_THAT(mixed([](RunContext& context) { context.commit = "ff"; }), HasSubstr("another commit"));
  EXPECT_THAT(mixed([](RunContext& context) { context.fingerprint = "ff"; }), HasSubstr("another suite"));
  EXPECT_THAT(mixed([](RunContext& context) { context.filter = "x"; }), HasSubstr("another --filter"));
  EXPECT_THAT(mixed([](RunContext& context) { context.memory_only = false; }), HasSubstr("passes"));
  EXPECT_THAT(mixed([](RunContext& context) { context.max_allocation_bytes = 1; }),
              HasSubstr("another --max-allocation"));
  EXPECT_THAT(mixed([](RunContext& context) { context.shard->count = 4; }), HasSubstr("number of shards"));
}

// The clocks of two nodes differ. The merged run has the earliest date of its shards, whichever clock it is
// from.
TEST(Merge, TheEarliestDateIsThatOfTheRun) {
  NamedRun one = shard(1, 2, {"a"});
  NamedRun two = shard(2, 2, {"b"});
  one.run.context.date = "2026-01-31T02:00:00Z";
  two.run.context.date = "2026-01-29T23:59:59Z";
  EXPECT_EQ(merge_runs({one, two}).context.date, "2026-01-29T23:59:59Z");
  EXPECT_EQ(merge_runs({two, one}).context.date, "2026-01-29T23:59:59Z");
  EXPECT_EQ(merge_runs({one, two}).context.id, merge_runs({two, one}).context.id);
}

// So neither `merge` nor `--resume` puts cold and hot times into one run.
TEST(FirstDifference, IsTheCacheThatWasAskedFor) {
  RunContext one;
  RunContext other;
  EXPECT_FALSE(first_difference(one, other));
  other.asked_cache = "cold";
  ASSERT_TRUE(first_difference(one, other));
  EXPECT_EQ(first_difference(one, other)->what, std::string("--cache"));
}

// Two hosted runners have different CPUs.
TEST(Merge, ShardsOfADeviceClassMayBeOfSeveralDevices) {
  const auto of_class = [](NamedRun named, const std::string& device) {
    named.run.context.device_class = "hosted-cpu";
    named.run.context.device = device;
    for (Observation& one : named.run.observations) one.device = device;
    return named;
  };
  const NamedRun one = of_class(shard(1, 2, {"a"}), "cpu-znver3-AMD EPYC 7763");
  const NamedRun other = of_class(shard(2, 2, {"b"}), "cpu-icelake-server-Intel(R) Xeon(R)");
  const peakmark::Run merged = merge_runs({one, other});
  EXPECT_EQ(merged.context.device, "cpu-znver3-AMD EPYC 7763+cpu-icelake-server-Intel(R) Xeon(R)");
  EXPECT_EQ(merged.context.device_class, "hosted-cpu");
  EXPECT_EQ(merged.context.filed_under(), "hosted-cpu");
  EXPECT_NE(time_method(merged.observations[0]), time_method(merged.observations[1]))
      << "times of different devices are never compared";
  NamedRun unfiled = other;
  unfiled.run.context.device_class.clear();
  EXPECT_THAT(error_of({one, unfiled}), HasSubstr("another --device-class"));
}

}  // namespace
}  // namespace peakmark
