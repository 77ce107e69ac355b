// Server-side apply and the ownership that other writes leave, as pure functions over objects.
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/api/object.js';
import { ApiError } from '../../../../src/api/status.js';
import { atOnce } from '../../../../src/api/steps.js';
import { applyConfiguration as applySteps } from '../../../../src/apiserver/fields/apply.js';
import { keyFault } from '../../../../src/apiserver/fields/keyFault.js';
import { trackWrite as trackSteps } from '../../../../src/apiserver/fields/track.js';

const applyConfiguration = (request: Parameters<typeof applySteps>[0]) => atOnce(applySteps(request));
const trackWrite = (...args: Parameters<typeof trackSteps>) => atOnce(trackSteps(...args));

const kind = { model: 'V1Pod' };
const writer = (name: string, operation: 'Apply' | 'Update', time = '2026-01-01T00:00:00Z') => ({
  id: { name, operation, apiVersion: 'v1', subresource: '' },
  time,
});

interface Pod extends KubeObject {
  readonly spec?: object;
}

function apply(live: KubeObject | undefined, config: Pod, name = 'a', force = false): KubeObject {
  const { object, managedFields } = applyConfiguration({
    kind,
    live,
    config,
    writer: writer(name, 'Apply'),
    force,
  });
  return { ...object, metadata: { ...object.metadata, managedFields } };
}

function update(live: KubeObject, next: Pod, name = 'u'): KubeObject {
  return {
    ...next,
    metadata: { ...next.metadata, managedFields: trackWrite(kind, live, next, writer(name, 'Update')) },
  };
}

const pod = (spec: object, metadata: object = {}): Pod => ({ metadata: { name: 'p', ...metadata }, spec });
const c = (name: string, image: string, more: object = {}) => ({ name, image, ...more });
const owners = (object: KubeObject) => object.metadata?.managedFields?.map(({ manager }) => manager);
const refusal = (run: () => unknown) => {
  try {
    run();
  } catch (error) {
    if (error instanceof ApiError) return error;
  }
  throw new Error('nothing was refused');
};

