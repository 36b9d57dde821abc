#include "cli/first_files.hpp"

#include <utility>

#include "embedded_files.hpp"
#include "sweep/suite_keys.hpp"

namespace peakmark::cli {
namespace {

std::string with_schema(std::string_view suite) {
  return "#:schema ./suite.schema.json\n" + std::string(suite);
}

constexpr const char* kSchema = "suite.schema.json";
constexpr const char* kWorkflow = ".github/workflows/peakmark.yml";

constexpr std::string_view kNeedsOfWorker =
    "CMake, a C++ compiler, and OpenCL with a device\n"
    "(Debian: cmake g++ opencl-c-headers ocl-icd-opencl-dev pocl-opencl-icd).";
constexpr std::string_view kNeedsOfProgram =
    "CMake, a C compiler, OpenCL with a device, and numpy for python3, which runs estimators.py\n"
    "(Debian: cmake gcc opencl-c-headers ocl-icd-opencl-dev pocl-opencl-icd python3-numpy).";
constexpr std::string_view kNeedsOfCuda =
    "CMake, CUDA's toolkit, a peakmark built with -DPEAKMARK_CUDA=ON, and a GPU to be measured on.";

constexpr std::string_view kAboutHostedRunner =
    R"(# Builds, measures and judges on GitHub's own machines, where PoCL is the device. On a runner with a GPU change
# `runs-on`, take `container` away, and let `peakmark run` have --require gpu: then a broken GPU is an error, and never a
# green run on a CPU.
)";
constexpr std::string_view kAboutGpuRunner =
    R"(# Builds, measures and judges on a runner of yours that has a GPU, CUDA's toolkit, and what peakmark is built with
# (ci/packages-build.txt in its repository); --require makes a broken GPU an error.
)";

/// What of a project its kind decides, and its workflow needs to know.
struct ProjectWords {
  std::string_view suite;
  std::string_view packages = "";  ///< beside those that peakmark is built with
  std::string_view needs;
  bool needs_cuda = false;
};

/// Without a GPU a CUDA project measures nothing, which must be an error and say so.
std::string run_options(const ProjectWords& words) {
  return words.needs_cuda ? " --require cuda" : "";
}

std::string workflow(const ProjectWords& words) {
  const bool own_runner = words.needs_cuda;
  const std::pair<std::string_view, std::string> marks[] = {
      {"@ABOUT@", std::string(own_runner ? kAboutGpuRunner : kAboutHostedRunner)},
      {"@RUNNER@", own_runner ? "    runs-on: [self-hosted, gpu]  # the labels of that runner\n"
                              : "    runs-on: ubuntu-latest\n    container: debian:12\n"},
      {"@PACKAGES@", std::string(words.packages)},
      {"@CMAKE_OPTIONS@", words.needs_cuda ? " -DPEAKMARK_CUDA=ON" : ""},
      {"@SUITE@", std::string(words.suite) + run_options(words)}};
  std::string text(embedded::workflow_yml());
  for (const auto& [mark, with] : marks) text.replace(text.find(mark), mark.size(), with);
  return text;
}

/// With the files that every kind has, behind those of its own.
FirstProject project(const ProjectWords& words, std::vector<FirstFile> files) {
  files.push_back({kSchema, std::string(suite_schema()), "by which editors complete and check the suite"});
  files.push_back(
      {kWorkflow, workflow(words),
       words.needs_cuda ? "measures and judges on a runner with a GPU" : "measures and judges on GitHub"});
  return {std::move(files), std::string(words.needs), std::string(words.suite), run_options(words)};
}

}  // namespace

FirstProject first_project(std::string_view kind) {
  if (kind == "program") {
    return project({.suite = "mean.toml", .packages = " python3-numpy", .needs = kNeedsOfProgram},
                   {{"mean.c", std::string(embedded::mean_c()),
                     "stands for your program, which knows nothing of peakmark"},
                    {"CMakeLists.txt", std::string(embedded::unchanged_CMakeLists_txt()), "builds it"},
                    {"mean.toml", with_schema(embedded::mean_toml()),
                     "the suite: the program's command, and which shapes"},
                    {"estimators.py", std::string(embedded::estimators_py()), "an estimator in Python"},
                    {"estimator.sh", std::string(embedded::estimator_sh()), "one as a shell script"}});
  }
  if (kind == "cuda") {
    return project({.suite = "sum.toml", .needs = kNeedsOfCuda, .needs_cuda = true},
                   {{"sum.cu", std::string(embedded::sum_cu()),
                     "the worker: a kernel and CUB, their axes, what they need"},
                    {"CMakeLists.txt", std::string(embedded::sum_CMakeLists_txt()), "builds it"},
                    {"sum.toml", with_schema(embedded::sum_toml()), "the suite: which shapes"}});
  }
  return project(
      {.suite = "scale.toml", .needs = kNeedsOfWorker},
      {{"scale.cpp", std::string(embedded::scale_cpp()), "the worker: a kernel, its axes, what it needs"},
       {"CMakeLists.txt", std::string(embedded::CMakeLists_txt()), "builds it"},
       {"scale.toml", with_schema(embedded::scale_toml()), "the suite: which shapes"}});
}

}  // namespace peakmark::cli
