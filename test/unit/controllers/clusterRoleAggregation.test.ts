// Aggregated roles follow the roles they select.
import { expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { CLUSTER_ROLES } from '../../../src/api/resources.js';
import {
  aggregatedRules,
  clusterRoleAggregationController,
} from '../../../src/controllers/clusterRoleAggregation.js';
import { FakeApi } from '../../support/fakeApi.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';

const rule = (resource: string) => ({ verbs: ['get'], apiGroups: [''], resources: [resource] });
const role = (name: string, rules: object[], labels = {}, extra = {}) => ({
  metadata: { name, labels },
  rules,
  ...extra,
});

test('a role gets the rules of those it selects, each once, and loses them again', async () => {
  const client = new FakeApi();
  const informers = new StaticInformers();
  const roles = informers.of(CLUSTER_ROLES);
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { to: 'all' } }] };
  const all = role('all', [], { to: 'all' }, { aggregationRule });
  client.put(CLUSTER_ROLES, all);
  for (const one of [
    all,
    role('b', [rule('pods'), rule('nodes')], { to: 'all' }),
    role('a', [rule('pods')], { to: 'all' }),
    role('c', [rule('secrets')]),
  ])
    roles.set(one);
  const stop = new AbortController();
  const running = clusterRoleAggregationController.run({
    client,
    informers,
    log: silentLog,
    signal: stop.signal,
    record: () => {},
    now: Date.now,
  });
  const rulesNow = async () => (await client.of(CLUSTER_ROLES).get({ name: 'all' })).rules;
  try {
    await until(async () => expect(await rulesNow()).toEqual([rule('pods'), rule('nodes')]));
    roles.set(await client.of(CLUSTER_ROLES).get({ name: 'all' }));
    roles.remove('b');
    await until(async () => expect(await rulesNow()).toEqual([rule('pods')]));
    const settled = await client.of(CLUSTER_ROLES).get({ name: 'all' });
    expect(aggregatedRules(settled, roles.list())).toBeUndefined();
  } finally {
    stop.abort();
    await running;
  }
});
