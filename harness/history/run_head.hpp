#pragma once

#include <string>

namespace peakmark::history {

/// What tells one run from another: columns of the table `runs`, as the run's context has them.
struct RunHead {
  std::string id;
  std::string date;
  std::string suite;
  std::string commit;
  std::string device;
  std::string backend;
  std::string driver;
  std::string build;
  std::string host_name;
};

}  // namespace peakmark::history