describe('apply', () => {
  test('owns what it names and nothing else', () => {
    const made = apply(undefined, pod({ containers: [c('x', 'i:1')] }, { labels: { l: '1' } }));
    expect(made.metadata?.managedFields).toMatchObject([
      {
        manager: 'a',
        operation: 'Apply',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:metadata': { 'f:labels': { 'f:l': {} } },
          'f:spec': { 'f:containers': { 'k:{"name":"x"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
        },
      },
    ]);
  });

  test('takes an item of a list away although another manager owns a field of it', () => {
    const side = c('side', 'i:1', { env: [{ name: 'A', value: '1' }], ports: [{ containerPort: 80 }] });
    const first = apply(undefined, pod({ containers: [c('x', 'i:1'), side] }));
    const touched = update(
      first,
      pod(
        { containers: [c('x', 'i:1'), { ...side, env: [{ name: 'A', value: '2' }], image: 'i:2' }] },
        first.metadata,
      ),
    );
    const noEnv = apply(touched, pod({ containers: [c('x', 'i:1'), c('side', 'i:1')] }), 'a', true);
    expect((noEnv as Pod).spec).toEqual({ containers: [c('x', 'i:1'), c('side', 'i:1')] });
    const none = apply(touched, pod({ containers: [c('x', 'i:1')] }));
    expect((none as Pod).spec).toEqual({ containers: [c('x', 'i:1')] });
    expect(owners(none)).toEqual(['a']);
  });

  test('leaves an item that another manager owns itself, with what tells it apart', () => {
    const first = apply(undefined, pod({ containers: [c('x', 'i:1'), c('side', 'i:1', { tty: true })] }));
    const shared = apply(first, pod({ containers: [c('side', 'i:1')] }), 'b');
    const given = apply(shared, pod({ containers: [c('x', 'i:1')] }));
    expect((given as Pod).spec).toEqual({ containers: [c('x', 'i:1'), c('side', 'i:1')] });
  });

  test('leaves a key of an item that stays, though only who gives the item up has named it', () => {
    const port = (more: object) => c('x', 'i:1', { ports: [{ containerPort: 80, ...more }] });
    const first = apply(undefined, pod({ containers: [port({ protocol: 'TCP' })] }));
    const shared = apply(first, pod({ containers: [port({})] }), 'b');
    const given = apply(shared, pod({ hostname: 'h' }));
    expect((given as Pod).spec).toEqual({ hostname: 'h', containers: [port({ protocol: 'TCP' })] });
  });

  test('merges long sets in a time that grows with their length', () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `example.com/f${at}`);
    const first = apply(undefined, pod({}, { finalizers: names(60_000) }));
    const turned = apply(first, pod({}, { finalizers: names(60_000).reverse() }));
    expect(turned.metadata?.finalizers).toHaveLength(60_000);
  });

  test('changes its own field, and takes away what it no longer names', () => {
    const first = apply(undefined, pod({ hostname: 'h', containers: [c('x', 'i:1'), c('y', 'i:1')] }));
    const second = apply(first, pod({ containers: [c('x', 'i:2')] }));
    expect((second as Pod).spec).toEqual({ containers: [c('x', 'i:2')] });
  });

  test('leaves what another manager owns too, or what nobody owns', () => {
    const first = apply(undefined, pod({ hostname: 'h', containers: [c('x', 'i:1')] }));
    const shared = apply(first, pod({ hostname: 'h' }), 'b');
    const defaulted = { ...shared, spec: { ...(shared as Pod).spec, dnsPolicy: 'ClusterFirst' } };
    const given = apply(defaulted, pod({ containers: [c('x', 'i:1')] }));
    expect((given as Pod).spec).toEqual({
      hostname: 'h',
      dnsPolicy: 'ClusterFirst',
      containers: [c('x', 'i:1')],
    });
    expect(owners(given)).toEqual(['a', 'b']);
  });

  test('is refused where another manager has another value, naming each field', () => {
    const live = update({}, pod({ hostname: 'h', containers: [c('x', 'i:1')] }));
    const one = refusal(() => apply(live, pod({ hostname: 'other' })));
    expect(one.status).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message: 'Apply failed with 1 conflict: conflict with "u" using v1: .spec.hostname',
      details: {
        causes: [
          { reason: 'FieldManagerConflict', message: 'conflict with "u" using v1', field: '.spec.hostname' },
        ],
      },
    });
    const two = refusal(() => apply(live, pod({ hostname: 'other', containers: [c('x', 'i:2')] })));
    expect(two.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "u" using v1:\n- .spec.containers[name="x"].image\n- .spec.hostname',
    );
  });

  test('takes the field by force, and the other manager loses it', () => {
    const live = apply(undefined, pod({ hostname: 'h' }), 'b');
    const forced = apply(live, pod({ hostname: 'mine' }), 'a', true);
    expect((forced as Pod).spec).toEqual({ hostname: 'mine' });
    expect(owners(forced)).toEqual(['a']);
  });

  test('the same value again is no conflict, and no new time', () => {
    const live = apply(undefined, pod({ hostname: 'h' }), 'b');
    const both = apply(live, pod({ hostname: 'h' }), 'a');
    expect(owners(both)).toEqual(['a', 'b']);
    const again = applyConfiguration({
      kind,
      live: both,
      config: pod({ hostname: 'h' }),
      writer: writer('a', 'Apply', '2027-01-01T00:00:00Z'),
      force: false,
    });
    expect(again.managedFields).toEqual(both.metadata?.managedFields);
  });

  test('an object from before such records belongs to a manager of its own', () => {
    const live = pod({ hostname: 'h' });
    expect(refusal(() => apply(live, pod({ hostname: 'x' }))).message).toContain('"before-first-apply"');
  });

  test('merges keyed lists by key, in the order of the configuration', () => {
    const live = update({}, pod({ containers: [c('x', '1'), c('side', '1'), c('y', '1')] }));
    const merged = apply(live, pod({ containers: [c('y', '1'), c('x', '1'), c('z', '1')] }));
    const names = ((merged as Pod).spec as { containers: { name: string }[] }).containers.map(
      ({ name }) => name,
    );
    expect(names).toEqual(['y', 'side', 'x', 'z']);
  });

  test('ports differ by protocol, which is TCP when it is not said', () => {
    const config = pod({ containers: [c('x', '1', { ports: [{ containerPort: 53 }] })] });
    const udp = { containerPort: 53, protocol: 'UDP' };
    const live = apply(undefined, pod({ containers: [c('x', '1', { ports: [udp] })] }), 'b');
    const spec = (apply(live, config) as Pod).spec as { containers: { ports: object[] }[] };
    expect(spec.containers[0]?.ports).toEqual([udp, { containerPort: 53 }]);
  });

  test.each([
    ['twice', [c('x', '1'), c('x', '2')], '.spec.containers: duplicate entries for key [name="x"]'],
    [
      'without its key',
      [{ image: 'i' }],
      '.spec.containers: element 0: associative list with keys has an element that omits key field "name" (and doesn\'t have default value)',
    ],
  ])('an item %s is a fault', (_case, containers, sentence) => {
    expect(keyFault(kind, pod({ containers }))).toBe(sentence);
  });
});

