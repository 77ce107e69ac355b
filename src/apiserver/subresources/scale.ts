// The scale subresource: how many replicas there are and should be, the same for every kind that has them.
// Guarantees: writing a Scale changes nothing but the number of replicas, of the object that it names and no other.

import { ageColumn, column, nameColumn } from '../../api/columns.js';
import type { V1Scale } from '../../api/gen/types.js';
import type { KindDefinition, ScaleFields } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { applyPatch } from '../../api/patch/patch.js';
import { conflict, invalid, notFound, statusError } from '../../api/status.js';
import { atOnce } from '../../api/steps.js';
import { type ApiResponse, jsonResponse } from '../exchange.js';
import { applyAcross } from '../fields/versions.js';
import { table, tableOptions } from '../output/table.js';
import { shownObject, versionsOf } from '../registry/conversion.js';
import { parseObject } from '../registry/encode.js';
import { type DraftObject, metaOf } from '../registry/metadata.js';
import { MODIFIED, readCurrent } from '../registry/readAndWrite.js';
import { type Transform, updateObject } from '../registry/update.js';
import type { Call, ServerContext } from '../serverContext.js';
import { isApply, isForced, readApplyBody, writerOf } from '../verbs/apply.js';
import { decodeOther, readData } from '../verbs/body.js';
import { readPatch } from '../verbs/patch.js';
import { writeContext } from '../verbs/write.js';

const COLUMNS = [
  nameColumn,
  column<V1Scale>('Desired', ({ spec }) => spec?.replicas ?? 0, {
    type: 'integer',
    description: 'How many replicas there should be.',
  }),
  column<V1Scale>('Available', ({ status }) => status?.replicas ?? 0, {
    type: 'integer',
    description: 'How many replicas there are.',
  }),
  ageColumn,
] as KindDefinition['columns'];

export async function scale(server: ServerContext, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const fields = kind.scale;
  if (fields === undefined) throw notFound(kind.type, call.info.name);
  const context = writeContext(kind, call);
  if (call.info.verb === 'get') {
    const object = (await shownObject(context, await readCurrent(server, context))).parse<KubeObject>();
    if (fields.replicas(object) === undefined) {
      const why = `the spec replicas field ${JSON.stringify(fields.replicasPath)} does not exist`;
      throw statusError('InternalError', `Internal error occurred: ${why}`);
    }
    return shown(scaleOf(fields, object), call, server.now());
  }
  const isApplied = call.info.verb === 'patch' && isApply(call);
  const transform = isApplied
    ? await appliedScale(server, kind, fields, call)
    : await changedScale(kind, fields, call);
  const bytes = await updateObject(server, context, { mode: 'user', tracked: isApplied, transform });
  return jsonResponse(200, scaleOf(fields, parseObject(bytes)));
}

function shown(found: V1Scale, { negotiated: { form, version }, query }: Call, now: number): ApiResponse {
  if (form !== 'table') return jsonResponse(200, found);
  const metadata = { resourceVersion: found.metadata?.resourceVersion };
  return jsonResponse(200, table({ columns: COLUMNS }, [found], metadata, tableOptions(query, version, now)));
}

type Fields = ScaleFields<KubeObject>;

async function changedScale(kind: KindDefinition, fields: Fields, call: Call): Promise<Transform> {
  const wanted = await wantedScale(kind, call);
  return (current) => {
    const next = wanted(scaleOf(fields, current));
    if (next.spec?.replicas === UNSET) throw emptyReplicas(fields);
    checkScale(kind, call.info.name, next, current);
    const draft = structuredClone(current);
    fields.setReplicas(draft, next.spec?.replicas ?? 0);
    return draft as DraftObject;
  };
}

/** A Scale that is applied is a configuration of the object that says its number of replicas and nothing else. */
async function appliedScale(
  server: ServerContext,
  kind: KindDefinition,
  fields: Fields,
  call: Call,
): Promise<Transform> {
  const writer = writerOf(server, writeContext(kind, call), call);
  const next = decodeOther<V1Scale>('V1Scale', (await readApplyBody(call)).data);
  const force = isForced(call);
  const versions = versionsOf({ kind, ...call });
  return async (live, pause) => {
    checkScale(kind, call.info.name, next, live);
    const { name, namespace } = live.metadata ?? {};
    const config: DraftObject = { metadata: { name, namespace }, spec: {} };
    if (next.spec?.replicas !== undefined) fields.setReplicas(config, next.spec.replicas);
    const request = { kind, live, config, writer, force };
    const { object, managedFields } = await applyAcross(request, versions, pause);
    if (fields.replicas(object as KubeObject) === undefined) throw emptyReplicas(fields);
    const draft = structuredClone(object) as DraftObject;
    metaOf(draft).managedFields = managedFields;
    return draft;
  };
}

async function wantedScale(kind: KindDefinition, call: Call): Promise<(current: V1Scale) => V1Scale> {
  if (call.info.verb === 'update') {
    const sent = decodeOther<V1Scale>('V1Scale', await readData(call));
    return () => sent;
  }
  if (call.info.verb !== 'patch') {
    throw statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource');
  }
  const patch = await readPatch(call, kind);
  return (current) =>
    decodeOther<V1Scale>('V1Scale', atOnce(applyPatch({ ...patch, document: current, model: 'V1Scale' })));
}

function checkScale(kind: KindDefinition, name: string, next: V1Scale, current: KubeObject): void {
  const { name: sentName = '', namespace = '', uid = '', resourceVersion: sent = '' } = next.metadata ?? {};
  if (
    (sentName !== '' && sentName !== name) ||
    (namespace !== '' && namespace !== current.metadata?.namespace)
  ) {
    throw statusError('BadRequest', 'the name or namespace of the Scale does not match the one on the URL');
  }
  const held = current.metadata?.uid ?? '';
  if (uid !== '' && uid !== held) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${held}`;
    throw conflict(kind.type, name, why);
  }
  if (sent !== '' && sent !== current.metadata?.resourceVersion) throw conflict(kind.type, name, MODIFIED);
  const replicas = next.spec?.replicas ?? 0;
  if (Number.isInteger(replicas) && replicas >= 0) return;
  throw invalid({ group: 'autoscaling', kind: 'Scale' }, name, [
    {
      field: 'spec.replicas',
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${replicas}: must be greater than or equal to 0`,
    },
  ]);
}

/** Stands for a number that was never given: a patch that leaves it alone is refused. */
const UNSET = -(2 ** 31);

const emptyReplicas = ({ replicasPath }: Fields) =>
  statusError('BadRequest', `the spec replicas field ${JSON.stringify(replicasPath)} cannot be empty`);

function scaleOf(fields: ScaleFields<KubeObject>, object: KubeObject): V1Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata ?? {};
  const selector = fields.selector(object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: fields.replicas(object) ?? UNSET },
    status: { replicas: fields.statusReplicas(object), ...(selector === '' ? {} : { selector }) },
  };
}
