// /openapi/v2 for kubectl before 1.27, which creates nothing until it has read such a document, in protobuf. Pure.
// Guarantees: a valid document that describes no kinds: such a kubectl then leaves the checks to the server, which warns.

/** What clients ask for. It is no media type by the grammar (RFC 6838 has no @), and Go refuses to read it as one. */
export const OPENAPI_V2_ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
export const OPENAPI_V2_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** gnostic's openapi.v2.Document: swagger is field 1; info field 2, in it title 1 and version 2. */
export function openApiV2Document(version: string): Buffer {
  const info = Buffer.concat([text(1, 'Kubernetes'), text(2, version)]);
  return Buffer.concat([text(1, '2.0'), field(2, info)]);
}

const text = (number: number, value: string) => field(number, Buffer.from(value));

/** Length-delimited. Short enough here for lengths of one byte. */
function field(number: number, value: Buffer): Buffer {
  if (value.length > 0x7f) throw new RangeError('a field of this document is at most 127 bytes long');
  return Buffer.concat([Buffer.from([number * 8 + 2, value.length]), value]);
}
