// The events of a watch: where readers of one process are given the same bytes, they are read once.
import { expect, it } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { PODS } from '../../../src/api/resources.js';
import type { Transport } from '../../../src/client/transport.js';
import { watchEvents } from '../../../src/client/watchStream.js';

const line = (type: string, resourceVersion: string) =>
  Buffer.from(`${JSON.stringify({ type, object: { metadata: { name: 'p', resourceVersion } } })}\n`);

/** Sends these pieces to everyone who asks. */
function sending(pieces: readonly Uint8Array[], isShared: boolean): Transport {
  return {
    request: async () => ({
      status: 200,
      headers: {},
      isShared,
      body: (async function* () {
        yield* pieces;
      })(),
    }),
    close() {},
  };
}

async function objectsOf(transport: Transport): Promise<Stored<V1Pod>[]> {
  const closing = new AbortController().signal;
  const objects: Stored<V1Pod>[] = [];
  const query = { resourceVersion: '0' };
  for await (const event of watchEvents<V1Pod>({ type: PODS, query, transport, closing }))
    if (event.type !== 'BOOKMARK') objects.push(event.object);
  return objects;
}

it('two readers of the same pieces hold the same objects, which nobody can change', async () => {
  const transport = sending([line('ADDED', '1'), line('BOOKMARK', '2'), line('MODIFIED', '3')], true);
  const [one, other] = [await objectsOf(transport), await objectsOf(transport)];
  expect(one.map(({ metadata }) => metadata.resourceVersion)).toEqual(['1', '3']);
  one.forEach((object, at) => {
    expect(other[at]).toBe(object);
  });
  expect(one.every((object) => Object.isFrozen(object.metadata))).toBe(true);
});

it('pieces from a connection are of each reader alone, however they are cut', async () => {
  const whole = Buffer.concat([line('ADDED', '1'), line('MODIFIED', '3')]);
  for (const cut of [1, 10, line('ADDED', '1').length, whole.length - 1]) {
    const transport = sending([whole.subarray(0, cut), whole.subarray(cut)], false);
    const [one, other] = [await objectsOf(transport), await objectsOf(transport)];
    expect(one).toEqual(other);
    expect(one.map(({ metadata }) => metadata.resourceVersion)).toEqual(['1', '3']);
    expect(one[0]).not.toBe(other[0]);
  }
});
