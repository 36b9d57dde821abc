#include "cli/first_files.hpp"

#include "embedded_files.hpp"

namespace peakmark::cli {
namespace {

std::string with_schema(std::string_view suite) {
  return "#:schema ./suite.schema.json\n" + std::string(suite);
}

/// What of a workflow a kind of project decides.
struct WorkflowWords {
  std::string_view suite;
  std::string_view run_options;
  std::string_view packages;  ///< beside those that peakmark is built with
  bool has_gpu = false;
};

std::string workflow(const WorkflowWords& words) {
  const std::pair<std::string_view, std::string_view> marks[] = {
      {"@ABOUT@",
       words.has_gpu
           ? "# Builds, measures and judges on a runner that has a GPU and CUDA's toolkit; --require makes a "
             "broken GPU an error.\n"
           : "# Builds, measures and judges on GitHub's own machines, where PoCL is the device. On a runner "
             "with a GPU change `runs-on`, and\n# let `peakmark run` have --require gpu: then a broken GPU "
             "is "
             "an error, and never a green run on a CPU.\n"},
      {"@RUNNER@", words.has_gpu ? "    runs-on: [self-hosted, gpu]  # the labels of that runner\n"
                                 : "    runs-on: ubuntu-latest\n    container: debian:12\n"},
      {"@PACKAGES@", words.packages},
      {"@CMAKE_OPTIONS@", words.has_gpu ? " -DPEAKMARK_CUDA=ON" : ""},
      {"@SUITE@", words.suite},
      {"@RUN_OPTIONS@", words.run_options}};
  std::string text(embedded::workflow_yml());
  for (const auto& [mark, with] : marks) text.replace(text.find(mark), mark.size(), with);
  return text;
}

constexpr const char* kWorkflow = ".github/workflows/peakmark.yml";
constexpr const char* kSchema = "suite.schema.json";

}  // namespace

std::vector<FirstFile> first_files(std::string_view kind) {
  const FirstFile schema{kSchema, std::string(suite_schema()),
                         "by which editors complete and check the suite"};
  if (kind == "program") {
    return {{"mean.c", std::string(embedded::mean_c()),
             "stands for your program, which knows nothing of peakmark"},
            {"CMakeLists.txt", std::string(embedded::unchanged_CMakeLists_txt()), "builds it"},
            {"mean.toml", with_schema(embedded::mean_toml()),
             "the suite: the program's command, and which shapes"},
            {"estimators.py", std::string(embedded::estimators_py()), "an estimator in Python"},
            {"estimator.sh", std::string(embedded::estimator_sh()), "one as a shell script"},
            schema,
            {kWorkflow, workflow({"mean.toml", "", " python3-numpy"}), "measures and judges on GitHub"}};
  }
  if (kind == "cuda") {
    return {{"sum.cu", std::string(embedded::sum_cu()),
             "the worker: a kernel and CUB, their axes, what they need"},
            {"CMakeLists.txt", std::string(embedded::sum_CMakeLists_txt()), "builds it"},
            {"sum.toml", with_schema(embedded::sum_toml()), "the suite: which shapes"},
            schema,
            {kWorkflow, workflow({"sum.toml", " --worker build/sum --require cuda", "", true}),
             "measures and judges on a runner with a GPU"}};
  }
  return {
      {"scale.cpp", std::string(embedded::scale_cpp()), "the worker: a kernel, its axes, what it needs"},
      {"CMakeLists.txt", std::string(embedded::CMakeLists_txt()), "builds it"},
      {"scale.toml", with_schema(embedded::scale_toml()), "the suite: which shapes"},
      schema,
      {kWorkflow, workflow({"scale.toml", " --worker build/scale", ""}), "measures and judges on GitHub"}};
}

std::string_view suite_schema() {
  return embedded::suite_schema_json();
}

}  // namespace peakmark::cli
