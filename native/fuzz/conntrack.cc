// The decoder of tracked flows, and what is made of one: its JSON, the filters' key, the message that deletes it.
#include "fuzz/fuzz.h"
#include "netlink/conntrack/filter.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  const auto decode = [](const MessageView& message, json::Writer& to) {
    conntrack::Flow flow = conntrack::Flow::Decode(message);
    ToJson(to).Object(flow);
    MUST(conntrack::FlowKey::Of(flow) == conntrack::FlowKey::Of(flow));
    MUST(conntrack::FilterSet().Matches(flow));
    Batch batch;
    conntrack::EncodeDelete(batch, message, 0);
    size_t count = 0;
    ForEachMessage({batch.data(), batch.size()}, [&](const MessageView&) { ++count; });
    MUST(count == batch.messages().size());
  };
  fuzz::DecodePayload(conntrack::MessageType(IPCTNL_MSG_CT_NEW), input, decode);
}
