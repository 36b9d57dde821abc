#include "analyse/history/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/files_testing.hpp"

namespace peakmark::history {
namespace {

TEST(Address, IsAFileOrPostgresql) {
  EXPECT_EQ(parse_address("build/history.db").kind, Address::Kind::sqlite);
  EXPECT_EQ(parse_address("build/history.db").file, "build/history.db");
  EXPECT_EQ(parse_address("a b=c.db").name(), "a b=c.db");
  for (const char* const url : {"postgresql://host/db", "postgres:///db?host=/run/x"}) {
    EXPECT_EQ(parse_address(url).kind, Address::Kind::postgresql);
    EXPECT_EQ(parse_address(url).url, url);
    EXPECT_EQ(parse_address(url).name(), url);
  }
}

TEST(Address, NoPasswordIsShown) {
  EXPECT_EQ(parse_address("postgresql://me:secret@host:5432/db").name(), "postgresql://me@host:5432/db");
  EXPECT_EQ(parse_address("postgresql://me@host:5432/db").name(), "postgresql://me@host:5432/db");
  EXPECT_EQ(parse_address("postgresql://host:5432/db?user=a@b").name(), "postgresql://host:5432/db?user=a@b");
  EXPECT_EQ(parse_address("postgresql://h/d?user=me&password=secret&sslmode=require").name(),
            "postgresql://h/d?user=me&password=…&sslmode=require");
  EXPECT_EQ(parse_address("postgresql://h/d?password=secret").name(), "postgresql://h/d?password=…");
  EXPECT_EQ(parse_address("postgresql://h/d?sslpassword=secret").name(), "postgresql://h/d?sslpassword=…");
}

TEST(Address, AnUnknownParameterIsNotShown) {
  EXPECT_EQ(parse_address("postgresql://h/d?pass%77ord=secret&port=1").name(),
            "postgresql://h/d?pass%77ord=…&port=1");
  EXPECT_EQ(parse_address("postgresql://h/d?passfile=/home/me/x").name(), "postgresql://h/d?passfile=…");
}

TEST(Address, APasswordThatIsNotEscapedIsRefusedAndNotShown) {
  for (const char* const url :
       {"postgresql://me:sec/ret@host/db", "postgresql://me:sec@ret@host/db",
        "postgresql://me:sec?ret@host/db", "postgresql://me:sec#ret@host/db",
        "postgresql://me:sec:ret@host/db", "postgresql://me:sec/ret@host/db?sslmode=require",
        "postgres://me:sec ret@host/db"}) {
    std::string message = "none";
    try {
      parse_address(url);
    } catch (const UsageError& error) {
      message = error.what();
    }
    EXPECT_THAT(message,
                testing::AllOf(testing::HasSubstr("%2F for /"), testing::Not(testing::HasSubstr("sec")),
                               testing::Not(testing::HasSubstr("ret"))))
        << url;
  }
}

TEST(Address, MessagesHoldNoPassword) {
  EXPECT_EQ(hide_passwords("no postgresql://me:secret@h/d: refused, postgres://you:sec/ret@h, a.db"),
            "no postgresql://me@h/d: refused, postgresql://…, a.db");
  EXPECT_EQ(hide_passwords("nothing to hide"), "nothing to hide");
}

TEST(Address, AnArgumentWithAPasswordIsOverwritten) {
  const auto hidden = [](std::string argument) {
    hide_password_of_argument(argument.data());
    return argument;
  };
  EXPECT_EQ(hidden("postgresql://me:secret@h/d"), "postgresql://*************");
  EXPECT_EQ(hidden("--history=postgres://me:sec/ret@h"), "--history=postgres://************");
  for (const char* const plain : {"postgresql://me@h/d", "--history=h.db", "run", "a=postgres.db"}) {
    EXPECT_EQ(hidden(plain), plain);
  }
}

TEST(Address, AConnectionIsGivenUpAfterTenSecondsUnlessTheUserSaysOtherwise) {
  const auto text = [](const char* url) { return parse_address(url).connection_text(); };
  ::unsetenv("PGCONNECT_TIMEOUT");
  constexpr const char* kOurs =
      "postgresql://me@h:5432/d?application_name=peakmark&connect_timeout=10&keepalives_idle=60&"
      "keepalives_interval=10&keepalives_count=3&tcp_user_timeout=60000";
  EXPECT_EQ(text("postgresql://me@h:5432/d"), kOurs);
  EXPECT_EQ(text("postgresql://me@h:5432/d?"), kOurs);
  EXPECT_EQ(text("postgresql://me@h:5432/d?sslmode=require&connect_timeout=60"),
            std::string(kOurs) + "&sslmode=require&connect_timeout=60")
      << "libpq takes the last";
  ::setenv("PGCONNECT_TIMEOUT", "60", 1);
  EXPECT_THAT(text("postgresql://me@h:5432/d"), testing::Not(testing::HasSubstr("connect_timeout")));
  ::unsetenv("PGCONNECT_TIMEOUT");
}

TEST(Address, OtherSchemesAreNamed) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_address(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(message("mysql://host/db"), testing::HasSubstr("unsupported scheme: mysql"));
  EXPECT_THAT(message(""), testing::HasSubstr("write a file or postgresql://"));
  EXPECT_THAT(message("a\"b"), testing::HasSubstr("quotation marks are not allowed"));
  const std::filesystem::path here = std::filesystem::current_path();
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "a \"b\" c");
  std::filesystem::current_path(folder.path() / "a \"b\" c");
  EXPECT_THAT(message("history.db"), testing::HasSubstr("quotation marks are not allowed"));
  std::filesystem::current_path(here);
}

}  // namespace
}  // namespace peakmark::history
