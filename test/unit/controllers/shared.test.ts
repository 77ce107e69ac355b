// What all controllers stand on: expectations, own writes, slow start, claims, the list of names.
import { describe, expect, test } from 'vitest';
import { REPLICA_SETS } from '../../../src/api/resources.js';
import { adoptionPatch, planClaims } from '../../../src/controllers/claim.js';
import { enabledNames } from '../../../src/controllers/enabled.js';
import { Expectations } from '../../../src/controllers/expectations.js';
import { slowStart } from '../../../src/controllers/slowStart.js';
import { Writes } from '../../../src/controllers/writes.js';
import { WrittenVersions } from '../../../src/controllers/writtenVersions.js';
import { ago, pod, replicaSet } from './support/objects.js';

const FIVE_MINUTES = 5 * 60 * 1000;

describe('Expectations', () => {
  test('waits for each pod that was made, whichever of answer and event comes first', () => {
    const expectations = new Expectations(() => 0);
    expectations.expectCreates('k', 2);
    expectations.observedCreate('k', 'a');
    expectations.created('k', 'a');
    expectations.created('k', 'b');
    expect(expectations.satisfied('k')).toBe(false);
    expectations.observedCreate('k', 'a');
    expect(expectations.satisfied('k')).toBe(false);
    expectations.observedCreate('k', 'b');
    expect(expectations.satisfied('k')).toBe(true);
  });

  test('does not wait for what was refused', () => {
    const expectations = new Expectations(() => 0);
    expectations.expectCreates('k', 1);
    expectations.notCreated('k');
    expect(expectations.satisfied('k')).toBe(true);
  });

  test('waits for deletions by uid', () => {
    const expectations = new Expectations(() => 0);
    expectations.expectDeletes('k', ['a', 'b']);
    expectations.observedDelete('k', 'a');
    expectations.observedDelete('k', 'a');
    expect([expectations.satisfied('k'), expectations.isDeleting('k', 'b')]).toEqual([false, true]);
    expectations.observedDelete('k', 'b');
    expect(expectations.satisfied('k')).toBe(true);
  });

  test('takes events for lost after five minutes', () => {
    let now = 0;
    const expectations = new Expectations(() => now);
    expectations.expectDeletes('k', ['a']);
    now = FIVE_MINUTES - 1;
    expect(expectations.satisfied('k')).toBe(false);
    now = FIVE_MINUTES;
    expect(expectations.satisfied('k')).toBe(true);
  });
});

describe('Writes', () => {
  const at = (resourceVersion: string) => replicaSet('a', 1, { meta: { resourceVersion } });
  test('waits until the cache shows the revision that was written', () => {
    const writes = new Writes(() => 0);
    writes.wrote('k', at('9'));
    expect([writes.seen('k', []), writes.seen('k', [at('8')]), writes.seen('k', [at('10')])]).toEqual([
      false,
      false,
      true,
    ]);
  });
  test('does not wait for what is gone, nor for ever', () => {
    let now = 0;
    const writes = new Writes(() => now);
    writes.wrote('k', at('9'));
    writes.gone('k', 'uid-a');
    expect(writes.seen('k', [])).toBe(true);
    writes.wrote('k', at('9'));
    now = FIVE_MINUTES;
    expect(writes.seen('k', [])).toBe(true);
  });
});

describe('WrittenVersions', () => {
  const at = (resourceVersion: string) => replicaSet('a', 1, { meta: { resourceVersion } });
  test('knows objects as they were left, and no others', () => {
    const settled = new WrittenVersions();
    expect(settled.isAsLeft('k', [])).toBe(false);
    settled.begin('k')([at('9')]);
    expect([settled.isAsLeft('k', [at('9')]), settled.isAsLeft('k', [at('10')])]).toEqual([true, false]);
    expect([settled.isAsLeft('k', []), settled.isAsLeft('other', [at('9')])]).toEqual([false, false]);
  });
  test('is not settled after a change, not even one that came while the plan was carried out', () => {
    const settled = new WrittenVersions();
    settled.begin('k')([at('9')]);
    settled.changed('k');
    expect(settled.isAsLeft('k', [at('9')])).toBe(false);
    const leave = settled.begin('k');
    settled.changed('k');
    leave([at('9')]);
    expect(settled.isAsLeft('k', [at('9')])).toBe(false);
  });
  test('is not settled while a plan is being carried out, nor when that failed', () => {
    const settled = new WrittenVersions();
    settled.begin('k')([at('9')]);
    settled.begin('k');
    expect(settled.isAsLeft('k', [at('9')])).toBe(false);
  });
});

