#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Files that leave a machine (run files, histories, pages, summaries) contain no secret, no user or host name
// and no private path.
namespace peakmark {

/// Shorter values are not treated as secrets, because they may be ordinary words in messages.
inline constexpr std::size_t kMinSecretBytes = 8;

/// Private texts of this machine, each with its replacement.
struct PrivateTexts {
  /// Absolute folders without a trailing slash, longest first. Paths in them become relative.
  std::vector<std::pair<std::string, std::string>> folders;
  /// Values of variables whose names suggest a secret.
  std::vector<std::pair<std::string, std::string>> secrets;
  /// Names of the host and the user, replaced as whole words.
  std::vector<std::pair<std::string, std::string>> words;
};

/// Returns the private texts of this process: working folder, home, host, user, and secrets of `environment`
/// (NAME=value).
PrivateTexts private_texts(const std::vector<std::string>& environment);

/// Returns `text` without private texts. From a path outside these folders and those of the system, keeps
/// only the last part.
std::string public_text(std::string_view text, const PrivateTexts& texts);

/// Returns whether a variable may be published: its name is on the allow-list, and its value is a short text
/// of letters, digits, blanks and `_ . , : + - =`, and therefore neither a path nor free text.
bool is_public_variable(std::string_view name, std::string_view value);

/// Returns whether an environment entry of a run file may be published: a public variable, or a key of
/// peakmark, which has lower-case letters.
bool is_public_fact(std::string_view key, std::string_view value);

/// Returns the name of this machine; empty if it has none.
std::string this_host();

/// Returns `host-` and eight digits that identify this machine without its name. They depend on
/// /etc/machine-id, which is secret. Returns an empty text if there is no such id.
std::string host_mark();

}  // namespace peakmark