describe('other writes', () => {
  test('own the fields that they change, and take them from others', () => {
    const live = apply(undefined, pod({ hostname: 'h', subdomain: 's' }));
    const next = update(live, { ...live, spec: { hostname: 'new', subdomain: 's' } } as Pod);
    expect(next.metadata?.managedFields).toMatchObject([
      { manager: 'a', fieldsV1: { 'f:spec': { 'f:subdomain': {} } } },
      { manager: 'u', operation: 'Update', fieldsV1: { 'f:spec': { 'f:hostname': {} } } },
    ]);
  });

  test('own nothing that they left as it was', () => {
    const live = apply(undefined, pod({}, { labels: { a: '1', b: '2' } }));
    const next = update(live, pod({}, { labels: { a: 'x', b: '2' } }));
    expect(next.metadata?.managedFields).toMatchObject([
      { manager: 'a', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:b': {} } } } },
      { manager: 'u', fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a': {} } } } },
    ]);
    expect(next.metadata?.managedFields?.[1]?.fieldsV1).toEqual({
      'f:metadata': { 'f:labels': { 'f:a': {} } },
    });
  });

  test('that leave fields out take them from everybody', () => {
    const live = apply(undefined, pod({ hostname: 'h' }));
    expect(update(live, pod({})).metadata?.managedFields).toEqual([]);
  });

  test('that change nothing leave the entries as they are', () => {
    const live = update({}, pod({ hostname: 'h' }));
    const again = trackWrite(kind, live, live, writer('other', 'Update', '2027-01-01T00:00:00Z'));
    expect(again).toEqual(live.metadata?.managedFields);
  });

  test('of a client that does not know the entries keep them; one empty entry resets them', () => {
    const live = apply(undefined, pod({ hostname: 'h' }));
    expect(trackWrite(kind, live, pod({ hostname: 'h' }), writer('u', 'Update'))).toHaveLength(1);
    const reset = pod({ hostname: 'h' }, { managedFields: [{}] });
    expect(trackWrite(kind, live, reset, writer('u', 'Update'))).toEqual([]);
  });

  test('by many become one entry of ancient changes', () => {
    let live: KubeObject = update({}, pod({}));
    for (let n = 0; n < 30; n++) {
      const labels = { ...live.metadata?.labels, [`l${n}`]: 'x' };
      live = update(live, { ...live, metadata: { ...live.metadata, labels } }, `w${n}`);
    }
    expect(live.metadata?.managedFields).toHaveLength(10);
    expect(owners(live)).toContain('ancient-changes');
  });

  test('never own a label called __proto__ by accident', () => {
    const labels = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
    const live = update({}, pod({}, { labels }));
    expect(JSON.stringify(live.metadata?.managedFields)).toContain('f:__proto__');
  });
});
