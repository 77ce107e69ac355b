// What is refused of a status that changes, and what of one that does not.
import { describe, expect, test } from 'vitest';
import type { Draft, KindDefinition } from '../../../../src/api/kind.js';
import { KINDS } from '../../../../src/api/kinds/index.js';
import type { KubeObject } from '../../../../src/api/object.js';
import { qualifiedResource } from '../../../../src/api/status.js';
import { smallest } from './smallest.js';
import { create } from './support.js';

const kinds = new Map(KINDS.map((kind) => [qualifiedResource(kind.type), kind as KindDefinition]));

/** What a change of the status is refused for. */
function faults(resource: string, next: object, before: object = {}, spec: object = {}): string[] {
  const kind = kinds.get(resource) as KindDefinition;
  const body = smallest(kind) as { readonly spec?: object };
  const made = create(kind, { ...body, spec: { ...body.spec, ...spec } }) as KubeObject & { status?: object };
  const old = { ...made, status: { ...made.status, ...before } };
  const draft = { ...made, status: { ...old.status, ...next } };
  kind.defaults?.(draft as Draft<KubeObject>);
  return (kind.validate?.(draft, old) ?? []).map(({ field, message }) => `${field}: ${message}`);
}

const WHOLE = 'cannot be greater than status.replicas';

describe('counts', () => {
  test.each([
    [
      'deployments.apps',
      { replicas: -1 },
      'status.replicas: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'deployments.apps',
      { replicas: 1, updatedReplicas: 2 },
      `status.updatedReplicas: Invalid value: 2: ${WHOLE}`,
    ],
    [
      'replicasets.apps',
      { replicas: 1, readyReplicas: 2 },
      `status.readyReplicas: Invalid value: 2: ${WHOLE}`,
    ],
    [
      'replicationcontrollers',
      { replicas: 0, readyReplicas: 1 },
      `status.readyReplicas: Invalid value: 1: ${WHOLE}`,
    ],
    [
      'statefulsets.apps',
      { replicas: 1, currentReplicas: 2 },
      `status.currentReplicas: Invalid value: 2: ${WHOLE}`,
    ],
    [
      'statefulsets.apps',
      { replicas: 2, availableReplicas: 1 },
      'status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas',
    ],
    [
      'daemonsets.apps',
      { numberReady: -1 },
      'status.numberReady: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      'poddisruptionbudgets.policy',
      { currentHealthy: -2 },
      'status.currentHealthy: Invalid value: -2: must be greater than or equal to 0',
    ],
  ])('of %s: %j', (resource, status, fault) => {
    expect(faults(resource, status)).toContain(fault);
  });

  test('that agree are taken, and so are old ones that do not', () => {
    const good = {
      replicas: 3,
      updatedReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      unavailableReplicas: 4,
    };
    expect(faults('deployments.apps', good)).toEqual([]);
    const bad = { replicas: 1, readyReplicas: 5 };
    expect(faults('deployments.apps', bad, bad)).toEqual([]);
  });

  test('of collisions never go back', () => {
    const fault = 'status.collisionCount: Invalid value: 1: cannot be decremented';
    expect(faults('daemonsets.apps', { collisionCount: 1 }, { collisionCount: 2 })).toEqual([fault]);
  });
});

describe('load balancers', () => {
  const ingress = (...list: object[]) => ({ loadBalancer: { ingress: list } });
  const at = 'status.loadBalancer.ingress[0]';

  test.each([
    [
      'services',
      ingress({ ip: '10.0.0.300' }),
      `${at}.ip: Invalid value: "10.0.0.300": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
    ],
    [
      'services',
      ingress({ ip: '10.0.0.3', ipMode: 'X' }),
      `${at}.ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"`,
    ],
    [
      'services',
      ingress({ hostname: 'a', ipMode: 'VIP' }),
      `${at}.ipMode: Forbidden: may not be specified when \`ip\` is not set`,
    ],
    [
      'ingresses.networking.k8s.io',
      ingress({ hostname: '10.0.0.1' }),
      `${at}.hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`,
    ],
  ])('of %s: %j', (resource, status, fault) => {
    const spec = resource === 'services' ? { type: 'LoadBalancer' } : {};
    expect(faults(resource, status, {}, spec)).toEqual([fault]);
  });

  test('are those of Services that have one, with VIP as their mode', () => {
    expect(faults('services', ingress({ ip: '10.0.0.3' }), {}, { type: 'LoadBalancer' })).toEqual([]);
    expect(faults('services', ingress({ ip: '10.0.0.3' }))).toEqual([
      "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
    ]);
  });
});

