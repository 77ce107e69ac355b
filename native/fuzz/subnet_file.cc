// The node's subnet file, as an overlay daemon writes it.
// Property: what is accepted has a subnet inside its network, and an MTU.
#include "fuzz/cni.h"
#include "vxlan/subnet_file.h"

FUZZ_TARGET {
  using namespace trellis;
  cni::Reads([&] {
    const auto file = cni::SubnetFile::Parse(fuzz::TextOf(input), "subnet.env");
    MUST(!file.subnets.empty() && !file.networks.empty() && file.mtu >= 68);
    for (const IpPrefix& subnet : file.subnets) MUST(file.Holds(subnet.address));
  });
}
