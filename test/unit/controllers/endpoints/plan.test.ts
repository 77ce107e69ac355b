// The older form of a Service's endpoints.
import { describe, expect, test } from 'vitest';
import { planEndpoints } from '../../../../src/controllers/endpoints/plan.js';
import { ago, pod, service } from '../support/objects.js';

const up = (name: string, ip: string) => pod(name, { ready: true, node: 'n1', ip });
const plan = (
  pods: ReturnType<typeof pod>[],
  of = service(),
  present?: Parameters<typeof planEndpoints>[0]['present'],
) => planEndpoints({ service: of, pods, present });

describe('planEndpoints', () => {
  test('lists ready and unready addresses apart, in order', () => {
    const [action] = plan([
      up('b', '10.1.0.2'),
      up('a', '10.1.0.1'),
      pod('c', { ip: '10.1.0.3', node: 'n1' }),
    ]);
    expect(action?.endpoints.subsets).toMatchObject([
      {
        addresses: [{ ip: '10.1.0.1' }, { ip: '10.1.0.2' }],
        notReadyAddresses: [{ ip: '10.1.0.3', nodeName: 'n1', targetRef: { kind: 'Pod', name: 'c' } }],
        ports: [{ port: 8080, protocol: 'TCP' }],
      },
    ]);
  });

  test('leaves terminating pods out', () => {
    const going = pod('g', { ready: true, ip: '10.1.0.1', meta: { deletionTimestamp: ago(1) } });
    expect(plan([going])[0]?.endpoints.subsets).toEqual([]);
  });

  test('changes nothing when nothing changed', () => {
    const [action] = plan([up('a', '10.1.0.1')]);
    const metadata = {
      ...action?.endpoints.metadata,
      name: 'web',
      uid: 'u',
      resourceVersion: '1',
      creationTimestamp: ago(0),
    };
    const present = { ...action?.endpoints, metadata };
    expect(plan([up('a', '10.1.0.1')], service(), present)).toEqual([]);
    expect(plan([], service(), present)).toMatchObject([{ do: 'update', endpoints: { subsets: [] } }]);
  });

  test('says when the change happened that it answers, and writes for no other reason', () => {
    const TIME = 'endpoints.kubernetes.io/last-change-trigger-time';
    const pods = [up('a', '10.1.0.1')];
    const triggerTime = '2026-01-01T00:00:05.000Z';
    const [action] = planEndpoints({ service: service(), pods, present: undefined, triggerTime });
    expect(action?.endpoints.metadata?.annotations).toEqual({ [TIME]: triggerTime });
    const metadata = { name: 'web', uid: 'u', resourceVersion: '1', creationTimestamp: ago(0) };
    const present = { ...action?.endpoints, metadata: { ...action?.endpoints.metadata, ...metadata } };
    const later = '2026-01-01T00:00:09.000Z';
    expect(planEndpoints({ service: service(), pods, present, triggerTime: later })).toEqual([]);
    const [emptied] = planEndpoints({ service: service(), pods: [], present });
    expect(emptied?.endpoints.metadata?.annotations).toEqual({});
  });

  test('stops at a thousand addresses and says so', () => {
    const pods = Array.from({ length: 1100 }, (_, at) => up(`p${at}`, `10.1.${at >> 8}.${at & 255}`));
    const [action] = plan([...pods, pod('unready', { ip: '10.2.0.1' })]);
    expect(action?.endpoints.subsets?.[0]?.addresses).toHaveLength(1000);
    expect(action?.endpoints.subsets?.[0]?.notReadyAddresses).toBeUndefined();
    expect(action?.endpoints.metadata?.annotations).toEqual({
      'endpoints.kubernetes.io/over-capacity': 'truncated',
    });
  });
});
