// Extenders at work: a server of the test's own is asked over HTTP as kube-scheduler asks, and what it says happens.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { V1Node, V1Pod } from '../../../src/api/gen/types.js';
import { PODS } from '../../../src/api/resources.js';
import { parseConfiguration } from '../../../src/scheduler/configuration/configuration.js';
import { Extender } from '../../../src/scheduler/extenders/extender.js';
import { cpu, Playground, until } from './support.js';

/** What an extender is asked, in the names of Kubernetes' extender/v1. */
interface Question {
  readonly Pod: V1Pod;
  readonly Nodes?: { readonly items: readonly V1Node[] };
  readonly NodeNames?: readonly string[];
  readonly NodeNameToVictims?: Readonly<Record<string, { readonly Pods: readonly V1Pod[] }>>;
  readonly PodName?: string;
  readonly PodNamespace?: string;
  readonly PodUID?: string;
  readonly Node?: string;
}
type Answer = (question: Question) => unknown;

let ground: Playground;
let server: http.Server;
let url: string;
/** By path; what is not there is answered with 500. */
let answers: Record<string, Answer>;
let asked: string[];
let ends: (() => Promise<void>)[];
beforeAll(async () => {
  ground = await Playground.open();
  server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? '';
    asked.push(path);
    const answer = await answers[path]?.(JSON.parse(Buffer.concat(chunks).toString()) as Question);
    response.writeHead(answer === undefined ? 500 : 200).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/my`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await ground.close();
});
beforeEach(() => {
  answers = {};
  asked = [];
  ends = [];
});
afterEach(async () => {
  for (const end of ends) await end();
  await ground.clear();
});

/** A scheduler with extenders as a configuration file has them. */
function schedule(...extenders: object[]): void {
  const { extenders: settings, profiles } = parseConfiguration(
    JSON.stringify({
      apiVersion: 'kubescheduler.config.k8s.io/v1',
      kind: 'KubeSchedulerConfiguration',
      extenders: extenders.map((one) => ({ urlPrefix: url, ...one })),
    }),
  );
  const made = settings.map((one) => new Extender(one));
  const stop = ground.schedule({
    extenders: made,
    profiles,
    podInitialBackoffMs: 20,
    podMaxBackoffMs: 50,
  });
  ends.push(async () => {
    await stop();
    for (const extender of made) extender.close();
  });
}
const namesIn = ({ Nodes, NodeNames }: Question) =>
  NodeNames ?? (Nodes?.items ?? []).map(({ metadata }) => metadata?.name ?? '');
const placed = (expected: Record<string, string>) =>
  until(async () => expect(await ground.placements()).toEqual(expected));
const said = (name: string, text: string) =>
  until(async () => expect((await ground.failures(name)).join('\n')).toContain(text));

test('only nodes that it leaves are taken, and it is shown only those that fit', async () => {
  for (const name of ['a', 'b', 'c']) await ground.node(name);
  await ground.node('small', { allocatable: { cpu: '100m' } });
  const shown: string[][] = [];
  answers['/my/filter'] = (question) => {
    shown.push([...namesIn(question)].sort());
    return { Nodes: { items: question.Nodes?.items.filter(({ metadata }) => metadata?.name === 'b') } };
  };
  schedule({ filterVerb: 'filter' });
  for (const name of ['p', 'q']) await ground.pod(name, cpu('500m'));
  await placed({ p: 'b', q: 'b' });
  expect(shown).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ]);
});

test('its reasons are told, and any change lets it be asked again', async () => {
  for (const name of ['a', 'b']) await ground.node(name);
  let open = false;
  answers['/my/filter'] = (question) =>
    open
      ? { nodenames: namesIn(question) }
      : { NodeNames: [], FailedNodes: { a: 'no licence' }, FailedAndUnresolvableNodes: { b: 'no licence' } };
  schedule({ filterVerb: 'filter', nodeCacheCapable: true });
  await ground.pod('p');
  await said('p', '0/2 nodes are available: 2 no licence.');
  open = true;
  await ground.node('late', { allocatable: { pods: '0' } });
  await until(async () => expect(Object.keys(await ground.placements())).toEqual(['p']));
});

test('its ratings count with its weight', async () => {
  for (const name of ['a', 'b', 'c']) await ground.node(name);
  answers['/my/rate'] = (question) =>
    namesIn(question).map((Host) => ({ Host, Score: Host === 'c' ? 10 : 0 }));
  schedule({ prioritizeVerb: 'rate', weight: 5, nodeCacheCapable: true });
  for (const name of ['p', 'q', 'r']) await ground.pod(name, cpu('500m'));
  await placed({ p: 'c', q: 'c', r: 'c' });
});

test('one that fails holds its pods back until it is well; one that may be ignored does not', async () => {
  await ground.node('a');
  schedule({
    filterVerb: 'needed',
    managedResources: [{ name: 'example.com/gpu', ignoredByScheduler: true }],
  });
  const gpu = {
    containers: [{ name: 'c', image: 'busybox', resources: { limits: { 'example.com/gpu': '1' } } }],
  };
  await ground.pod('plain');
  await ground.pod('gpu', gpu);
  await placed({ plain: 'a' });
  await said('gpu', `extender ${url}: it answered 500`);
  // The node offers no such thing: it is the extender's business alone.
  answers['/my/needed'] = (question) => ({ Nodes: question.Nodes });
  await placed({ plain: 'a', gpu: 'a' });
  expect(asked.every((path) => path === '/my/needed')).toBe(true);
});

test('an ignorable one that fails, or does not answer in time, is passed over', async () => {
  await ground.node('a');
  answers['/my/slow'] = () => new Promise(() => {});
  schedule(
    { filterVerb: 'broken', ignorable: true },
    { filterVerb: 'slow', ignorable: true, httpTimeout: '100ms' },
  );
  await ground.pod('p');
  await placed({ p: 'a' });
  expect(new Set(asked)).toEqual(new Set(['/my/broken', '/my/slow']));
});

test('it binds in the place of the scheduler, and a refusal is tried again', async () => {
  await ground.node('a');
  let refusals = 1;
  answers['/my/bind'] = async ({ PodName = '', PodNamespace = '', PodUID, Node = '' }) => {
    if (refusals-- > 0) return { Error: 'not yet' };
    await ground.api.client.of(PODS).post({ name: PodName, namespace: PodNamespace }, 'binding', {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: PodName, namespace: PodNamespace, uid: PodUID },
      target: { apiVersion: 'v1', kind: 'Node', name: Node },
    });
    return {};
  };
  schedule({ bindVerb: 'bind' });
  await ground.pod('p');
  await placed({ p: 'a' });
  await said('p', 'not yet');
  expect(asked).toEqual(['/my/bind', '/my/bind']);
});

test('victims are displaced only where it allows', async () => {
  for (const name of ['a', 'b']) await ground.node(name, { allocatable: { cpu: '1' } });
  answers['/my/preempt'] = ({ NodeNameToVictims = {} }) => ({
    NodeNameToMetaVictims: Object.fromEntries(
      Object.entries(NodeNameToVictims)
        .filter(([node]) => node === 'b')
        .map(([node, { Pods }]) => [node, { Pods: Pods.map(({ metadata }) => ({ UID: metadata?.uid })) }]),
    ),
  });
  schedule({ preemptVerb: 'preempt' });
  for (const name of ['a', 'b'])
    await ground.pod(`low-${name}`, { ...cpu('1'), nodeSelector: { 'kubernetes.io/hostname': name } });
  await placed({ 'low-a': 'a', 'low-b': 'b' });
  await ground.pod('vip', { ...cpu('1'), priorityClassName: 'system-cluster-critical' });
  await placed({ 'low-a': 'a', vip: 'b' });
});
