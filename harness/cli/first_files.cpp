#include "cli/first_files.hpp"

#include "embedded_files.hpp"

namespace peakmark::cli {
namespace {

std::string with_schema(std::string_view suite) {
  return "#:schema ./suite.schema.json\n" + std::string(suite);
}

/// The workflow, in which words between @ are filled in.
std::string workflow(std::string_view suite, std::string_view worker, std::string_view packages) {
  std::string text(embedded::first_workflow_yml());
  for (const auto& [mark, with] : {std::pair{std::string_view("@SUITE@"), suite},
                                   {std::string_view("@WORKER@"), worker},
                                   {std::string_view("@PACKAGES@"), packages}}) {
    text.replace(text.find(mark), mark.size(), with);
  }
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
            {kWorkflow, workflow("mean.toml", "", " python3-numpy"), "measures and judges on GitHub"}};
  }
  return {{"scale.cpp", std::string(embedded::scale_cpp()), "the worker: a kernel, its axes, what it needs"},
          {"CMakeLists.txt", std::string(embedded::CMakeLists_txt()), "builds it"},
          {"scale.toml", with_schema(embedded::scale_toml()), "the suite: which shapes"},
          schema,
          {kWorkflow, workflow("scale.toml", " --worker build/scale", ""), "measures and judges on GitHub"}};
}

std::string_view suite_schema() {
  return embedded::suite_schema_json();
}

}  // namespace peakmark::cli
