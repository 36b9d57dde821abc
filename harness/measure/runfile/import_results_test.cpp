// The files in imports/: some are from Google Benchmark 1.7.1 (run for this test), one is in its first
// format, and some are in nvbench's JSON 1.0, with values from nvbench's own test files. Names of people and
// machines are invented.
#include "measure/runfile/import_results.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text_file.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const std::filesystem::path kImports = PEAKMARK_IMPORTS;

ImportedResults import_with(const std::filesystem::path& path, const ImportOptions& options) {
  return import_results(path, options, {});
}

ImportOptions on_gpu() {
  ImportOptions options;
  options.device = "H100";
  options.backend = "cuda";
  return options;
}

class ImportResults : public testing::Test {
 protected:
  /// Imports an example in which `from` was replaced.
  ImportedResults changed(const std::string& example, const std::string& from, const std::string& to,
                          const ImportOptions& options = on_gpu()) const {
    std::string text = read_text_file(kImports / example);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return imported(text, options);
  }
  ImportedResults imported(const std::string& text, const ImportOptions& options = on_gpu()) const {
    const std::filesystem::path file = folder_.path() / "results.json";
    std::ofstream(file) << text;
    return import_with(file, options);
  }
  template <typename Import>
  static std::string refusal(Import&& import) {
    try {
      import();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "not refused";
  }

  ScratchFolder folder_;
};

const Observation& find_imported(const Run& run, std::string_view name) {
  const auto found = std::ranges::find(run.observations, name, &Observation::case_name);
  if (found == run.observations.end()) throw std::out_of_range(std::string(name));
  return *found;
}

TEST_F(ImportResults, TakesTheRepetitionsOfGoogleBenchmark) {
  const ImportedResults results = import_with(kImports / "google_benchmark_repetitions.json", on_gpu());
  ASSERT_THAT(results.runs, SizeIs(1));
  EXPECT_THAT(results.notes, SizeIs(0));
  const peakmark::Run& run = results.runs[0];
  EXPECT_EQ(run.context.date, "2021-09-30T10:04:13Z");
  EXPECT_EQ(run.context.device, "H100");
  EXPECT_EQ(run.context.suite, "blur_bench");
  EXPECT_EQ(run.context.commit, "");
  EXPECT_TRUE(run.context.complete);
  ASSERT_THAT(run.observations, SizeIs(4));
  ASSERT_THAT(run.context.planned, SizeIs(4));

  // The median, minimum and maximum of the rows, computed with Python's statistics module.
  const Observation& copy = find_imported(run, "BM_copy/n:1024");
  ASSERT_TRUE(copy.gpu_time);
  EXPECT_DOUBLE_EQ(copy.gpu_time->median_ns, 10.855933047103299);
  EXPECT_DOUBLE_EQ(copy.gpu_time->min_ns, 10.82992854158846);
  EXPECT_DOUBLE_EQ(copy.gpu_time->max_ns, 11.686141549412615);
  EXPECT_THAT(copy.gpu_time->blocks, SizeIs(3));
  EXPECT_EQ(copy.requested_peak_bytes, 2048);
  EXPECT_EQ(copy.setup_bytes, std::nullopt);
  EXPECT_EQ(copy.leaked_bytes, std::nullopt);
  EXPECT_EQ(copy.variant, "BM_copy");
  EXPECT_EQ(copy.axes.integer("n"), 1024);

  const Observation& manual = find_imported(run, "BM_manual/1/iterations:3/manual_time");
  EXPECT_DOUBLE_EQ(manual.gpu_time->median_ns, 2.5e6);
  EXPECT_EQ(manual.requested_peak_bytes, std::nullopt);
  EXPECT_EQ(manual.variant, "BM_manual");
}

TEST_F(ImportResults, CountersAreMetrics) {
  using Metrics = std::map<std::string, double>;
  const char* const peak = "\"device_peak\": 2.0480000000000000e+03";
  const std::string counters =
      ", \"hits\": 7, \"GB/s\": 2.5, \"2d\": 1, \"peak\": 3, \"items_per_second\": 1e6, \"none\": null";
  for (const char* const file : {"google_benchmark_repetitions.json", "google_benchmark_aggregates.json"}) {
    SCOPED_TRACE(file);
    const peakmark::Run run = changed(file, peak, peak + counters).runs[0];
    const Observation& copy = find_imported(run, "BM_copy/n:1024");
    EXPECT_EQ(copy.metrics, (Metrics{{"GB_s", 2.5}, {"_2d", 1}, {"hits", 7}, {"items_per_second", 1e6}}));
    EXPECT_EQ(copy.metric_directions, (std::map<std::string, std::string>{{"items_per_second", "higher"}}));
  }
  ImportOptions options = on_gpu();
  options.peak_counter = "hits";
  const peakmark::Run run =
      changed("google_benchmark_repetitions.json", peak, peak + counters, options).runs[0];
  EXPECT_EQ(find_imported(run, "BM_copy/n:1024").metrics.count("hits"), 0U) << "it is the peak";

  options = {};
  options.date = "2024-05-06T02:00:00Z";
  const peakmark::Run of_nvbench = changed("nvbench.json", "peak_memory_usage", "my/rate", options).runs[0];
  const Observation& sweep = find_imported(of_nvbench, "copy_sweep/Elements{io}:1048576/T:I32");
  EXPECT_EQ(sweep.metrics, (Metrics{{"my_rate", 8388608}}));
  EXPECT_EQ(sweep.requested_peak_bytes, std::nullopt);
}

TEST_F(ImportResults, AFailedBenchmarkIsAFailedCaseWithoutPrivateNames) {
  const peakmark::Run run = import_with(kImports / "google_benchmark_repetitions.json", on_gpu()).runs[0];
  const Observation& broken = find_imported(run, "BM_broken");
  EXPECT_EQ(broken.outcome, Outcome::crashed);
  EXPECT_FALSE(broken.gpu_time);
  EXPECT_EQ(broken.message, "cannot open volume.h5 on HOST");
  EXPECT_EQ(run.context.host_name, "");
  EXPECT_THAT(run_file_text(run, 1), AllOf(Not(HasSubstr("gpu-node-17")), Not(HasSubstr("ada"))));
}

TEST_F(ImportResults, AggregatesReplaceRepetitionsThatAreNotInTheFile) {
  const peakmark::Run run = import_with(kImports / "google_benchmark_aggregates.json", on_gpu()).runs[0];
  const Observation& copy = find_imported(run, "BM_copy/n:4096");
  EXPECT_DOUBLE_EQ(copy.gpu_time->median_ns, 59.63673163189678);
  EXPECT_THAT(copy.gpu_time->blocks, SizeIs(0));
  EXPECT_EQ(copy.requested_peak_bytes, 8192);
  EXPECT_THAT(run.observations, SizeIs(4));  // no BigO, no RMS
}

TEST_F(ImportResults, ReadsTheFirstFormatOfGoogleBenchmark) {
  const ImportedResults results = import_with(kImports / "google_benchmark_2016.json", on_gpu());
  EXPECT_THAT(results.notes, ElementsAre(HasSubstr("2016-08-02 17:44:46 has no time zone")));
  const peakmark::Run& run = results.runs.at(0);
  EXPECT_EQ(run.context.date, "2016-08-02T17:44:46Z");
  EXPECT_EQ(run.context.suite, "import");
  EXPECT_THAT(run.context.warnings, ElementsAre(HasSubstr("CPU frequency scaling")));
  ASSERT_THAT(run.observations, SizeIs(3));
  EXPECT_EQ(find_imported(run, "BM_plain").gpu_time->median_ns, 50);
  EXPECT_EQ(find_imported(run, "BM_plain").statistic, "mean") << "of its iterations";
  EXPECT_EQ(find_imported(run, "BM_three").statistic, std::nullopt);
  EXPECT_EQ(find_imported(run, "BM_three").gpu_time->median_ns, 11'000);
  EXPECT_EQ(find_imported(run, "BM_three").gpu_time->max_ns, 14'000);
  EXPECT_EQ(find_imported(run, "BM_arithmetic_mean").gpu_time->median_ns, 3e6);  // a name, not an aggregate
}

TEST_F(ImportResults, EachDeviceOfNvbenchIsARun) {
  ImportOptions options;
  options.date = "2024-05-06T02:00:00Z";
  options.commit = "1a2b3c";
  const ImportedResults results = import_with(kImports / "nvbench.json", options);
  ASSERT_THAT(results.runs, SizeIs(2));
  const RunContext& context = results.runs[0].context;
  EXPECT_EQ(context.device, "Quadro GV100");
  EXPECT_EQ(results.runs[1].context.device, "Quadro GP100");
  EXPECT_NE(context.id, results.runs[1].context.id);
  EXPECT_EQ(context.backend, "cuda");
  EXPECT_EQ(context.suite, "nvbench.example.axes");
  EXPECT_EQ(context.date, "2024-05-06T02:00:00Z");
  EXPECT_EQ(context.commit, "1a2b3c");
  EXPECT_EQ(context.device_memory_bytes, 34086060032);
  // 2 x clock x width / 8 is the bandwidth that nvbench prints, 870.4 GB/s.
  EXPECT_EQ(2 * *context.clocks.max_memory_mhz * 1'000'000 * *context.clocks.memory_bus_bits / 8,
            870400000000);

  const Observation& simple = find_imported(results.runs[0], "simple");
  EXPECT_NEAR(simple.gpu_time->median_ns, 1003471.5849794225, 1e-3);  // the mean, as there is no median
  EXPECT_EQ(simple.statistic, "mean");
  EXPECT_EQ(simple.cache, "cold");
  EXPECT_EQ(simple.time_source, "device");
  EXPECT_EQ(simple.requested_peak_bytes, std::nullopt);
  const Observation& copy = find_imported(results.runs[0], "copy_sweep/Elements{io}:1048576/T:I32");
  EXPECT_NEAR(copy.gpu_time->median_ns, 20'000, 1e-6);
  EXPECT_NEAR(copy.gpu_time->min_ns, 10'000, 1e-6);
  EXPECT_NEAR(copy.gpu_time->max_ns, 40'000, 1e-6);
  EXPECT_EQ(copy.requested_peak_bytes, 8388608);
  EXPECT_EQ(copy.axes.integer("Elements{io}"), 1048576);
  EXPECT_EQ(copy.axes.word("T"), "I32");
  const Observation& launch = find_imported(results.runs[0], "launch/Duration:0.0001");
  EXPECT_EQ(launch.cache, "hot");  // only the batch measurement has a time
  EXPECT_NEAR(launch.gpu_time->median_ns, 100'000, 1e-6);
  const Observation& skipped = find_imported(results.runs[0], "copy_sweep/Elements{io}:2097152/T:I32");
  EXPECT_EQ(skipped.outcome, Outcome::unsupported);
  EXPECT_THAT(skipped.message, AllOf(HasSubstr("not enough memory"), Not(HasSubstr("ada"))));
  EXPECT_THAT(results.runs[1].observations, SizeIs(1));
}

TEST_F(ImportResults, TheIdFollowsFromTheFile) {
  const auto id = [](ImportOptions options) {
    return import_with(kImports / "google_benchmark_2016.json", options).runs[0].context.id;
  };
  ImportOptions with_commit = on_gpu();
  with_commit.commit = "1a2b3c";
  EXPECT_EQ(id(on_gpu()), id(with_commit));
  EXPECT_NE(id(on_gpu()),
            import_with(kImports / "google_benchmark_aggregates.json", on_gpu()).runs[0].context.id);
}

TEST_F(ImportResults, OptionsReplaceWhatIsInTheFile) {
  ImportOptions options = on_gpu();
  options.date = "2020-01-01T00:00:00Z";
  options.suite = "nightly";
  options.peak_counter = "bytes_per_second";
  const std::string file = "google_benchmark_repetitions.json";
  // This counter is not a whole number of bytes in every row.
  EXPECT_THAT(refusal([&] { import_with(kImports / file, options); }), HasSubstr("bytes_per_second of "));
  options.peak_counter = "max_bytes_used";
  const peakmark::Run run = changed(file, "\"device_peak\": 2.0480000000000000e+03",
                                    "\"device_peak\": 1, \"max_bytes_used\": 4096", options)
                                .runs[0];
  EXPECT_EQ(run.context.date, "2020-01-01T00:00:00Z");
  EXPECT_EQ(run.context.suite, "nightly");
  EXPECT_EQ(find_imported(run, "BM_copy/n:1024").requested_peak_bytes, 4096);
  EXPECT_EQ(find_imported(run, "BM_copy/n:4096").requested_peak_bytes, std::nullopt);
  // Google Benchmark's mark of unknown bytes.
  const peakmark::Run unknown = changed(file, "\"device_peak\": 2.0480000000000000e+03",
                                        "\"max_bytes_used\": 9223372036854775807", options)
                                    .runs[0];
  EXPECT_EQ(find_imported(unknown, "BM_copy/n:1024").requested_peak_bytes, std::nullopt);
}

TEST_F(ImportResults, RefusesOtherFiles) {
  const auto message = [&](const std::string& text) { return refusal([&] { imported(text); }); };
  EXPECT_THAT(message(""), HasSubstr("results.json: it is empty"));
  EXPECT_THAT(message("{\"context\": {}, \"benchmarks\": ["), HasSubstr("cut short"));
  EXPECT_THAT(message("name,iterations"), AllOf(HasSubstr("not JSON: it begins with 'name,iterations'"),
                                                HasSubstr("--benchmark_out=FILE")));
  EXPECT_THAT(message("[1, 2]"), HasSubstr("not of Google Benchmark"));
  EXPECT_THAT(message("{\"benchmarks\": 7, \"context\": {}}"), HasSubstr("not of Google Benchmark"));
  EXPECT_THAT(message("{\"context\": {\"peakmark\": {}}, \"benchmarks\": []}"),
              HasSubstr("`peakmark history add`"));
  EXPECT_THAT(message("{\"context\": {\"date\": \"2021-09-30\"}, \"benchmarks\": []}"),
              HasSubstr("no benchmark in it"));
  EXPECT_THAT(message("{\"context\": {\"date\": \"2021-09-30\"}, \"benchmarks\": [{\"real_time\": 1}]}"),
              HasSubstr("malformed: (/benchmarks/0) key 'name' not found"));
  EXPECT_THROW(import_with(folder_.path() / "none.json", on_gpu()), IoError);
}

TEST_F(ImportResults, RefusesUnknownVersions) {
  EXPECT_THAT(refusal([&] {
                changed("google_benchmark_2016.json", "\"num_cpus\": 4", "\"json_schema_version\": 2");
              }),
              HasSubstr("json_schema_version is 2"));
  EXPECT_THAT(changed("google_benchmark_2016.json", "\"num_cpus\": 4", "\"json_schema_version\": 1").runs,
              SizeIs(1));
  ImportOptions dated;
  dated.date = "2024-05-06T02:00:00Z";
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"major\": 1", "\"major\": 2", dated); }),
              HasSubstr("meta.version.json is 2"));
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"meta\"", "\"meta_data\"", dated); }),
              HasSubstr("before its JSON 1.0"));
}

