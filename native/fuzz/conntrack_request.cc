// Flows to add, from JSON to messages.
// Property: an accepted flow says the same after its message was decoded, and after JSON again.
#include "fuzz/fuzz.h"
#include "netlink/conntrack/flow.h"

namespace trellis::netlink::conntrack {

namespace {

Flow Read(const json::Value& value) {
  FromJson from(value);
  Flow flow;
  flow.Describe(from);
  from.Finish();
  flow.Complete();
  return flow;
}

std::string TextOf(Flow& flow) {
  json::Writer to;
  ToJson(to).Object(flow);
  return to.Take();
}

}  // namespace

}  // namespace trellis::netlink::conntrack

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  fuzz::AcceptsObject(input, [&](const json::Value& root) {
    conntrack::Flow flow = conntrack::Read(root);
    // From here on nothing may be refused: a batch is checked whole before its first message is sent.
    try {
      const std::string text = conntrack::TextOf(flow);
      conntrack::Flow again = conntrack::Read(json::Document(text).root());
      MUST(conntrack::TextOf(again) == text);
      Batch batch;
      flow.EncodeAdd(batch, 0);
      size_t count = 0;
      ForEachMessage({batch.data(), batch.size()}, [&](const MessageView& message) {
        conntrack::Flow decoded = conntrack::Flow::Decode(message);
        json::Document(conntrack::TextOf(decoded));
        MUST(decoded.protocol == flow.protocol && decoded.original->source == flow.original->source);
        ++count;
      });
      MUST(count == 1);
    } catch (const std::exception& error) {
      fprintf(stderr, "an accepted flow was refused later: %s\n", error.what());
      abort();
    }
  });
}
