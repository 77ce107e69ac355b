// The addresses that host-local hands out, over a directory of its own.
#include <cstdlib>
#include <filesystem>

#include "cni/error.h"
#include "host-local/ipam.h"
#include "host-local/range.h"
#include "test/check.h"

using namespace trellis;
using namespace trellis::cni;

namespace {

// A network over one range, and a container for each call.
class Network {
 public:
  explicit Network(std::string range) : range_(std::move(range)) {
    char name[] = "/tmp/trellis-host-local-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Network() { std::filesystem::remove_all(folder_); }

  std::string Add(const std::string& requested = "") {
    const std::string runtime = requested.empty() ? "" : R"("runtimeConfig":{"ips":[")" + requested + "\"]},";
    const json::Document document(R"({"cniVersion":"1.0.0","name":"net",)" + runtime +
                                  R"("ipam":{"type":"host-local","dataDir":")" + folder_ + R"(","ranges":[[)" + range_ + "]]}}");
    Environment env{};
    env.containerId = "container" + std::to_string(++containers_);
    env.interfaceName = "eth0";
    return kHostLocal.add(Request::Read(env, document.root(), "")).ips.at(0).address.ToString();
  }

 private:
  std::string range_;
  std::string folder_;
  int containers_ = 0;
};

}  // namespace

TEST("host-local hands out every address of a subnet but the network's, the gateway's and the broadcast address") {
  Network network(R"({"subnet":"10.1.2.0/29"})");
  for (const char* address : {"10.1.2.2/29", "10.1.2.3/29", "10.1.2.4/29", "10.1.2.5/29", "10.1.2.6/29"})
    CHECK_EQUAL(network.Add(), address);
  CHECK_THROWS(Error, "no IP addresses available in range set: 10.1.2.1-10.1.2.6", network.Add());
}

TEST("host-local hands out neither its gateway nor the broadcast address on request") {
  Network network(R"({"subnet":"10.1.2.0/29","gateway":"10.1.2.4"})");
  CHECK_THROWS(Error, "requested ip 10.1.2.4 is subnet's gateway", network.Add("10.1.2.4"));
  CHECK_THROWS(Error, "failed to allocate all requested IPs: 10.1.2.7", network.Add("10.1.2.7"));
  CHECK_THROWS(Error, "failed to allocate all requested IPs: 10.1.2.0", network.Add("10.1.2.0"));
  CHECK_EQUAL(network.Add("10.1.2.5"), "10.1.2.5/29");
  CHECK_THROWS(Error, "requested IP address 10.1.2.5 is not available", network.Add("10.1.2.5"));
}

TEST("host-local leaves out a gateway within the range, and knows no broadcast address of IPv6") {
  Network network(R"({"subnet":"10.1.2.0/24","rangeStart":"10.1.2.9","rangeEnd":"10.1.2.11","gateway":"10.1.2.10"})");
  CHECK_EQUAL(network.Add(), "10.1.2.9/24");
  CHECK_EQUAL(network.Add(), "10.1.2.11/24");
  CHECK_THROWS(Error, "no IP addresses available", network.Add());
  Network six(R"({"subnet":"fd00::/126"})");
  CHECK_EQUAL(six.Add(), "fd00::2/126");
  CHECK_EQUAL(six.Add(), "fd00::3/126");
  CHECK_THROWS(Error, "no IP addresses available", six.Add());
}
