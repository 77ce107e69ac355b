// nf_tables requests, from JSON to messages.
// Property: an accepted request can be encoded, into messages that the decoders read.
#include "fuzz/fuzz.h"
#include "netlink/nftables/family.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  fuzz::AcceptsObject(input, [&](const json::Value& root) {
    NftRequest request = NftRequest::Read(root);
    Batch batch;
    std::visit(
        [&](auto& object) {
          if constexpr (requires { object.Encode(batch, request.verb, 0); }) object.Encode(batch, request.verb, 0);
        },
        request.object);
    ForEachMessage({batch.data(), batch.size()}, [&](const MessageView& message) {
      json::Writer to;
      if (WriteNftObject(message, to)) json::Document(to.Take());
    });
  });
}
