#include "vxlan/subnet_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "cni/error.h"
#include "cni/files.h"
#include "host-local/range.h"

namespace trellis::cni {

namespace {

constexpr size_t kMaxSubnetFile = 64 * 1024;
constexpr uint32_t kLeastMtu4 = 68, kLeastMtu6 = 1280, kMostMtu = 65535;
constexpr std::string_view kPrefixes[] = {"FLANNEL_", "TRELLIS_"};

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool IsInside(const IpPrefix& inner, const IpPrefix& outer) {
  return inner.address.length == outer.address.length && inner.length >= outer.length &&
         NetworkOf({inner.address, outer.length}) == NetworkOf(outer);
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  void Line(std::string_view line) {
    ++number_;
    line = Trim(line);
    if (line.empty() || line[0] == '#') return;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) Fail("this is not KEY=VALUE: " + std::string(line));
    key_ = Trim(line.substr(0, equals));
    Field(Trim(line.substr(equals + 1)));
  }

  SubnetFile Finish() {
    SubnetFile file;
    for (const Family* family : {&v4_, &v6_}) {
      if (family->networks.empty() && !family->subnet) continue;
      if (family->networks.empty()) Missing(std::string(family->infix) + "NETWORK");
      if (!family->subnet) Missing(std::string(family->infix) + "SUBNET");
      CheckInside(*family);
      file.networks.insert(file.networks.end(), family->networks.begin(), family->networks.end());
      file.subnets.push_back(*family->subnet);
    }
    if (file.subnets.empty()) Missing("NETWORK and FLANNEL_SUBNET");
    if (!mtu_) Missing("MTU");
    if (!ipMasq_) Missing("IPMASQ");
    const uint32_t least = v6_.subnet ? kLeastMtu6 : kLeastMtu4;
    if (*mtu_ < least)
      Refuse("the mtu " + std::to_string(*mtu_) + " is less than the " + std::to_string(least) + " that its networks need");
    file.mtu = *mtu_;
    file.ipMasq = *ipMasq_;
    return file;
  }

 private:
  struct Family {
    std::string_view infix;
    uint8_t length;
    const char* example;
    std::vector<IpPrefix> networks;
    std::optional<IpPrefix> subnet;
  };

  // Keys of no interest to us are the daemon's own business.
  void Field(std::string_view value) {
    std::string_view name = key_;
    const auto prefix =
        std::find_if(std::begin(kPrefixes), std::end(kPrefixes), [&](std::string_view known) { return name.starts_with(known); });
    if (prefix == std::end(kPrefixes)) return;
    name.remove_prefix(prefix->size());
    for (Family* family : {&v4_, &v6_}) {
      if (!name.starts_with(family->infix)) continue;
      const std::string_view rest = name.substr(family->infix.size());
      if (rest == "NETWORK") family->networks = ParseList(value, *family);
      if (rest == "SUBNET") family->subnet = ParsePrefix(value, *family);
    }
    if (name == "MTU") mtu_ = ParseMtu(value);
    if (name == "IPMASQ") ipMasq_ = ParseBool(value);
  }

  IpPrefix ParsePrefix(std::string_view text, const Family& family) {
    const auto prefix = IpPrefix::Parse(text);
    if (!prefix || prefix->address.length != family.length || text.find('/') == std::string_view::npos)
      Expect(family.example, text);
    return {NetworkOf(*prefix), prefix->length};  // the daemon writes the node's first address, not its network
  }

  // flanneld writes several networks with commas between them.
  std::vector<IpPrefix> ParseList(std::string_view text, const Family& family) {
    std::vector<IpPrefix> list;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      list.push_back(ParsePrefix(Trim(text.substr(at, end - at)), family));
      at = end + 1;
    }
    return list;
  }

  uint32_t ParseMtu(std::string_view text) {
    uint32_t mtu = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mtu);
    if (error != std::errc() || end != text.data() + text.size() || mtu > kMostMtu) Expect("a number up to 65535", text);
    return mtu;
  }

  bool ParseBool(std::string_view text) {
    if (text != "true" && text != "false") Expect("true or false", text);
    return text == "true";
  }

  void CheckInside(const Family& family) {
    const bool inside = std::any_of(family.networks.begin(), family.networks.end(),
                                    [&](const IpPrefix& network) { return IsInside(*family.subnet, network); });
    if (!inside)
      Refuse("the node's subnet " + family.subnet->ToString() + " lies outside the network " + family.networks[0].ToString());
  }

  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(Code::InvalidConfiguration, "subnet file " + path_ + ": " + what, "restart the overlay daemon that writes it");
  }
  [[noreturn]] void Fail(const std::string& what) const { Refuse("line " + std::to_string(number_) + ": " + what); }
  [[noreturn]] void Expect(const std::string& expected, std::string_view text) const {
    Fail(std::string(key_) + " must be " + expected + ", not \"" + std::string(text) + "\"");
  }
  [[noreturn]] void Missing(const std::string& name) const { Refuse("FLANNEL_" + name + " is missing"); }

  const std::string& path_;
  size_t number_ = 0;
  std::string_view key_;
  Family v4_{"", 4, "an IPv4 network like 10.1.0.0/16", {}, std::nullopt};
  Family v6_{"IPV6_", 16, "an IPv6 network like fd00:1::/64", {}, std::nullopt};
  std::optional<uint32_t> mtu_;
  std::optional<bool> ipMasq_;
};

[[noreturn]] void FailToOpen(const std::string& path, int error) {
  if (error != ENOENT && error != ENOTDIR)
    throw Error(Code::IoFailure, "subnet file " + path + " cannot be read: " + strerror(error));
  throw Error(Code::TryAgainLater, "subnet file " + path + " is not there (yet)",
              "the overlay daemon writes it when it has a subnet for this node; see that it runs. flanneld writes "
              "/run/flannel/subnet.env, a node of "
              "Trellis /run/trellis/<id>/subnet.env: name another file as \"subnetFile\"");
}

}  // namespace

SubnetFile SubnetFile::Parse(std::string_view text, const std::string& path) {
  Reader reader(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    reader.Line(text.substr(at, end - at));
    at = end + 1;
  }
  return reader.Finish();
}

SubnetFile SubnetFile::Read(const std::string& path) {
  const auto text = ReadRegular(path, kMaxSubnetFile, Links::Follow);
  if (!text) FailToOpen(path, errno);
  return Parse(*text, path);
}

bool SubnetFile::Holds(const IpAddress& address) const {
  return std::any_of(subnets.begin(), subnets.end(), [&](const IpPrefix& subnet) {
    return IsInside({address, static_cast<uint8_t>(address.length * 8)}, subnet);
  });
}

}  // namespace trellis::cni
