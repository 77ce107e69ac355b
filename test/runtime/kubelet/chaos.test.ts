// A node on which things die at random: sandboxes, containers, shims, the runtime, the agent. After each the pods of every
// restart policy are as they should be. TRELLIS_CHAOS_ROUNDS makes it long, TRELLIS_CHAOS_SEED repeats a run.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1ContainerStatus, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { openClient } from '../../../src/client/typedClient.js';
import { CriNode } from '../../support/criNode.js';
import { disorder, miscounts, parseJournal, repeats, telling } from '../../support/kubelet/journal.js';
import { KUBELET_MAIN, KubeletProcess } from '../../support/kubelet/kubeletProcess.js';
import { makeNamespaces, NodePods, shell } from '../../support/kubelet/nodePods.js';
import { describeWith } from '../../support/requires.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';
import { until } from '../../support/until.js';

const ROUNDS = Number(process.env['TRELLIS_CHAOS_ROUNDS'] ?? 4);
const SEED = Number(process.env['TRELLIS_CHAOS_SEED'] ?? Date.now() % 1_000_000);
const MINUTES = 2 + ROUNDS;

/** In the order in which they begin; the main ones after them. */
const INITS = ['first', 'side', 'second'];
const NEEDS = { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox', KUBELET_MAIN] };

class ChaosNode extends NodePods {
  constructor(
    node: CriNode,
    readonly api: TestApiServer,
    readonly kubelet: KubeletProcess,
  ) {
    super(node, openClient(api.transport));
  }

  said = (): string => this.kubelet.output();
  at = (...names: readonly string[]) => path.join(this.node.node.directory, ...names);
}

describeWith(NEEDS, 'a node on which things die', () => {
  let pods: ChaosNode;
  /** xorshift32: the same seed, the same deaths, as far as the machine allows. */
  let state = SEED || 1;
  const random = (below: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
  const oneOf = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
  let nevers = 0;
  const never = () => `never-${nevers}`;

  const volumeMounts = [{ name: 'journal', mountPath: '/journal' }];
  const one = (name: string, between: string) => shell(telling(name, between), { name, volumeMounts });
  const STAY = 'busybox sleep 100000 & trap "exit 1" TERM; wait';
  const specOf = (restartPolicy: string): Partial<V1PodSpec> => ({
    restartPolicy,
    volumes: [{ name: 'journal', hostPath: { path: pods.at('journal') } }],
    initContainers: [
      one('first', 'busybox sleep 0.1'),
      { ...one('side', STAY), restartPolicy: 'Always' },
      one('second', 'busybox sleep 0.1'),
    ],
    containers: [one('main', STAY), ...(restartPolicy === 'OnFailure' ? [one('once', 'true')] : [])],
  });
  const begin = () =>
    Promise.all([
      ...['Always', 'OnFailure'].map((policy) => pods.create(policy.toLowerCase(), specOf(policy))),
      pods.create(never(), specOf('Never')),
    ]);
  const names = () => ['always', 'onfailure', never()];

  beforeAll(async () => {
    console.info(`TRELLIS_CHAOS_SEED=${SEED}`);
    const node = await CriNode.start();
    const api = await startTestApiServer();
    const kubelet = await KubeletProcess.make(node, api, {
      crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
      evictionHard: {},
    });
    pods = new ChaosNode(node, api, kubelet);
    await makeNamespaces(pods.client);
    mkdirSync(pods.at('journal'));
    kubelet.start();
    await until(async () => expect(await pods.readiness()).toBe('True'));
    await begin();
    await until(settled);
  }, 120_000);
  afterAll(async () => {
    await pods?.kubelet.stop();
    await pods?.node.stop();
    await pods?.api.close();
  });

  const mainsOf = ({ status }: Stored<V1Pod>) => status.containerStatuses ?? [];
  const idOf = ({ containerID = '' }: V1ContainerStatus) => containerID.split('://')[1] ?? '';

  /** The API shows what the runtime has, and all that should run does. */
  async function settled(): Promise<void> {
    const { runtime } = pods.node.cri;
    const ready = (await runtime.listPodSandbox()).filter(({ state: is }) => is === 'SANDBOX_READY');
    const isReady = (id: string) => ready.some((sandbox) => sandbox.id === id);
    const running = new Set(
      (await runtime.listContainers())
        .filter(({ state: is, podSandboxId }) => is === 'CONTAINER_RUNNING' && isReady(podSandboxId))
        .map(({ id }) => id),
    );
    for (const name of names()) {
      const pod = await pods.get(name);
      if (pod === undefined) throw new Error(`${name} is gone`);
      if (name === never() && pod.status.phase === 'Failed') continue;
      const side = pod.status.initContainerStatuses?.find((status) => status.name === 'side');
      for (const status of [...mainsOf(pod).filter((status) => status.name !== 'once'), side])
        if (status?.state?.running === undefined || !running.has(idOf(status)))
          throw new Error(`${name}: ${JSON.stringify(pod.status, undefined, 1)}\n${pods.said()}`);
      const once = mainsOf(pod).find((status) => status.name === 'once');
      if (once !== undefined && once.state?.terminated?.exitCode !== 0)
        throw new Error(`${name}: once has not ended: ${JSON.stringify(once)}\n${pods.said()}`);
    }
  }

  const journalOf = (name: string) => parseJournal(readFileSync(pods.at('journal', name), 'utf8'));
  const logsOf = ({ metadata }: Stored<V1Pod>) => {
    const directory = pods.at('logs', `default_${metadata.name}_${metadata.uid}`);
    const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
    return new Map(
      files
        .filter((file) => file.endsWith('.log'))
        .map((file) => [file, readFileSync(path.join(directory, file), 'utf8')]),
    );
  };

  async function problems(): Promise<string[]> {
    const found = await Promise.all(
      names().map(async (name) => {
        const pod = (await pods.get(name)) as Stored<V1Pod>;
        const journal = journalOf(name);
        const counted = [...(pod.status.initContainerStatuses ?? []), ...mainsOf(pod)].map((status) => ({
          name: status.name,
          restartCount: status.restartCount,
          isRunning: status.state?.running !== undefined,
        }));
        return [
          ...disorder(journal, INITS, ['side']),
          ...miscounts(journal, counted, logsOf(pod)),
          ...(name === never() ? repeats(journal, ['first', 'second', 'main'], 'begin') : []),
          ...(name === 'onfailure' ? repeats(journal, ['once'], 'end') : []),
        ].map((problem) => `${name}: ${problem}`);
      }),
    );
    return found.flat();
  }

  const inside = (...command: readonly [string, ...string[]]) => pods.node.node.run(...command);
  const pidOf = async (id: string) => {
    const line = (await pods.node.ctr('tasks', 'ls')).split('\n').find((one) => one.startsWith(id));
    return line?.split(/\s+/)[1] ?? '';
  };

  /** Ends what it says, as a crash would, and answers when the runtime knows. */
  async function kill(what: string): Promise<string> {
    const { runtime } = pods.node.cri;
    if (what === 'agent') {
      await pods.kubelet.kill();
      pods.kubelet.start();
      return what;
    }
    if (what === 'runtime') {
      await pods.node.restart();
      return what;
    }
    const ready = (await runtime.listPodSandbox()).filter(({ state: is }) => is === 'SANDBOX_READY');
    const up = (await runtime.listContainers()).filter(({ state: is }) => is === 'CONTAINER_RUNNING');
    const victim = what === 'container' ? oneOf(up) : oneOf(ready);
    if (victim === undefined) return 'nothing';
    const pid = await pidOf(victim.id);
    if (pid === '') return 'nothing';
    const target = what === 'shim' ? (await inside('ps', '-o', 'ppid=', '-p', pid)).trim() : pid;
    if (Number(target) <= 1) return 'nothing';
    await inside('kill', '-9', target);
    await until(async () => {
      const left = what === 'container' ? await runtime.listContainers() : await runtime.listPodSandbox();
      const still = left.find(({ id }) => id === victim.id)?.state;
      expect(['CONTAINER_RUNNING', 'SANDBOX_READY']).not.toContain(still);
    });
    return `${what} of ${victim.labels['io.kubernetes.pod.name']} ${victim.metadata.name}`;
  }

  test(
    `order, counts and logs are right after each of ${ROUNDS} deaths`,
    async () => {
      const history: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const kinds = ['sandbox', 'container', 'shim', 'runtime', 'agent'];
        // Sometimes the agent dies while the node is still busy with the death before.
        const deaths = random(3) === 0 ? [oneOf(kinds), 'agent'] : [oneOf(kinds)];
        for (const what of deaths) history.push(await kill(what ?? ''));
        // What is wrong stays wrong: a count or a log that is only late is right in the end.
        await until(async () => {
          await settled();
          const found = await problems();
          if (found.length > 0) throw new Error(found.join('; '));
        }).catch((error: Error) => {
          throw new Error(`seed ${SEED}, after ${history.join('; ')}: ${error.message}`);
        });
        await sleep(random(500)); // the next death may come at any time after
        if ((await pods.get(never()))?.status.phase === 'Failed') {
          await pods.remove(never());
          nevers++;
          await pods.create(never(), specOf('Never'));
          await until(settled);
        }
      }
    },
    MINUTES * 60_000,
  );
});