TEST_F(ImportResults, RefusesMissingFactsAndSaysHowToNameThem) {
  EXPECT_THAT(refusal([] { import_with(kImports / "google_benchmark_2016.json", {}); }),
              HasSubstr("--device NAME --backend BACKEND"));
  EXPECT_THAT(refusal([&] { changed("google_benchmark_2016.json", "2016-08-02", "yesterday"); }),
              HasSubstr("--date 2026-01-31T02:00:00Z"));
  EXPECT_THAT(refusal([] { import_with(kImports / "nvbench.json", {}); }),
              HasSubstr("no date: nvbench writes none"));
  ImportOptions options = on_gpu();
  options.date = "2024-05-06T02:00:00Z";
  EXPECT_THAT(refusal([&] { import_with(kImports / "nvbench.json", options); }),
              HasSubstr("results of 2 devices"));
  options.device.reset();
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"id\": 1", "\"id\": 5", options); }),
              HasSubstr("device 1 is not in `devices`"));
}

TEST_F(ImportResults, RefusesImpossibleValues) {
  const auto changed_time = [&](const std::string& value) {
    return refusal(
        [&] { changed("google_benchmark_2016.json", "\"real_time\": 50", "\"real_time\": " + value); });
  };
  EXPECT_THAT(changed_time("-1"), HasSubstr("real_time of BM_plain is -1"));
  EXPECT_THAT(changed_time("\"long\""), HasSubstr("malformed"));
  EXPECT_THAT(changed_time("1e999"), HasSubstr("malformed: number overflow"));
  EXPECT_THAT(refusal([&] { changed("google_benchmark_2016.json", "\"ns\"", "\"fortnights\""); }),
              HasSubstr("unknown time_unit 'fortnights' of BM_plain"));
  for (const std::string bytes : {"-1", "0.5", "9007199254740994"}) {
    EXPECT_THAT(refusal([&] {
                  changed("google_benchmark_2016.json", "\"real_time\": 50",
                          "\"real_time\": 50, \"device_peak\": " + bytes);
                }),
                HasSubstr("must be whole bytes, 0 to 2^53"))
        << bytes;
  }
  ImportOptions dated;
  dated.date = "2024-05-06T02:00:00Z";
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"1e-05\"", "\"-1e-05\"", dated); }),
              HasSubstr("must be 0 or more"));
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"1e-05\"", "\"short\"", dated); }),
              HasSubstr("'short' is not a number"));
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"8388608\"", "\"-8\"", dated); }),
              HasSubstr("must be whole bytes"));
}

