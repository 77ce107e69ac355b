// The messages of Kubernetes' protobuf: their fields, from the numbers kept here and the types of the schemas. Pure.
// Guarantees: a message is put together once, when it is first asked for.
import { schemas } from '../../api/gen/schemas.js';
import { isPointer } from '../../api/zeroValues.js';
import { fieldNumbers } from './fieldNumbers.js';

/** How every Kubernetes protobuf begins. */
export const MAGIC = Buffer.from('k8s\0');

export interface Field {
  readonly number: number;
  readonly name: string;
  /** As in the schemas, without the mark of required fields; `q` is a Quantity, `l` a list in a message of its own. */
  readonly code: string;
  /** The code of one value: of an item of a list, of a value of a map. */
  readonly item: string;
  readonly shape: 'one' | 'list' | 'map';
  /** Its fields belong to the message around it. */
  readonly inline: boolean;
  /** Go has a pointer, or the field must be there: a zero says something. */
  readonly keepsZero: boolean;
}

interface Message {
  readonly fields: readonly Field[];
  readonly byNumber: ReadonlyMap<number, Field>;
}

// Names that two groups share carry their group in the schemas.
const SHARED: Readonly<Record<string, string>> = {
  'v1/Event': 'CoreV1Event',
  'events.k8s.io/v1/Event': 'EventsV1Event',
  'authentication.k8s.io/v1/TokenRequest': 'AuthenticationV1TokenRequest',
  'resource.k8s.io/v1/ResourceClaim': 'ResourceV1ResourceClaim',
};

/** These are the same message in every group and version. */
const OPTIONS = new Set(['DeleteOptions', 'PartialObjectMetadata', 'Status']);

/** Of an object its metadata alone, whatever its kind: what the schemas, which are of kinds, do not have. */
export const PARTIAL_METADATA = 'V1PartialObjectMetadata';
const PARTIAL = { schema: { metadata: 'V1ObjectMeta' }, numbers: 'metadata=1' };

/** The name in the schemas of what a message is. */
export function modelOf({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): string {
  if (OPTIONS.has(kind)) return `V1${kind}`;
  const version = apiVersion.split('/').at(-1) ?? '';
  return SHARED[`${apiVersion}/${kind}`] ?? `${version.replace(/^v/, 'V')}${kind}`;
}

/** The types of a message's fields, and their numbers. */
interface MessageSource {
  readonly schema: Readonly<Record<string, string>> | undefined;
  readonly numbers: string | undefined;
}

const messages = new Map<string, Message>();

export function messageOf(model: string): Message {
  const known = messages.get(model);
  if (known !== undefined) return known;
  const [base = ''] = model.split('+');
  const { schema = {}, numbers = '' }: MessageSource =
    model === PARTIAL_METADATA ? PARTIAL : { schema: schemas[base], numbers: fieldNumbers[model] };
  const fields: Field[] = [];
  for (const entry of numbers.split(' ')) {
    const [, plus, name = '', number, mark] = /^(\+?)([$\w-]+)=(\d+)([qlaode]?)$/.exec(entry) ?? [];
    if (number === undefined) continue;
    const [, required, code = ''] = /^(!?)(.*)$/.exec(schema[name] ?? '') ?? [];
    const keepsZero = isPointer(base, name) || (required === '!' && /^[sibn]$/.test(code));
    fields.push({
      number: Number(number),
      name,
      ...shapeOf(marked(code, mark ?? '')),
      inline: plus === '+',
      keepsZero,
    });
  }
  fields.sort((a, b) => a.number - b.number);
  const message = { fields, byNumber: new Map(fields.map((field) => [field.number, field])) };
  messages.set(model, message);
  return message;
}

function shapeOf(code: string): Pick<Field, 'code' | 'item' | 'shape'> {
  if (code.startsWith('[]')) return { code, item: code.slice(2), shape: 'list' };
  return code.startsWith('{}')
    ? { code, item: code.slice(2), shape: 'map' }
    : { code, item: code, shape: 'one' };
}

/** A Quantity, an inner list and what may be of two types have no code of their own in the schemas. */
function marked(code: string, mark: string): string {
  if (mark === 'q') return code.replace(/s$/, 'q');
  if (mark !== '' && mark !== 'l') return code.replace(/any$/, `any-${mark}`);
  return mark === 'l' ? code.replace(/\[\]s$/, 'l') : code;
}
