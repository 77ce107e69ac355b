// Datagrams of rtnetlink events, whatever messages they hold.
#include "fuzz/fuzz.h"
#include "netlink/route/monitor.h"

FUZZ_TARGET {
  std::string events;
  if (!trellis::fuzz::Reads([&] { events = trellis::netlink::ReadEvents(input); }) || events.empty()) return;
  const trellis::json::Document document(events);
  MUST(document.root().IsArray() && !document.root().items().empty());
}
