// Replaces the database if peakmark is built without SOCI.
#include "analyse/history/history.hpp"
#include "base/error.hpp"

namespace peakmark::history {

class History::Implementation {};

namespace {

[[noreturn]] void refuse() {
  throw EnvironmentError(
      "histories are not supported by this build: install SOCI (Debian 12: libsoci-dev libboost-dev) and "
      "build "
      "with -DPEAKMARK_HISTORY=ON");
}

}  // namespace

History::History(const Address& /*address*/, Purpose /*purpose*/, std::chrono::milliseconds /*patience*/) {
  refuse();
}
History::~History() = default;
const Address& History::address() const {
  refuse();
}
Added History::add(const Run& /*run*/, const RunOrigin& /*origin*/, Placement /*placement*/) {
  refuse();
}
std::vector<LoggedRun> History::log() {
  refuse();
}
std::vector<std::string> History::latest() {
  refuse();
}
Run History::run(const std::string& /*id*/) {
  refuse();
}
std::vector<trend::DeviceHistory> History::read(const std::string& /*branch*/) {
  refuse();
}
std::vector<DeviceBackend> History::devices(const std::string& /*branch*/) {
  refuse();
}
trend::DeviceHistory History::read_device(const DeviceBackend& /*device*/, const std::string& /*branch*/,
                                          const RunLimits& /*limits*/) {
  refuse();
}
std::vector<KnownCase> History::cases() {
  refuse();
}
std::vector<PeakEntry> History::at_peak(const std::string& /*case_name*/, const std::string& /*run_id*/) {
  refuse();
}
void History::add_acceptances(const std::vector<trend::Acceptance>& /*acceptances*/) {
  refuse();
}
void History::remove_acceptances(const std::vector<trend::Acceptance>& /*acceptances*/) {
  refuse();
}
std::vector<trend::Acceptance> History::acceptances() {
  refuse();
}
std::string History::device_name(const std::string& /*device*/) {
  refuse();
}
void History::rename_device(const std::string& /*device*/, const std::string& /*is_device*/) {
  refuse();
}
Pruned History::prune(const PruneChoice& /*choice*/, const RunsToKeep& /*runs_to_keep*/) {
  refuse();
}
Removed History::remove(const std::vector<std::string>& /*ids*/, bool /*dry*/) {
  refuse();
}
Settings History::settings() {
  refuse();
}
void History::set(const Settings& /*settings*/) {
  refuse();
}
std::vector<trend::Notified> History::notified() {
  refuse();
}
bool History::update_notified(const std::vector<trend::Notified>& /*expected*/,
                              const std::vector<trend::Notified>& /*rows*/) {
  refuse();
}

}  // namespace peakmark::history
