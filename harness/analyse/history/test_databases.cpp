#include "analyse/history/test_databases.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"

namespace peakmark::history {
namespace {

/// Returns an unprivileged user, because PostgreSQL refuses to run as root; null if this process is not root.
const passwd* other_user() {
  if (::geteuid() != 0) return nullptr;
  for (const char* const name : {"postgres", "nobody"}) {
    if (const passwd* const user = ::getpwnam(name)) return user;
  }
  throw std::runtime_error("no user 'postgres' or 'nobody' to run PostgreSQL as");
}

/// Starts a PostgreSQL program whose output can be read from `output`.
int start(const std::vector<std::string>& words, int& output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const passwd* const user = other_user();
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t process = ::fork();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    if (user != nullptr &&
        (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0)) {
      ::_exit(126);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);  // after the change of user, which would reset it
    if (::chdir("/") != 0) ::_exit(126);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output = ends[0];
  return process;
}

/// Reads until `word` appears, or the output ends.
std::string read_until(int descriptor, const std::string& word) {
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0;
       text.find(word) == std::string::npos && (got = ::read(descriptor, piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

#ifdef PEAKMARK_POSTGRESQL_PROGRAMS
/// Returns a TCP port of the loopback interface that is free now.
int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, place, length) != 0 || ::getsockname(listener, place, &length) != 0) {
    throw std::runtime_error("no TCP port on the loopback");
  }
  ::close(listener);
  return ntohs(address.sin_port);
}

void initialise(const std::filesystem::path& data) {
  int output = -1;
  const int process = start({PEAKMARK_POSTGRESQL_PROGRAMS "/initdb", "-D", data.string(), "-A", "trust", "-U",
                             "peakmark", "--no-sync", "--no-locale", "-E", "UTF8"},
                            output);
  const std::string text = read_until(output, "never said");
  ::close(output);
  int status = 0;
  ::waitpid(process, &status, 0);
  if (status != 0) throw std::runtime_error("initdb failed: " + text);
}
#endif

void connect(soci::session& sql, const Address& address) {
  if (address.kind == Address::Kind::postgresql) {
    sql.open("postgresql", address.url);
  } else {
    sql.open(soci::sqlite3, fmt::format("dbname=\"{}\"", address.file.string()));
  }
}

constexpr const char* kTakeLock = "SELECT pg_advisory_xact_lock(8098986618920202859)";

void notify(int pipe) {
  if (::write(pipe, "!", 1) != 1) ::_exit(1);
}

void wait_for_waiters(soci::session& sql, int wanted) {
  for (int waiting = 0; waiting < wanted;) {
    sql << "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted", soci::into(waiting);
  }
}

}  // namespace

PostgresqlServer* PostgresqlServer::get() {
#ifdef PEAKMARK_POSTGRESQL_PROGRAMS
  static PostgresqlServer server;
  return &server;
#else
  return nullptr;
#endif
}

PostgresqlServer::PostgresqlServer() {
#ifdef PEAKMARK_POSTGRESQL_PROGRAMS
  const std::filesystem::path data = folder_.path() / "data";
  if (const passwd* const user = other_user()) {
    if (::chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) != 0) throw std::runtime_error("chown");
  }
  initialise(data);
  // TCP needs a password, like the server of a team; the socket does not.
  std::ofstream(data / "pg_hba.conf") << "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n";
  port_ = free_port();
  int output = -1;
  process_ =
      start({PEAKMARK_POSTGRESQL_PROGRAMS "/postgres", "-D", data.string(), "-k", folder_.path().string(),
             "-h", "127.0.0.1", "-p", std::to_string(port_), "-F", "-c", "full_page_writes=off"},
            output);
  const std::string text = read_until(output, "ready to accept connections");
  if (text.find("ready to accept") == std::string::npos)
    throw std::runtime_error("postgres did not start: " + text);
    // The pipe stays open, because the server's next message would otherwise kill it.
#endif
}

PostgresqlServer::~PostgresqlServer() {
  if (process_ <= 0) return;
  ::kill(process_, SIGQUIT);
  ::waitpid(process_, nullptr, 0);
}

std::string PostgresqlServer::url(const std::string& user) const {
  return fmt::format("postgresql:///postgres?host={}&port={}&user={}", folder_.path().string(), port_, user);
}

std::string PostgresqlServer::tcp_url(const std::string& user, const std::string& password) const {
  return fmt::format("postgresql://{}:{}@127.0.0.1:{}/postgres", user, password, port_);
}

void OnBothDatabases::SetUp() {
  if (!is_postgresql()) {
    address_ = folder_.path() / "history.db";
    std::filesystem::remove(address_);
    return;
  }
  const PostgresqlServer* const server = PostgresqlServer::get();
  if (server == nullptr) GTEST_SKIP() << "PostgreSQL is not installed (Debian 12: postgresql)";
  address_ = server->url();
  execute("SET client_min_messages TO warning; DROP SCHEMA IF EXISTS peakmark CASCADE");
}

void OnBothDatabases::execute(const std::string& text) const {
  soci::session sql;
  connect(sql, address());
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(";\n", start), text.size());
    if (end > start) sql << text.substr(start, end - start);
    start = end + 2;
  }
}

void OnBothDatabases::hold_lock(int pipe) const {
  soci::session sql;
  connect(sql, address());
  if (is_postgresql()) {
    sql << "BEGIN";
    sql << kTakeLock;
  } else {
    sql << "BEGIN EXCLUSIVE";
  }
  notify(pipe);
  for (;;) ::pause();
}

void OnBothDatabases::hold_lock_until_two_wait(int pipe) const {
  soci::session sql;
  connect(sql, address());
  sql << "BEGIN";
  sql << kTakeLock;
  notify(pipe);
  wait_for_waiters(sql, 1);
  notify(pipe);
  wait_for_waiters(sql, 2);
  sql << "ROLLBACK";
}

std::vector<std::string> OnBothDatabases::ids_of(History&& history) {
  std::vector<std::string> ids;
  for (const LoggedRun& run : history.log()) ids.push_back(run.id);
  return ids;
}

Values OnBothDatabases::values_of(const trend::DeviceHistory& device, const std::string& case_name,
                                  std::string_view metric) {
  for (const trend::Series& series : device.series) {
    if (series.case_name == case_name && series.metric == metric) return series.values;
  }
  return {};
}

std::string OnBothDatabases::message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

std::string kind_name(const testing::TestParamInfo<Address::Kind>& info) {
  return info.param == Address::Kind::sqlite ? "sqlite" : "postgresql";
}

}  // namespace peakmark::history