TEST_F(ImportResults, RefusesTwoBenchmarksOfOneName) {
  EXPECT_THAT(refusal([&] {
                changed("google_benchmark_repetitions.json", "\"per_family_instance_index\": 0",
                        "\"per_family_instance_index\": 7");
              }),
              HasSubstr("two benchmarks are named 'BM_copy/n:1024'"));
  ImportOptions dated;
  dated.date = "2024-05-06T02:00:00Z";
  EXPECT_THAT(refusal([&] { changed("nvbench.json", "\"2097152\"", "\"1048576\"", dated); }),
              HasSubstr("two benchmarks are named 'copy_sweep/Elements{io}:1048576/T:I32'"));
}

TEST_F(ImportResults, RowsOfOneNameAreRepetitionsOrRefused) {
  // Files as 1.4 and 1.5.0 write them, a file of 1.5.5 merged from two programs, and one of a benchmark that
  // runs twice with repetitions.
  for (const std::string file : {"v14", "v150", "v155merged", "repstwice"}) {
    EXPECT_THAT(refusal([&] { import_with(kImports / (file + ".json"), on_gpu()); }),
                AllOf(HasSubstr("two benchmarks are named 'BM_f'"), HasSubstr("rename one")))
        << file;
  }
  const Observation repeated = import_with(kImports / "reps.json", on_gpu()).runs[0].observations.at(0);
  EXPECT_EQ(repeated.gpu_time->median_ns, 20);
  EXPECT_EQ(repeated.gpu_time->min_ns, 10);
  EXPECT_EQ(repeated.gpu_time->max_ns, 33);
  // One of the two rows has an error.
  EXPECT_THAT(refusal([&] {
                changed("v150.json", "\"real_time\": 52", "\"error_occurred\": true, \"real_time\": 52");
              }),
              HasSubstr("two benchmarks are named 'BM_f'"));
  // With --benchmark_enable_random_interleaving, 1.5.4 writes the index 0 in every row, and the mean of all
  // rows.
  std::string interleaved = std::regex_replace(read_text_file(kImports / "reps.json"),
                                               std::regex("repetition_index\": ."), "repetition_index\": 0");
  EXPECT_EQ(imported(interleaved).runs[0].observations.at(0).gpu_time->median_ns, 20);
  interleaved.replace(interleaved.find("\"real_time\": 33"), 15, "\"real_time\": 300");
  EXPECT_THAT(refusal([&] { imported(interleaved); }), HasSubstr("two benchmarks"));
  // The file has two sets of aggregates.
  EXPECT_THAT(refusal([&] {
                changed("reps.json", "\"aggregate_name\": \"median\"", "\"aggregate_name\": \"mean\"");
              }),
              HasSubstr("two benchmarks"));
}

