// What a resize may change of a pod: cpu and memory of every container, init containers too.
import { expect, test } from 'vitest';
import type { V1Container, V1PodSpec } from '../../../../../src/api/gen/types.js';
import { validatePodResize } from '../../../../../src/api/kinds/pod/resize.js';
import { podKind } from '../../../../../src/api/kinds/pod.js';

const amounts = (cpu: string, more: object = {}) => ({ requests: { cpu, ...more } });
const container = (name: string, more: Partial<V1Container> = {}): V1Container => ({
  name,
  image: 'i',
  resources: amounts('1'),
  ...more,
});
const RESTARTS = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
const spec = (init: Partial<V1Container>, main: Partial<V1Container> = {}): V1PodSpec => ({
  initContainers: [container('first', init)],
  containers: [container('web', main)],
});

test.each<[string, V1PodSpec, V1PodSpec, string[]]>([
  ['a plain init container', spec({}), spec({ resources: amounts('2') }), []],
  ['a main container', spec({}), spec({}, { resources: amounts('2') }), []],
  [
    'what an init container asked for is taken back',
    spec({}),
    spec({ resources: { requests: { memory: '1Mi' } } }),
    ['spec.initContainers[0].resources.requests: Forbidden: resource requests cannot be removed'],
  ],
  [
    'something else of an init container',
    spec({}),
    spec({ resources: amounts('1', { 'ephemeral-storage': '1Gi' }) }),
    [
      'spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable',
    ],
  ],
  [
    'something else of a main container',
    spec({}),
    spec({}, { resources: amounts('1', { 'ephemeral-storage': '1Gi' }) }),
    ['spec: Forbidden: only cpu and memory resources are mutable'],
  ],
  [
    'an init container that would have to begin again',
    spec({ resizePolicy: RESTARTS }),
    spec({ resizePolicy: RESTARTS, resources: amounts('2') }),
    [
      'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
    ],
  ],
  [
    'a sidecar that begins again',
    spec({ resizePolicy: RESTARTS, restartPolicy: 'Always' }),
    spec({ resizePolicy: RESTARTS, restartPolicy: 'Always', resources: amounts('2') }),
    [],
  ],
  [
    'an init container that stays as it is',
    spec({ resizePolicy: RESTARTS }),
    spec({ resizePolicy: RESTARTS }),
    [],
  ],
])('%s', (_, old, next, expected) => {
  const causes = validatePodResize({ spec: next }, { spec: old });
  expect(causes.map(({ field, message }) => `${field}: ${message}`)).toEqual(expected);
});

test('a new pod cannot ask for an init container that begins again when it is resized', () => {
  const fieldsOf = (init: Partial<V1Container>) =>
    (podKind.validate?.({ metadata: { name: 'p' }, spec: spec(init) }) ?? []).flatMap(({ field, message }) =>
      message?.includes('non-sidecar') ? [field] : [],
    );
  expect(fieldsOf({ resizePolicy: RESTARTS })).toEqual([
    'spec.initContainers[0].resizePolicy[0].restartPolicy',
  ]);
  expect(fieldsOf({ resizePolicy: RESTARTS, restartPolicy: 'Always' })).toEqual([]);
});

test.each<[string, V1PodSpec['resources'], V1PodSpec['resources'], string[]]>([
  ['given', undefined, amounts('2'), []],
  ['changed, with a limit added', amounts('2'), { ...amounts('1'), limits: { memory: '1Gi' } }, []],
  [
    'taken away',
    amounts('2'),
    undefined,
    ['spec.resources: Forbidden: pod-level resources cannot be removed'],
  ],
  [
    'taken away in part',
    { ...amounts('2'), limits: { cpu: '2' } },
    { limits: { memory: '1Gi' } },
    [
      'spec.resources.requests: Forbidden: pod-level resource requests cannot be removed',
      'spec.resources.limits: Forbidden: pod-level resource limits cannot be removed',
    ],
  ],
  [
    'given, huge pages too',
    undefined,
    amounts('2', { 'hugepages-2Mi': '2Mi' }),
    ['spec: Forbidden: only cpu and memory resources are mutable at pod-level'],
  ],
])('resources of the pod as a whole are %s', (_, old, next, expected) => {
  const whole = (resources: V1PodSpec['resources']) => ({ spec: { ...spec({}), resources } });
  const causes = validatePodResize(whole(next), whole(old));
  expect(causes.map(({ field, message }) => `${field}: ${message}`)).toEqual(expected);
});
