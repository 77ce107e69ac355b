// What a conversion webhook is asked and what it may answer. Pure.
// Guarantees: an answer counts only when it is about this question and has every object, in order, as the version that was
// asked for; of metadata a webhook changes labels and annotations and nothing else. Refusals are in Kubernetes' words.
import { validateAnnotations, validateLabels } from '../../../api/meta.js';
import type { KubeObject } from '../../../api/object.js';
import {
  copyJson,
  getOwn,
  isMembers,
  isTooDeep,
  type Members,
  sameJson,
  setOwn,
} from '../../../api/ownKeys.js';
import { ConversionError } from './error.js';

const GROUP = 'apiextensions.k8s.io';
const KNOWN_VERSIONS = new Set(['v1', 'v1beta1']);

interface Question {
  readonly reviewVersion: string;
  readonly uid: string;
  readonly objects: readonly KubeObject[];
  readonly desiredAPIVersion: string;
}

/** The first of the webhook's versions that is known here. */
export function reviewVersionOf(versions: readonly string[]): string {
  const version = versions.find((name) => KNOWN_VERSIONS.has(name));
  if (version === undefined) throw new ConversionError('CALL', 'no supported conversion review versions');
  return version;
}

export function reviewText({ reviewVersion, uid, objects, desiredAPIVersion }: Question): string {
  return JSON.stringify({
    kind: 'ConversionReview',
    apiVersion: `${GROUP}/${reviewVersion}`,
    request: { uid, desiredAPIVersion, objects },
    response: { uid: '', convertedObjects: null, result: { metadata: {} } },
  });
}

/** The converted objects of an answer. Throws ConversionError. */
export function convertedObjects(question: Question, answer: unknown): readonly KubeObject[] {
  const lead = leadOf(question);
  const found = responseObjects(question, answer, lead);
  const { objects, desiredAPIVersion } = question;
  if (found.length !== objects.length)
    throw new ConversionError(
      'PARTIAL',
      `${lead} returned ${found.length} objects, expected ${objects.length}`,
    );
  const word = objects.length === 1 ? 'object' : 'converted object';
  return objects.map((original, index) => {
    const converted = found[index];
    const fault = (why: string) =>
      new ConversionError('OBJECT', `${lead} returned invalid ${word} at index ${index}: ${why}`);
    if (!isMembers(converted)) throw fault(`Object 'Kind' is missing in '${JSON.stringify(converted)}'`);
    if (isTooDeep(converted)) throw fault('exceeded max depth');
    checkConverted(original, converted, { desiredAPIVersion, fault });
    const place = objects.length === 1 ? '' : ` in object at index ${index}`;
    return withMetadataOf(original, converted, (why) => {
      throw new ConversionError('OBJECT', `${lead} returned invalid metadata${place}: ${why}`);
    });
  });
}

/** `conversion webhook for example.com/v1, Kind=Backup`. */
export function leadOf({ objects }: Pick<Question, 'objects'>): string {
  const { apiVersion = '', kind = '' } = objects[0] ?? {};
  return `conversion webhook for ${apiVersion}, Kind=${kind}`;
}

function responseObjects({ reviewVersion, uid }: Question, answer: unknown, lead: string): unknown[] {
  const refuse = (why: string) => new ConversionError('MALFORMED', `${lead} failed: ${why}`);
  if (!isMembers(answer)) throw refuse("couldn't get version/kind; json parse error: it is no object");
  const wanted = `${GROUP}/${reviewVersion}, Kind=ConversionReview`;
  const got = `${textOf(answer, 'apiVersion')}, Kind=${textOf(answer, 'kind')}`;
  // An older webhook may leave out what the older version did not ask for.
  const isStrict = reviewVersion !== 'v1beta1';
  if (isStrict && got !== wanted) throw refuse(`expected webhook response of ${wanted}, got ${got}`);
  const response = getOwn(answer, 'response');
  if (!isMembers(response)) throw refuse('no response provided');
  const sentUid = textOf(response, 'uid');
  if (isStrict && sentUid !== uid)
    throw refuse(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(sentUid)}`);
  const result = getOwn(response, 'result');
  const status = isMembers(result) ? textOf(result, 'status') : '';
  if (status !== 'Success') {
    const message = isMembers(result) ? textOf(result, 'message') : '';
    throw refuse(message === '' ? `response.result.status was '${status}', not 'Success'` : message);
  }
  const objects = getOwn(response, 'convertedObjects');
  return Array.isArray(objects) ? objects : [];
}

interface Expected {
  readonly desiredAPIVersion: string;
  fault(why: string): ConversionError;
}

function checkConverted(original: KubeObject, converted: Members, { desiredAPIVersion, fault }: Expected) {
  const version = textOf(converted, 'apiVersion');
  if (version !== desiredAPIVersion)
    throw fault(`invalid groupVersion (expected ${desiredAPIVersion}, received ${version})`);
  const kind = textOf(converted, 'kind');
  if (kind !== original.kind) throw fault(`invalid kind (expected ${original.kind}, received ${kind})`);
  const metadata = getOwn(converted, 'metadata');
  const meta = isMembers(metadata) ? metadata : {};
  for (const [field, name] of SAME) {
    const before = original.metadata?.[field] ?? '';
    const after = textOf(meta, field);
    if (before !== after) throw fault(`must have the same ${name}: ${before} != ${after}`);
  }
}

const SAME = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

function withMetadataOf(original: KubeObject, converted: Members, refuse: (why: string) => never) {
  const metadata = getOwn(converted, 'metadata');
  if (metadata === undefined) refuse('missing metadata in converted object');
  if (!isMembers(metadata)) refuse(`invalid metadata of type ${goType(metadata)} in converted object`);
  const kept = copyJson((original.metadata ?? {}) as Members);
  for (const field of ['labels', 'annotations'] as const) {
    const sent = getOwn(metadata as Members, field);
    if (sent === undefined || sent === null) delete kept[field];
    else kept[field] = sameJson(sent, kept[field]) ? sent : checkedTexts(field, sent, refuse);
  }
  const result: Members = {};
  for (const name of Object.keys(converted)) setOwn(result, name, converted[name]);
  result['metadata'] = kept;
  return result as KubeObject;
}

function checkedTexts(field: 'labels' | 'annotations', sent: unknown, refuse: (why: string) => never) {
  if (!isMembers(sent)) refuse(`invalid metadata.${field} of type ${goType(sent)} in converted object`);
  const texts = sent as Record<string, string>;
  for (const [name, value] of Object.entries(texts))
    if (typeof value !== 'string')
      refuse(`metadata.${field}[${name}] must be a string, but is ${goType(value)} in converted object`);
  const faults =
    field === 'labels'
      ? validateLabels(texts, 'metadata.labels')
      : validateAnnotations(texts, 'metadata.annotation');
  const sentences = faults.map((fault) => `${fault.field}: ${fault.message}`);
  if (sentences.length > 0)
    refuse(sentences.length === 1 ? (sentences[0] ?? '') : `[${sentences.join(', ')}]`);
  return texts;
}

function textOf(members: Members, name: string): string {
  const value = getOwn(members, name);
  return typeof value === 'string' ? value : '';
}

/** As Go names the type of a JSON value. */
function goType(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