describe('pods', () => {
  const ended = (exitCode: number) => ({ name: 'c', state: { terminated: { exitCode } } });
  const running = { name: 'c', state: { running: {} } };
  const NO = 'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state';

  const AT = 'status.containerStatuses[0].allocatedResourcesStatus';
  const FPGA = { containerName: 'c', resourceName: 'example.com/fpga', requestName: 'r' };
  const extended = (requestMappings: object[]) => ({ requestMappings, resourceClaimName: 'made' });
  const allocated = (list: string, ...told: object[]) => ({
    [list]: [{ ...running, allocatedResourcesStatus: told }],
  });

  test.each([
    ['Never', 1, [NO]],
    ['OnFailure', 0, [NO]],
    ['OnFailure', 1, []],
    ['Always', 0, []],
  ])('restart %s: a container that ended with %i and runs again: %j', (restartPolicy, code, wanted) => {
    const change = [{ containerStatuses: [running] }, { containerStatuses: [ended(code)] }] as const;
    expect(faults('pods', ...change, { restartPolicy })).toEqual(wanted);
  });

  test.each([
    [
      { podIPs: [{ ip: 'x' }] },
      'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
    [
      { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
      'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family',
    ],
    [
      { hostIP: '10.0.0.1', hostIPs: [{ ip: '10.0.0.2' }] },
      'status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`',
    ],
    [{ qosClass: 'Guaranteed' }, 'status.qosClass: Invalid value: "Guaranteed": field is immutable'],
    [
      { observedGeneration: -1 },
      'status.observedGeneration: Invalid value: -1: must be a non-negative integer',
    ],
  ])('%j', (status, fault) => {
    expect(faults('pods', status)).toEqual([fault]);
  });

  test.each([
    [{ conditions: [{ type: 'Ready' }, { type: 'example.com/fed' }, { type: 'DisruptionTarget' }] }, []],
    [
      { conditions: [{ type: 'a b', observedGeneration: -1 }] },
      ['status.conditions[0].observedGeneration', 'status.conditions[0].Type'],
    ],
    [{ resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'p-gpu' }] }, []],
    [
      { resourceClaimStatuses: [{ name: 'x' }, { name: 'gpu', resourceClaimName: 'A' }, { name: 'gpu' }] },
      [
        'status.resourceClaimStatuses[0].name',
        'status.resourceClaimStatuses[1].resourceClaimName',
        'status.resourceClaimStatuses[2].name',
      ],
    ],
    [
      { extendedResourceClaimStatus: { requestMappings: [], resourceClaimName: '' } },
      [
        'status.extendedResourceClaimStatus.requestMappings',
        'status.extendedResourceClaimStatus.resourceClaimName',
      ],
    ],
    [{ extendedResourceClaimStatus: extended([FPGA]) }, []],
    [
      {
        extendedResourceClaimStatus: extended([
          FPGA,
          FPGA,
          { ...FPGA, containerName: 'x' },
          { ...FPGA, resourceName: 'cpu', requestName: 'R' },
        ]),
      },
      [
        ...[
          '[1].containerName',
          '[1].resourceName',
          '[1].requestName',
          '[2].containerName',
          '[3].resourceName',
        ].map((at) => `status.extendedResourceClaimStatus.requestMappings${at}`),
        'status.extendedResourceClaimStatus.requestName',
      ],
    ],
    [allocated('containerStatuses', { name: 'example.com/fpga' }, { name: 'claim:gpu/one' }), []],
    [
      allocated('containerStatuses', { name: 'cpu' }, { name: 'claim:gpu' }),
      [`${AT}[0].name`, `${AT}[1].name`],
    ],
    [
      allocated('ephemeralContainerStatuses', { name: 'cpu' }),
      [AT.replace('containerS', 'ephemeralContainerS')],
    ],
    [
      allocated('containerStatuses', {
        name: 'example.com/fpga',
        resources: [
          { resourceID: 'a', health: 'Healthy', message: 'é'.repeat(512) },
          { resourceID: 'a', health: 'Fine', message: '' },
          { resourceID: 'b', health: 'Unknown', message: 'é'.repeat(513) },
        ],
      }),
      ['[1].health', '[1].message', '[1].resourceID', '[2].message'].map((at) => `${AT}[0].resources${at}`),
    ],
    [
      {
        containerStatuses: [
          { ...running, user: { linux: { uid: -1, gid: 0, supplementalGroups: [2 ** 31] } } },
        ],
      },
      ['uid', 'supplementalGroups[0]'].map((at) => `status.containerStatuses[0].user.linux.${at}`),
    ],
  ])('of claims, devices, users and conditions: %j', (status, fields) => {
    const requests = { 'example.com/fpga': '1' };
    const resources = { requests, limits: requests, claims: [{ name: 'gpu', request: 'one' }] };
    const spec = {
      containers: [{ name: 'c', image: 'i', resources }],
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }],
    };
    expect(faults('pods', status, {}, spec).map((fault) => fault.split(': ')[0])).toEqual(fields);
  });

  test('for debugging have containers that run once', () => {
    const [again, first] = [running, ended(1)].map((one) => ({ ephemeralContainerStatuses: [one] }));
    expect(faults('pods', again as object, first)).toEqual([NO.replace('containerS', 'ephemeralContainerS')]);
    expect(faults('pods', first as object, again)).toEqual([]);
  });

  test('are nominated by a name of a node, and only while they have none', () => {
    expect(faults('pods', { nominatedNodeName: 'node-1' })).toEqual([]);
    expect(faults('pods', { nominatedNodeName: 'node 1' })).toHaveLength(1);
    expect(faults('pods', { nominatedNodeName: 'node-2' }, {}, { nodeName: 'node-1' })).toEqual([
      'status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
    ]);
  });

  test('take a whole status of a kubelet', () => {
    const ips = {
      hostIP: '10.0.0.1',
      hostIPs: [{ ip: '10.0.0.1' }],
      podIP: '10.1.0.1',
      podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd00::1' }],
    };
    expect(faults('pods', { phase: 'Running', ...ips, containerStatuses: [running] })).toEqual([]);
  });
});

