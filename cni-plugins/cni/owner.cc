#include "cni/owner.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cni/fields.h"
#include "cni/hash.h"

namespace trellis::cni {

namespace {

// nft and iptables both take some more.
constexpr size_t kMaxComment = 120;
constexpr size_t kMaxNetwork = 60;

// What does not fit ends with a mark of the whole, so that two long texts that begin alike stay two.
std::string Shorten(const std::string& text, size_t most) {
  if (text.size() <= most) return text;
  char mark[18];
  snprintf(mark, sizeof mark, "~%016llx", static_cast<unsigned long long>(Hash(text)));
  return text.substr(0, most - strlen(mark)) + mark;
}

// An interface's name may hold any byte. Those that iptables-save would quote, and those that are no text, are written out.
std::string Plain(const std::string& name) {
  std::string plain;
  for (const unsigned char c : name) {
    const bool fits = c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '\\' && c != '`' && c != '$' && c != '%';
    char code[4];
    snprintf(code, sizeof code, "%%%02x", c);
    if (fits) plain += static_cast<char>(c);
    else plain += code;
  }
  return plain;
}

// By this GC knows its own.
std::string NetworkPart(const std::string& network) { return Shorten(network, kMaxNetwork) + " "; }

}  // namespace

std::string Owner::Comment() const {
  return Shorten(NetworkPart(network) + containerId + " " + Plain(interfaceName), kMaxComment);
}

Owner OwnerOf(const Request& request) { return {request.network, request.env.containerId, request.env.interfaceName}; }

std::vector<Owner> ValidOwners(const Request& request) {
  std::vector<Owner> valid;
  for (const json::Value* item : List(request.config, "cni.dev/valid-attachments"))
    valid.push_back({request.network, String(*item, "containerID"), String(*item, "ifname")});
  return valid;
}

bool IsStale(std::string_view comment, const std::string& network, const std::vector<Owner>& valid) {
  if (!comment.starts_with(NetworkPart(network))) return false;
  return std::none_of(valid.begin(), valid.end(), [&](const Owner& owner) { return owner.Comment() == comment; });
}

}  // namespace trellis::cni
