// The text of entries, for every set type and family.
// Property: what is accepted says the same after its attributes were decoded, and is accepted again.
#include <sys/socket.h>

#include "fuzz/fuzz.h"
#include "netlink/ipset/entry.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  constexpr std::string_view kTypes[] = {"hash:ip",  "hash:ip,port",  "hash:ip,port,ip", "hash:ip,port,net", "hash:ip,mark",
                                         "hash:net", "hash:net,port", "hash:net,iface",  "bitmap:port",      "list:set"};
  const json::Document value(fuzz::Quoted(fuzz::TextOf(input)));
  for (const auto name : kTypes)
    for (const uint8_t family : {AF_INET, AF_INET6}) {
      const SetShape shape{FindSetType(name), std::string(name), family};
      fuzz::Accepts([&] {
        SetEntry entry = SetEntry::Read(value.root(), shape);
        Batch batch;
        batch.Begin(0, 0);
        entry.Encode(batch);
        batch.End();
        const Bytes message(batch.data() + sizeof(nlmsghdr), batch.size() - sizeof(nlmsghdr));
        ForEachAttribute(message, [&](const Attribute& attribute) {
          const std::string text = SetEntry::Decode(attribute.data).Text();
          const json::Document again(fuzz::Quoted(text));
          MUST(SetEntry::Read(again.root(), shape).Text() == text);
        });
      });
    }
}
