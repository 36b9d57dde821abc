#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What leaves a machine (run files, histories, pages, summaries) holds no secret, no user or host name and no
// path of a person's folders.
namespace peakmark {

/// Shorter values of variables are words of messages.
inline constexpr std::size_t kMinSecretBytes = 8;

/// Texts of this machine that are not published, with what is written in their place.
struct PrivateTexts {
  /// Absolute folders without a last slash, longest first; a path below one is written relative to it.
  std::vector<std::pair<std::string, std::string>> folders;
  /// Values of variables whose names say that they are secret.
  std::vector<std::pair<std::string, std::string>> secrets;
  /// Replaced as whole words: the names of the host and of the user.
  std::vector<std::pair<std::string, std::string>> words;
};

/// Those of this process: its working folder, home, host, user, and variables of `environment` (NAME=value).
PrivateTexts private_texts(const std::vector<std::string>& environment);

/// `text` without them. A path outside these folders and outside the system's keeps its last part only.
std::string public_text(std::string_view text, const PrivateTexts& texts);

/// True for a variable that is published: its name is on the list, and its value is a short text of
/// letters, digits, blanks and `_ . , : + - =`, so that it is neither a path nor a free text.
bool is_public_variable(std::string_view name, std::string_view value);

/// True for a key of an environment in a run file that may be published: a public variable, or a key of
/// peakmark's own, which has lower-case letters.
bool is_public_fact(std::string_view key, std::string_view value);

/// The name of this machine; empty where it has none.
std::string this_host();

/// `host-` and eight digits, which tell this machine from others and are not its name: they depend on
/// /etc/machine-id, which nobody else knows. Empty where the machine has no such id.
std::string host_mark();

}  // namespace peakmark