TEST_F(ImportResults, ReadsWhatOlderReleasesWroteInsteadOfJson) {
  const auto run_of = [](const std::string& file) { return import_with(kImports / file, on_gpu()); };
  for (const std::string file : {"inf", "nan", "rms", "thousands", "backslash", "comma", "utf16"}) {
    const ImportedResults results = run_of(file + ".json");
    const std::vector<Observation>& cases = results.runs.at(0).observations;
    ASSERT_THAT(cases, SizeIs(2)) << file;
    EXPECT_EQ(cases[0].case_name, "BM_a/8");
    EXPECT_EQ(cases[1].gpu_time->median_ns, 91) << file;
    if (file == "backslash") {
      EXPECT_EQ(cases[0].message, R"(d:\halt)");
    } else {
      EXPECT_EQ(cases[0].gpu_time->median_ns, 90) << file;
    }
  }
  EXPECT_THAT(run_of("thousands.json").notes, testing::Contains(HasSubstr("1,234,000, was read as 1234000")));
  EXPECT_THAT(run_of("comma.json").notes, testing::Contains(HasSubstr("Google Benchmark 1.5.4")));
}

TEST_F(ImportResults, ABenchmarkWithoutATimeSaysSo) {
  for (const std::string time : {"0", "0.0", "NaN", "nan"}) {
    const Observation none =
        changed("google_benchmark_2016.json", "\"real_time\": 50", "\"real_time\": " + time)
            .runs[0]
            .observations.at(0);
    EXPECT_FALSE(none.gpu_time) << time;
    EXPECT_EQ(none.outcome, Outcome::ok);
    EXPECT_THAT(none.message, testing::StartsWith("no time: "));
  }
  ImportOptions dated;
  dated.date = "2024-05-06T02:00:00Z";
  const peakmark::Run run = changed("nvbench.json", "\"1e-05\"", "\"0e-20\"", dated).runs[0];
  const bool has_none = std::ranges::any_of(
      run.observations, [](const Observation& one) { return one.gpu_time && one.gpu_time->min_ns <= 0; });
  EXPECT_FALSE(has_none);
}

}  // namespace
}  // namespace peakmark
