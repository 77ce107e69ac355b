// Answers the OpenAPI paths: builds a document when it is first asked for, then keeps its bytes.
// Guarantees: a server that nobody asks for texts never loads them.
import type { KindDefinition } from '../../api/kind.js';
import { componentStatusKind } from '../../api/kinds/componentStatus.js';
import { apiVersionOf, type ResourceType } from '../../api/resources.js';
import type { Definitions } from '../customResources/definitions.js';
import { type ApiResponse, bytesResponse, jsonResponse } from '../exchange.js';
import { type Served, servedForms } from '../verbs/served.js';
import { customModel } from './customOpenApi.js';
import { type DocumentOptions, openApiDocument, openApiIndex } from './openapi.js';
import { openApiV2, openApiV2Protobuf } from './openapiV2.js';

interface OpenApi {
  /** Undefined when there is no such document. */
  answer(parts: readonly string[]): Promise<ApiResponse | undefined>;
  v2Protobuf(): Promise<Buffer>;
}

interface Options {
  readonly kinds: readonly KindDefinition[];
  readonly definitions?: Pick<Definitions, 'version' | 'forms'> | undefined;
  readonly version: { readonly gitVersion: string };
  isServed?(type: ResourceType): boolean;
}

export function makeOpenApi({
  kinds: stored,
  definitions,
  version,
  isServed = () => true,
}: Options): OpenApi {
  const kinds = [...servedForms(stored), componentStatusKind].filter(({ type }) => isServed(type));
  const kept = new Map<string, Promise<Buffer | undefined>>();
  let keptOf = definitions?.version;
  const forms = () => definitions?.forms ?? [];
  const document = (name: string, build: (options: DocumentOptions) => Buffer | undefined) => {
    // A definition came, changed or went: every document may be another.
    if (keptOf !== definitions?.version) kept.clear();
    keptOf = definitions?.version;
    const isV2 = name.startsWith('v2');
    const custom = () =>
      forms()
        .filter((form) => isV2 || pathOf(form) === name)
        .map((form) => customModel(form, !isV2));
    const known =
      kept.get(name) ??
      described({ kinds, version: version.gitVersion }).then((options) =>
        build({ ...options, custom: custom() }),
      );
    kept.set(name, known);
    return known;
  };
  const index = () => openApiIndex([...kinds, ...forms().map(({ kind, version }) => version ?? kind)]);
  const hasDocument = (path: string) => Object.hasOwn((index() as { paths: object }).paths, path);
  const respond = (bytes: Buffer | undefined) =>
    bytes === undefined ? undefined : bytesResponse(200, bytes);
  return {
    async answer([, form, ...rest]) {
      if (form === 'v2' && rest.length === 0) {
        return respond(await document('v2', (options) => json(openApiV2(options))));
      }
      if (form !== 'v3') return undefined;
      if (rest.length === 0) return jsonResponse(200, index());
      const path = rest.join('/');
      if (!hasDocument(path)) return undefined; // nothing is kept for names that clients invent
      return respond(await document(path, (options) => json(openApiDocument(options, path))));
    },
    async v2Protobuf() {
      const bytes = await document('v2 protobuf', (options) => openApiV2Protobuf(openApiV2(options)));
      return bytes as Buffer;
    },
  };
}

/** Of the v3 document that a custom kind is in. */
const pathOf = ({ kind, version }: Served) => `apis/${apiVersionOf((version ?? kind).type)}`;

const json = (value: object | undefined) =>
  value === undefined ? undefined : Buffer.from(JSON.stringify(value));

async function described(
  options: Omit<DocumentOptions, 'descriptions' | 'custom'>,
): Promise<Omit<DocumentOptions, 'custom'>> {
  const { descriptions } = await import('../../api/gen/descriptions.js');
  return { ...options, descriptions };
}
