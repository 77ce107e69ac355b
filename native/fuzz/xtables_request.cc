// Changes of legacy tables, from JSON to checked steps.
// Property: nothing but an InputError refuses one, and what is accepted can be done or refused on an empty table.
#include "fuzz/fuzz.h"
#include "xtables/request.h"

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::xtables;
  fuzz::Accepts([&] {
    const json::Document document(fuzz::TextOf(input));
    const Request request = Request::Read(document.root());
    const Layout& layout = LayoutOf(request.domain);
    const std::string bytes = Return(layout) + ChainHead(layout, "ERROR");
    Table table(layout, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, {.valid = 2});
    Change(table, request);
    const Arrangement to = table.Arrange();
    std::vector<uint8_t> written(to.size.bytes);
    to.WriteTo(written.data(), reinterpret_cast<const uint8_t*>(bytes.data()));
    Table(layout, written, to.hooks);
  });
}
