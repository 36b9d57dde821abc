#include "history/place.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.hpp"

namespace peakmark::history {
namespace {

TEST(Place, IsAFileOrPostgresql) {
  EXPECT_EQ(parse_place("build/history.db").kind, Place::Kind::sqlite);
  EXPECT_EQ(parse_place("build/history.db").file, "build/history.db");
  EXPECT_EQ(parse_place("a b=c.db").name(), "a b=c.db");
  for (const char* const url : {"postgresql://host/db", "postgres:///db?host=/run/x"}) {
    EXPECT_EQ(parse_place(url).kind, Place::Kind::postgresql);
    EXPECT_EQ(parse_place(url).url, url);
    EXPECT_EQ(parse_place(url).name(), url);
  }
}

TEST(Place, NoPasswordIsShown) {
  EXPECT_EQ(parse_place("postgresql://me:secret@host:5432/db").name(), "postgresql://me@host:5432/db");
  EXPECT_EQ(parse_place("postgresql://me@host:5432/db").name(), "postgresql://me@host:5432/db");
  EXPECT_EQ(parse_place("postgresql://host:5432/db?user=a@b").name(), "postgresql://host:5432/db?user=a@b");
  EXPECT_EQ(parse_place("postgresql://h/d?user=me&password=secret&sslmode=require").name(),
            "postgresql://h/d?user=me&password=…&sslmode=require");
  EXPECT_EQ(parse_place("postgresql://h/d?password=secret").name(), "postgresql://h/d?password=…");
  EXPECT_EQ(parse_place("postgresql://h/d?sslpassword=secret").name(), "postgresql://h/d?sslpassword=…");
}

TEST(Place, AnUnknownParameterIsNotShown) {
  EXPECT_EQ(parse_place("postgresql://h/d?pass%77ord=secret&port=1").name(),
            "postgresql://h/d?pass%77ord=…&port=1");
  EXPECT_EQ(parse_place("postgresql://h/d?passfile=/home/me/x").name(), "postgresql://h/d?passfile=…");
}

TEST(Place, APasswordThatIsNotEscapedIsRefusedAndNotShown) {
  for (const char* const url :
       {"postgresql://me:sec/ret@host/db", "postgresql://me:sec@ret@host/db",
        "postgresql://me:sec?ret@host/db", "postgresql://me:sec#ret@host/db",
        "postgresql://me:sec:ret@host/db", "postgresql://me:sec/ret@host/db?sslmode=require",
        "postgres://me:sec ret@host/db"}) {
    std::string message = "none";
    try {
      parse_place(url);
    } catch (const UsageError& error) {
      message = error.what();
    }
    EXPECT_THAT(message,
                testing::AllOf(testing::HasSubstr("%2F for /"), testing::Not(testing::HasSubstr("sec")),
                               testing::Not(testing::HasSubstr("ret"))))
        << url;
  }
}

TEST(Place, MessagesHoldNoPassword) {
  EXPECT_EQ(without_passwords("no postgresql://me:secret@h/d: refused, postgres://you:sec/ret@h, a.db"),
            "no postgresql://me@h/d: refused, postgresql://…, a.db");
  EXPECT_EQ(without_passwords("nothing to hide"), "nothing to hide");
}

TEST(Place, AnArgumentWithAPasswordIsOverwritten) {
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

TEST(Place, AConnectionIsGivenUpAfterTenSecondsUnlessTheUserSaysOtherwise) {
  const auto text = [](const char* url) { return parse_place(url).connection_text(); };
  ::unsetenv("PGCONNECT_TIMEOUT");
  constexpr const char* kOurs = "postgresql://me@h:5432/d?application_name=peakmark&connect_timeout=10";
  EXPECT_EQ(text("postgresql://me@h:5432/d"), kOurs);
  EXPECT_EQ(text("postgresql://me@h:5432/d?"), kOurs);
  EXPECT_EQ(text("postgresql://me@h:5432/d?sslmode=require&connect_timeout=60"),
            std::string(kOurs) + "&sslmode=require&connect_timeout=60")
      << "libpq takes the last";
  ::setenv("PGCONNECT_TIMEOUT", "60", 1);
  EXPECT_EQ(text("postgresql://me@h:5432/d"), "postgresql://me@h:5432/d?application_name=peakmark");
  ::unsetenv("PGCONNECT_TIMEOUT");
}

TEST(Place, OtherSchemesAreNamed) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_place(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(message("mysql://host/db"), testing::HasSubstr("a history of mysql is not known"));
  EXPECT_THAT(message(""), testing::HasSubstr("write a file or postgresql://"));
  EXPECT_THAT(message("a\"b"), testing::HasSubstr("no quotation marks"));
}

}  // namespace
}  // namespace peakmark::history