describe('jobs', () => {
  const T1 = '2026-01-01T00:00:00Z';
  const T2 = '2026-01-01T00:01:00Z';
  const on = (...types: string[]) => ({ conditions: types.map((type) => ({ type, status: 'True' })) });
  const complete = { startTime: T1, completionTime: T2, ...on('SuccessCriteriaMet', 'Complete') };
  const failed = { startTime: T1, ...on('FailureTarget', 'Failed') };
  const indexed = { completionMode: 'Indexed', completions: 5, parallelism: 2, backoffLimitPerIndex: 1 };
  const C = 'status.conditions: Invalid value: cannot';

  test.each<[object, object, object, readonly string[]]>([
    [complete, {}, {}, []],
    [failed, {}, {}, []],
    [{ active: -1 }, {}, {}, ['status.active: Invalid value: -1: must be greater than or equal to 0']],
    [
      { uncountedTerminatedPods: { succeeded: ['a', ''], failed: ['a'] } },
      {},
      {},
      [
        'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
      ],
    ],
    [
      { ...complete, ...on('Complete') },
      {},
      {},
      [`${C} set Complete=True condition without the SuccessCriteriaMet=true condition`],
    ],
    [
      { startTime: T1, ...on('Failed') },
      {},
      {},
      [`${C} set Failed=True condition without the FailureTarget=true condition`],
    ],
    [
      on('SuccessCriteriaMet', 'FailureTarget'),
      {},
      {},
      [`${C} set SuccessCriteriaMet=True and FailureTarget=true conditions`],
    ],
    [
      { ...complete, ...on('SuccessCriteriaMet', 'Complete', 'FailureTarget', 'Failed') },
      {},
      {},
      [
        `${C} set Complete=True and Failed=true conditions`,
        `${C} set Complete=True and FailureTarget=true conditions`,
        `${C} set SuccessCriteriaMet=True and Failed=true conditions`,
        `${C} set SuccessCriteriaMet=True and FailureTarget=true conditions`,
      ],
    ],
    [on('FailureTarget'), failed, {}, [`${C} disable the terminal Failed=True condition`]],
    [on(), on('SuccessCriteriaMet'), {}, [`${C} disable the SuccessCriteriaMet=True condition`]],
    [
      on('Complete', 'SuccessCriteriaMet'),
      { ...complete, ...on('Complete') },
      {},
      [`${C} set SuccessCriteriaMet=True for Job already has Complete=true conditions`],
    ],
    [
      { startTime: T1, ...on('SuccessCriteriaMet', 'Complete') },
      {},
      {},
      ['status.completionTime: Required value: completionTime is required for Complete jobs'],
    ],
    [
      { startTime: T1, completionTime: T2 },
      {},
      {},
      [
        `status.completionTime: Invalid value: "${T2}": cannot set completionTime when there is no Complete=True condition`,
      ],
    ],
    [
      { ...complete, startTime: T2, completionTime: T1 },
      {},
      {},
      [`status.completionTime: Invalid value: "${T1}": must be equal to or after \`startTime\``],
    ],
    [
      { completionTime: T1 },
      complete,
      {},
      [`status.completionTime: Invalid value: "${T1}": field is immutable`],
    ],
    [
      on('FailureTarget', 'Failed'),
      {},
      {},
      ['status.startTime: Required value: startTime is required for finished job'],
    ],
    [
      { startTime: T2 },
      { startTime: T1 },
      {},
      [`status.startTime: Invalid value: "${T2}": field is immutable for unsuspended job once set`],
    ],
    [{ startTime: T2 }, { startTime: T1 }, { suspend: true }, []],
    [
      { startTime: T2, conditions: [{ type: 'Suspended', status: 'False' }] },
      { startTime: T1, ...on('Suspended') },
      {},
      [],
    ],
    [
      { ...failed, active: 1, terminating: 2, uncountedTerminatedPods: { failed: ['u'] } },
      {},
      {},
      [
        'status.active: Invalid value: 1: active>0 is invalid for finished job',
        'status.uncountedTerminatedPods: Invalid value: {"failed":["u"]}: must be empty for finished job',
        'status.terminating: Invalid value: 2: terminating>0 is invalid for finished job',
      ],
    ],
    [
      { active: 1, ready: 2 },
      {},
      {},
      ['status.ready: Invalid value: 2: cannot set more ready pods than active'],
    ],
    [
      { failed: 1 },
      { failed: 2 },
      {},
      ['status.failed: Invalid value: 1: cannot decrease the failed counter'],
    ],
    [
      { succeeded: 1 },
      { succeeded: 2 },
      {},
      ['status.succeeded: Invalid value: 1: cannot decrease the succeeded counter'],
    ],
    [{ succeeded: 1 }, { succeeded: 2 }, { ...indexed, parallelism: 5 }, []],
    [
      { completedIndexes: '0' },
      {},
      {},
      [
        'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
      ],
    ],
    [
      { failedIndexes: '' },
      {},
      {},
      [
        'status.failedIndexes: Invalid value: "": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      ],
    ],
    [{ completedIndexes: '0-2,4', failedIndexes: '3' }, {}, indexed, []],
    [
      { completedIndexes: '0,2-4', failedIndexes: '1,3' },
      {},
      indexed,
      ['status.failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap at index: 3'],
    ],
    [{ completedIndexes: '7' }, { completedIndexes: '7', active: 0 }, indexed, []],
  ])('%j after %j of %j', (next, before, spec, wanted) => {
    expect(faults('jobs.batch', next, before, spec)).toEqual(wanted);
  });

  test.each([
    ['1,1', 'non-increasing order, previous: 1, current: 1'],
    ['2-1', 'non-increasing order, previous: 2, current: 1'],
    ['5', 'too large index: "5"'],
    ['0-', 'cannot convert string to integer for index: ""'],
    [
      '0-1-2',
      'the fragment "0-1-2" violates the requirement that an index interval can have at most two parts separated by \'-\'',
    ],
  ])('indexes %s', (completedIndexes, why) => {
    expect(faults('jobs.batch', { completedIndexes }, {}, indexed)).toEqual([
      `status.completedIndexes: Invalid value: "${completedIndexes}": error parsing completedIndexes: ${why}`,
    ]);
  });
});

describe('amounts and addresses', () => {
  const LEAST = 'must be greater than or equal to 0';
  const address = { type: 'InternalIP', address: '10.0.0.1' };

  test.each<[string, object, readonly string[]]>([
    [
      'nodes',
      { capacity: { cpu: '-1', pods: '1500m' }, allocatable: { 'example.com/gpu': '500m' } },
      [
        `status.capacity.cpu: Invalid value: "-1": ${LEAST}`,
        'status.capacity.pods: Invalid value: "1500m": must be an integer',
        'status.allocatable.example.com/gpu: Invalid value: "500m": must be an integer',
      ],
    ],
    ['nodes', { capacity: { cpu: '1500m', 'example.com/gpu': '2' }, addresses: [address] }, []],
    [
      'nodes',
      { addresses: [address, { ...address, type: 'ExternalIP' }, address] },
      ['status.addresses[2]: Duplicate value: {"type":"InternalIP","address":"10.0.0.1"}'],
    ],
    [
      'nodes',
      { declaredFeatures: ['B', 'A', 'A'] },
      [
        'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
        'status.declaredFeatures[2]: Duplicate value: "A"',
      ],
    ],
    [
      'persistentvolumeclaims',
      { capacity: { storage: '-1' }, allocatedResources: { cpu: '1', storage: '-2' } },
      [
        'status.capacity[storage]: Invalid value: -1: must be a valid resource quantity',
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
        'status.allocatedResources[storage]: Invalid value: -2: must be a valid resource quantity',
      ],
    ],
    [
      'persistentvolumeclaims',
      { allocatedResourceStatuses: { storage: 'Soon' } },
      [
        'status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"',
      ],
    ],
    [
      'persistentvolumeclaims',
      {
        phase: 'Bound',
        capacity: { storage: '1Gi' },
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
      },
      [],
    ],
    [
      'horizontalpodautoscalers.autoscaling',
      { currentReplicas: -1, desiredReplicas: -2 },
      [
        `status.currentReplicas: Invalid value: -1: ${LEAST}`,
        `status.desiredReplicas: Invalid value: -2: ${LEAST}`,
      ],
    ],
    ['horizontalpodautoscalers.autoscaling', { currentReplicas: 1, desiredReplicas: 2 }, []],
    [
      'resourcequotas',
      { hard: { pods: '1.5' }, used: { pods: '-1', apples: '1' } },
      [
        'status.hard[pods]: Invalid value: "1.5": must be an integer',
        `status.used[pods]: Invalid value: "-1": ${LEAST}`,
        'status.used[apples]: Invalid value: "apples": must be a standard resource type or fully qualified',
        'status.used[apples]: Invalid value: "apples": must be a standard resource for quota',
      ],
    ],
    ['resourcequotas', { hard: { pods: '2', 'count/jobs.batch': '1' }, used: { pods: '1' } }, []],
  ])('of %s: %j', (resource, status, wanted) => {
    expect(faults(resource, status)).toEqual(wanted);
    // What is stored already is nobody's new fault.
    expect(faults(resource, status, status)).toEqual([]);
  });

  test('of a new node, and the names of what it can do', () => {
    const node = kinds.get('nodes') as KindDefinition;
    const told = (status: object) =>
      (node.validate?.({ ...create(node, {}), status } as KubeObject) ?? []).map(({ field }) => field);
    expect(told({ capacity: { cpu: '-1' }, nodeInfo: { swap: { capacity: 0 } } })).toEqual([
      'status.capacity.cpu',
      'metadata.nodeSwapStatus.capacity',
    ]);
    expect(told({ declaredFeatures: ['A', 'Ab/cD'], nodeInfo: { swap: { capacity: 1 } } })).toEqual([]);
    expect(told({ declaredFeatures: ['A'.repeat(254), 'a'] })).toEqual([
      'status.declaredFeatures[0]',
      'status.declaredFeatures[1]',
    ]);
  });
});