describe('slowStart', () => {
  test('doubles its batches', async () => {
    const running: number[] = [];
    let current = 0;
    const result = await slowStart(10, async () => {
      running.push(++current);
      await Promise.resolve();
      current--;
    });
    expect(Math.max(...running)).toBe(4);
    expect(result).toEqual({ done: 10, failed: 0, skipped: 0 });
  });
  test('stops after a batch that failed', async () => {
    let calls = 0;
    const result = await slowStart(100, async () => {
      if (++calls === 3) throw new Error('no');
    });
    expect(result).toMatchObject({ done: 2, failed: 1, skipped: 97, error: new Error('no') });
  });
  test('does nothing for nothing', async () => {
    expect(await slowStart(0, () => Promise.reject(new Error('called')))).toEqual({
      done: 0,
      failed: 0,
      skipped: 0,
    });
  });
});

describe('planClaims', () => {
  const owner = replicaSet('web', 1);
  const reference = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'web',
    uid: 'uid-web',
    controller: true,
  };
  const owned = (labels: object, uid = 'uid-web') =>
    pod('p', { meta: { labels, ownerReferences: [{ ...reference, uid }] } });
  const claims = (candidate: ReturnType<typeof pod>, of = owner) => {
    const result = planClaims({
      owner: of,
      candidates: [candidate],
      matches: (labels) => labels['app'] === 'web',
    });
    return [result.held.length, result.adopt.length, result.release.length];
  };
  const going = replicaSet('web', 1, { meta: { deletionTimestamp: ago(1) } });

  test.each([
    ['holds what it owns and selects', claims(owned({ app: 'web' })), [1, 0, 0]],
    ['releases what it no longer selects', claims(owned({ app: 'x' })), [0, 0, 1]],
    ['takes in what nobody owns', claims(pod('p')), [0, 1, 0]],
    ['leaves what another owns', claims(owned({ app: 'web' }, 'other')), [0, 0, 0]],
    ['leaves what it does not select', claims(pod('p', { meta: { labels: {} } })), [0, 0, 0]],
    [
      'takes in nothing that is going',
      claims(pod('p', { meta: { labels: { app: 'web' }, deletionTimestamp: ago(1) } })),
      [0, 0, 0],
    ],
    ['takes in nothing when it goes itself', claims(pod('p'), going), [0, 0, 0]],
    ['releases nothing when it goes itself', claims(owned({ app: 'x' }), going), [0, 0, 0]],
  ])('%s', (_, counts, wanted) => {
    expect(counts).toEqual(wanted);
  });

  test('names the uid it means when it adopts', () => {
    expect(adoptionPatch(REPLICA_SETS, owner, 'uid-p')).toMatchObject({
      metadata: { uid: 'uid-p', ownerReferences: [{ uid: 'uid-web', controller: true }] },
    });
  });
});

describe('enabledNames', () => {
  const known = ['a', 'b', 'c'];
  test.each([
    [['*'], ['a', 'b', 'c']],
    [
      ['*', '-b'],
      ['a', 'c'],
    ],
    [['b'], ['b']],
    [['a', '-a'], ['a']],
    [[], []],
  ])('%j means %j', (entries, wanted) => {
    expect(enabledNames(known, entries)).toEqual(wanted);
  });
  test.each([
    [
      ['deployment', 'podgc'],
      ['deployment-controller', 'pod-garbage-collector-controller'],
    ],
    [
      ['*', '-deployment'],
      ['job-controller', 'pod-garbage-collector-controller'],
    ],
    [['-attachdetach', '-cloud-node-lifecycle-controller', 'job'], ['job-controller']],
  ])('takes the older names in %j, and absent ones to switch off', (entries, wanted) => {
    const names = ['deployment-controller', 'job-controller', 'pod-garbage-collector-controller'];
    expect(enabledNames(names, entries)).toEqual(wanted);
  });
  test('refuses a list that switches off and nothing on', () => {
    const [first = ''] = known;
    expect(() => enabledNames(known, [`-${first}`])).toThrow(/switches no controller on: begin with "\*"/);
  });
  test('refuses a name that nobody has', () => {
    expect(() => enabledNames(known, ['*', '-x'])).toThrow('"x" is not in the list of known controllers');
  });
});
