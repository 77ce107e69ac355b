import { expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { structural } from '../../../../src/api/structural/schema.js';
import { makeOpenApi } from '../../../../src/apiserver/discovery/openapiDocuments.js';

test('a document of one group reads the schemas of that group alone', async () => {
  const read: string[] = [];
  const forms = ['one', 'two', 'three'].map((name) => {
    const type = { group: `${name}.com`, version: 'v1', resource: 'things', kind: 'Thing', namespaced: true };
    const custom = {
      get schema() {
        read.push(name);
        return structural({ type: 'object', description: `Of ${name}.` });
      },
    };
    return { kind: { type, model: name, custom } as unknown as KindDefinition, version: undefined };
  });
  const openApi = makeOpenApi({
    kinds: [],
    definitions: { version: 1, forms },
    version: { gitVersion: 'v1.36.0' },
  });
  const answer = await openApi.answer(['openapi', 'v3', 'apis', 'two.com', 'v1']);
  expect(answer?.status).toBe(200);
  expect(read).toEqual(['two']);
  expect(await openApi.answer(['openapi', 'v3', 'apis', 'four.com', 'v1'])).toBeUndefined();
  await openApi.answer(['openapi', 'v2']);
  expect(read).toEqual(['two', 'one', 'two', 'three']);
});
