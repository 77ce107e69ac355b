// `trellis kubelet` as its own process, without an apiserver: static pods, statistics, and a crash in between.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CriNode } from '../../support/criNode.js';
import { IMAGE } from '../../support/imageArchive.js';
import { describeWith } from '../../support/requires.js';

const MAIN = path.resolve('dist/src/cli/main.js');
const FETCH = `
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const answer = await fetch(process.argv[1]).catch((error) => ({ status: 0, text: () => String(error.cause ?? error) }));
console.log(JSON.stringify({ status: answer.status, text: await answer.text() }));
`;

const needs = {
  root: true,
  tools: ['containerd', 'runc', 'ctr', 'iptables-nft', 'iptables-legacy'],
  files: ['/bin/busybox', MAIN],
};
describeWith(needs, 'trellis kubelet without an apiserver', () => {
  let node: CriNode;
  let kubelet: { output(): string };
  let manifests: string;
  let config: string;

  const at = (name: string) => path.join(node.node.directory, name);
  const start = () => {
    const flags = [
      '--config',
      config,
      '--root-dir',
      at('kubelet'),
      '--cert-dir',
      at('pki'),
      '--hostname-override',
      'node-1',
    ];
    const script = `echo $$ > ${at('kubelet.pid')}; exec "$@"`;
    return node.node.startDaemon('sh', '-c', script, 'sh', process.execPath, MAIN, 'kubelet', ...flags);
  };
  const get = async (url: string): Promise<{ status: number; text: string }> =>
    JSON.parse(
      await node.node.run(process.execPath, '--no-warnings', '--input-type=module', '-e', FETCH, url),
    );
  const until = async <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> => {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      await sleep(100);
    }
    throw new Error(`never ${what}: ${kubelet.output()}`);
  };
  const running = () =>
    until('running', async () => {
      const containers = await node.cri.runtime.listContainers();
      return containers.find(
        ({ state, metadata }) => state === 'CONTAINER_RUNNING' && metadata.name === 'web',
      )?.id;
    });

  beforeAll(async () => {
    node = await CriNode.start();
    manifests = at('manifests');
    mkdirSync(manifests);
    config = at('config.json');
    writeFileSync(
      config,
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        staticPodPath: manifests,
        podLogsDir: at('logs'),
        cgroupRoot: node.node.cgroupParent,
        containerRuntimeEndpoint: `unix://${at('containerd.sock')}`,
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        authorization: { mode: 'AlwaysAllow' },
        oomScoreAdj: 321,
        containerLogMaxSize: '4Ki',
        containerLogMonitorInterval: '200ms',
      }),
    );
    kubelet = start();
  });
  afterAll(() => node?.stop());

  test('runs a static pod and tells what it uses', async () => {
    writeFileSync(
      path.join(manifests, 'web.json'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web' },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: 'web',
              image: IMAGE,
              imagePullPolicy: 'IfNotPresent',
              command: ['/bin/sh', '-c', 'while true; do echo a line of the log that will be rotated; done'],
              resources: { limits: { memory: '64Mi', cpu: '50m' } },
            },
          ],
        },
      }),
    );
    const id = await running();
    const score = await node.node.run('sh', '-c', `cat /proc/$(cat ${at('kubelet.pid')})/oom_score_adj`);
    expect(score.trim()).toBe('321');
    expect(await get('http://127.0.0.1:10248/healthz')).toEqual({ status: 200, text: 'ok' });
    const summary = await until('measured', async () => {
      const { status, text } = await get('https://127.0.0.1:10250/stats/summary');
      expect({ status, text }).toMatchObject({ status: 200 });
      const [pod] = JSON.parse(text).pods;
      return pod?.containers[0]?.cpu?.usageNanoCores > 0 ? pod : undefined;
    });
    expect(summary).toMatchObject({
      podRef: { name: 'web-node-1', namespace: 'default' },
      network: { name: 'eth0', rxErrors: 0 },
      containers: [{ name: 'web' }],
    });
    expect(summary.containers[0].memory.workingSetBytes).toBeGreaterThan(0);
    expect(summary.containers[0].memory.availableBytes).toBeLessThan(64 * 1024 * 1024);
    const cadvisor = await get('https://127.0.0.1:10250/metrics/cadvisor');
    expect(cadvisor.text).toMatch(new RegExp(`container_memory_working_set_bytes\\{.*name="${id}"`));
    expect((await get('https://127.0.0.1:10250/metrics')).text).toContain('kubelet_running_pods 1\n');
    expect(JSON.parse((await get('https://127.0.0.1:10250/configz')).text).kubeletconfig.staticPodPath).toBe(
      manifests,
    );
    expect((await get('https://127.0.0.1:10250/logs/..%2f..%2fetc/passwd')).status).toBe(404);
  });

  test('tells others which iptables is used, by chains of that back end', async () => {
    for (const tool of ['iptables', 'ip6tables'])
      await until('told', async () => {
        const saved = await node.node.run('sh', '-c', `${tool}-nft-save; ${tool}-legacy-save`);
        const chains = saved.match(/^:KUBE-\S+/gm) ?? [];
        expect(new Set(chains)).toEqual(new Set([':KUBE-IPTABLES-HINT', ':KUBE-KUBELET-CANARY']));
        return chains.length === 4 ? true : undefined;
      });
  });

  test("rotates the log by the runtime's own hand", async () => {
    await until('rotated', async () => {
      const names = (await node.node.run('sh', '-c', `ls ${at('logs')}/*/web`)).split('\n');
      return names.some((name) => name.endsWith('.gz')) ? names : undefined;
    });
  });

  test('ends by kill -9, and the next one adopts the container', async () => {
    const before = await running();
    await node.node.run('sh', '-c', `kill -9 $(cat ${at('kubelet.pid')})`);
    kubelet = start();
    await until('healthy', async () =>
      (await get('http://127.0.0.1:10248/healthz')).status === 200 ? true : undefined,
    );
    await until('adopted', async () => {
      const { text } = await get('https://127.0.0.1:10250/pods');
      return text.includes(before) ? true : undefined;
    });
    expect(await running()).toBe(before);
  });

  test('an image that an interrupted pull left is refused to a pod that cannot prove its right to it', async () => {
    await node.node.run('sh', '-c', `kill -9 $(cat ${at('kubelet.pid')})`);
    const records = path.join(at('kubelet'), 'image_manager');
    const file = `sha256-${createHash('sha256').update(IMAGE).digest('hex')}`;
    const intent = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'ImagePullIntent', image: IMAGE };
    writeFileSync(path.join(records, 'pulling', file), JSON.stringify(intent));
    kubelet = start();
    const late = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'late' },
      spec: { containers: [{ name: 'late', image: IMAGE, imagePullPolicy: 'Never' }] },
    };
    writeFileSync(path.join(manifests, 'late.json'), JSON.stringify(late));
    await until('refused', async () => {
      const { text } = await get('https://127.0.0.1:10250/pods');
      return text.includes('ErrImageNeverPull') ? true : undefined;
    });
    expect(readdirSync(path.join(records, 'pulling'))).toEqual([]);
    expect(readdirSync(path.join(records, 'pulled'))).toHaveLength(1);
  });
});
