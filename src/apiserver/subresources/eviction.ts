// pods/eviction: a deletion that a drain asks for. No kind can forbid it yet, so it deletes as its options say.
import type { V1Eviction } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { type ApiResponse, jsonResponse } from '../exchange.js';
import type { Call, Machinery } from '../machinery.js';
import { deleteObject } from '../registry/delete.js';
import { decodeOther, readData } from '../verbs/body.js';
import { deleteRequest } from '../verbs/options.js';
import { writeContext } from '../verbs/write.js';

export async function evict(machinery: Machinery, kind: KindDefinition, call: Call): Promise<ApiResponse> {
  const { deleteOptions } = decodeOther<V1Eviction>('V1Eviction', await readData(call));
  const { options, dryRun } = deleteRequest(deleteOptions ?? {}, call.query);
  await deleteObject(machinery, { ...writeContext(kind, call), dryRun }, options);
  return jsonResponse(201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}
