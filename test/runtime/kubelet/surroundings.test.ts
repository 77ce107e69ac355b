// What containers find around them beyond the commonest fields: variables, names, users, classes, groups, order.
// Guarantees: each is looked at from inside the container, and from the host where it leaves a trace there.
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1PodSpec } from '../../../src/api/gen/types.js';
import { CONFIG_MAPS, PODS } from '../../../src/api/resources.js';
import { bindLocalVolume } from '../../support/kubelet/localVolume.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';
import { eventually } from '../../support/testCluster.js';

describeWith(NEEDS, 'what containers find around them', () => {
  let pods: PodNode;

  beforeAll(async () => {
    pods = await PodNode.start(
      { resolvConf: '/etc/resolv.test' },
      {
        prepare: async ({ node }) => {
          await node.run('sh', '-c', 'echo "nameserver 10.5.5.5" > /etc/resolv.test');
          await node.run('sh', '-c', 'echo "10.6.6.6 of-node" >> /etc/hosts');
        },
      },
    );
    await pods.client.of(CONFIG_MAPS).create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'settings', namespace: 'default' },
      data: { first: 'map', second: 'map' },
    });
  });
  afterAll(() => pods?.stop());

  test('variables: every field of the pod, what may be missing, who wins, and commands made of them', async () => {
    const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
    const key = (name: string, more: object) => ({ name: 'settings', key: name, ...more });
    const names = ['NAME', 'SPACE', 'UID', 'LABEL', 'NOTE', 'ACCOUNT', 'IP', 'IPS', 'HOSTS', 'NONE', 'first'];
    const script = `for name in ${names.join(' ')}; do busybox env | busybox grep "^$name="; done; echo "$0 $1"; busybox ip -4 -o addr show eth0 | busybox awk '{print $4}'`;
    const containers = [
      {
        ...shell(''),
        command: ['/bin/sh', '-c', `( ${script} ) > /dev/termination-log 2>&1`],
        args: ['$(NAME)-$(SPACE)', '$$(NAME) $(ABSENT)'],
        envFrom: [
          { configMapRef: { name: 'settings' } },
          { configMapRef: { name: 'absent', optional: true } },
        ],
        env: [
          field('NAME', 'metadata.name'),
          field('SPACE', 'metadata.namespace'),
          field('UID', 'metadata.uid'),
          field('LABEL', "metadata.labels['app']"),
          field('NOTE', "metadata.annotations['example.com/note']"),
          field('ACCOUNT', 'spec.serviceAccountName'),
          field('IP', 'status.podIP'),
          field('IPS', 'status.podIPs'),
          field('HOSTS', 'status.hostIPs'),
          { name: 'NONE', valueFrom: { configMapKeyRef: key('absent', { optional: true }) } },
          { name: 'first', value: 'own' },
        ],
      },
    ];
    const labels = { app: 'shop' };
    const annotations = { 'example.com/note': 'a note' };
    const metadata = { labels, annotations };
    await pods.create(
      'fields',
      { restartPolicy: 'Never', serviceAccountName: 'worker', containers },
      metadata,
    );
    const { metadata: made, status } = await pods.ended('fields');
    const lines = (status.containerStatuses?.[0]?.state?.terminated?.message ?? '').trimEnd().split('\n');
    const ip = lines.at(-1)?.split('/')[0];
    expect(ip).toMatch(/^10\.77\.0\.\d+$/);
    expect(lines.slice(0, -1)).toEqual([
      'NAME=fields',
      'SPACE=default',
      `UID=${made.uid}`,
      'LABEL=shop',
      'NOTE=a note',
      'ACCOUNT=worker',
      `IP=${ip}`,
      `IPS=${ip}`,
      'HOSTS=127.0.0.1',
      'first=own',
      'fields-default $(NAME) $(ABSENT)',
    ]);
    await pods.create('lacking', {
      containers: [shell(SLEEP, { env: [{ name: 'A', valueFrom: { configMapKeyRef: key('absent', {}) } }] })],
    });
    expect(await pods.waiting('lacking', /^CreateContainerConfigError$/)).toEqual({
      reason: 'CreateContainerConfigError',
      message: "couldn't find key absent in ConfigMap default/settings",
    });
    await pods.drop('fields', 'lacking');
  });

  test('names: each policy of DNS, the hosts of the node, and a name that is too long', async () => {
    const resolver = 'busybox grep -E "^(nameserver|search|options)" /etc/resolv.conf';
    expect(await pods.told('of-node', resolver, {}, { dnsPolicy: 'Default' })).toEqual([
      'nameserver 10.5.5.5',
    ]);
    const hostNetwork = true;
    const alias = { hostAliases: [{ ip: '10.1.2.3', hostnames: ['alias.example'] }] };
    const onNode = await pods.told(
      'on-node',
      `${resolver}; busybox grep -E "of-node|alias" /etc/hosts | busybox tr "\\t" " "`,
      {},
      { hostNetwork, ...alias },
    );
    expect(onNode).toEqual(['nameserver 10.5.5.5', '10.6.6.6 of-node', '10.1.2.3 alias.example']);
    const both = { hostNetwork, dnsPolicy: 'ClusterFirstWithHostNet' };
    // In which order is the runtime's affair.
    expect([...(await pods.told('both', resolver, {}, both))].sort()).toEqual([
      'nameserver 10.96.0.10',
      'options ndots:5',
      'search default.svc.cluster.local svc.cluster.local cluster.local',
    ]);
    const override = { hostnameOverride: 'other.example' };
    expect(await pods.told('renamed', 'busybox hostname', {}, override)).toEqual(['other.example']);
    const long = `n${'0123456789'.repeat(6)}-23456`;
    expect(await pods.told(long, 'busybox hostname; busybox grep -c "of-node" /etc/hosts')).toEqual([
      long.slice(0, 63),
      '0',
    ]);
  });

  test('security: the pod says, the container says otherwise; groups of volumes; what a node forbids', async () => {
    const status =
      'busybox grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status | busybox xargs; busybox id -u; busybox id -G';
    const shared = { runAsUser: 1, runAsGroup: 2, seccompProfile: { type: 'RuntimeDefault' } };
    const own = { runAsUser: 3, runAsGroup: 4, seccompProfile: { type: 'Unconfined' } };
    expect(await pods.told('of-pod', status, {}, { securityContext: shared })).toEqual([
      'CapEff: 0000000000000000 NoNewPrivs: 0 Seccomp: 2',
      '1',
      '2',
    ]);
    const otherwise = { securityContext: { ...own, allowPrivilegeEscalation: false } };
    expect(await pods.told('of-container', status, otherwise, { securityContext: shared })).toEqual([
      'CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 0',
      '3',
      '4',
    ]);
    await pods.create('unsafe', {
      securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] },
      containers: [shell(SLEEP)],
    });
    expect((await pods.ended('unsafe')).status).toMatchObject({ phase: 'Failed', reason: 'SysctlForbidden' });
    await pods.drop('unsafe');
  });

  test('the group of a claim: changed all the way down, or only where its root is not the group yet', async () => {
    mkdirSync(pods.at('disk'));
    writeFileSync(pods.at('disk/file'), '');
    await bindLocalVolume(pods.client, 'disk', pods.at('disk'));
    const run = (name: string, fsGroup: number, fsGroupChangePolicy: string) =>
      pods.told(
        name,
        'busybox stat -c %a:%g /data; busybox stat -c %g /data/file',
        { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
        {
          securityContext: { fsGroup, fsGroupChangePolicy },
          volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
        },
      );
    expect(await run('first', 2000, 'OnRootMismatch')).toEqual(['2775:2000', '2000']);
    await pods.node.node.run('chgrp', '77', pods.at('disk/file'));
    expect(await run('second', 2000, 'OnRootMismatch')).toEqual(['2775:2000', '77']);
    // A volume is given to a group only while no other pod of the node has it.
    await eventually(
      async () =>
        readdirSync(pods.at('kubelet/pods')).filter((uid) =>
          existsSync(pods.at(`kubelet/pods/${uid}/plugins`)),
        ),
      (using) => using.length === 0,
    );
    expect(await run('third', 2000, 'Always')).toEqual(['2775:2000', '2000']);
    expect(lstatSync(pods.at('disk/file')).gid).toBe(2000);
  });

  test('control groups by class of service, of pod and container; overhead on top', async () => {
    const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
    await pods.create('sure', { containers: [shell(SLEEP, { resources: both('200m', '32Mi') })] });
    await pods.create('any', { containers: [shell(SLEEP)] });
    await pods.create('costly', {
      overhead: { cpu: '100m', memory: '16Mi' },
      containers: [shell(SLEEP, { resources: both('200m', '32Mi') })],
    });
    const groupOf = async (name: string, below: string) => {
      const { metadata, status } = await pods.running(name);
      const id = status.containerStatuses?.[0]?.containerID?.split('://')[1];
      const group = `${pods.node.node.cgroupParent}/kubepods${below}/pod${metadata.uid}`;
      const read = (place: string, v1: readonly [string, string], v2: string) => {
        const old = `/sys/fs/cgroup/${v1[0]}${place}/${v1[1]}`;
        return readFileSync(existsSync(old) ? old : `/sys/fs/cgroup${place}/${v2}`, 'utf8').trim();
      };
      const of = (place: string) => ({
        memory: read(place, ['memory', 'memory.limit_in_bytes'], 'memory.max'),
        quota: read(place, ['cpu', 'cpu.cfs_quota_us'], 'cpu.max').split(' ')[0],
      });
      return { qosClass: status.qosClass, pod: of(group), container: of(`${group}/${id}`) };
    };
    const own = { memory: String(32 << 20), quota: '20000' };
    expect(await groupOf('sure', '')).toEqual({ qosClass: 'Guaranteed', pod: own, container: own });
    expect(await groupOf('costly', '')).toEqual({
      qosClass: 'Guaranteed',
      container: own,
      pod: { memory: String(48 << 20), quota: '30000' },
    });
    const any = await groupOf('any', '/besteffort');
    expect(any).toMatchObject({
      qosClass: 'BestEffort',
      pod: { quota: expect.stringMatching(/^(-1|max)$/) },
    });
    const scores = ['sure', 'any'].map((name) => pods.inside(name, 'cat /proc/1/oom_score_adj'));
    const [sure, best] = (await Promise.all(scores)).map(Number);
    expect(best).toBe(1000);
    expect(sure).toBeLessThan(3);
    await pods.drop('sure', 'any', 'costly');
  });

  test('order: init containers and sidecars one after the other, and back again at the end', async () => {
    mkdirSync(pods.at('order'));
    const volumeMounts = [{ name: 'order', mountPath: '/order' }];
    const note = (words: string) => `echo ${words} >> /order/log`;
    const lasting = (name: string) =>
      `trap '${note(`${name} ends`)}; exit 0' TERM; ${note(`${name} starts`)}; echo > /tmp/up; while true; do sleep 0.1; done`;
    const sidecar = (name: string) =>
      shell(lasting(name), {
        name,
        volumeMounts,
        restartPolicy: 'Always',
        startupProbe: { exec: { command: ['/bin/cat', '/tmp/up'] }, periodSeconds: 1, timeoutSeconds: 20 },
      });
    const spec: Partial<V1PodSpec> = {
      terminationGracePeriodSeconds: 60,
      volumes: [{ name: 'order', hostPath: { path: pods.at('order') } }],
      initContainers: [
        sidecar('first'),
        shell(`${note('init')}; exit 0`, { name: 'init', volumeMounts }),
        sidecar('second'),
      ],
      containers: [shell(lasting('main'), { volumeMounts })],
    };
    await pods.create('ordered', spec);
    const log = () => readFileSync(pods.at('order/log'), 'utf8').trimEnd().split('\n');
    await eventually(
      async () => log(),
      (lines) => lines.includes('main starts'),
    );
    await pods.remove('ordered');
    expect(log()).toEqual([
      'first starts',
      'init',
      'second starts',
      'main starts',
      'main ends',
      'second ends',
      'first ends',
    ]);
  });

  test('labels that change are seen in a volume of the running pod', async () => {
    await pods.create(
      'labelled',
      {
        volumes: [
          {
            name: 'down',
            projected: {
              sources: [
                { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
                { configMap: { name: 'settings', items: [{ key: 'first', path: 'map', mode: 0o400 }] } },
              ],
            },
          },
        ],
        containers: [shell(SLEEP, { volumeMounts: [{ name: 'down', mountPath: '/down' }] })],
      },
      { labels: { stage: 'one' } },
    );
    await pods.running('labelled');
    expect(await pods.inside('labelled', 'cat /down/labels; busybox stat -L -c " %a" /down/map')).toBe(
      'stage="one" 400',
    );
    const labels = { metadata: { labels: { stage: 'two' } } };
    await pods.client.of(PODS).patch({ namespace: 'default', name: 'labelled' }, 'merge', labels);
    await eventually(
      () => pods.inside('labelled', 'cat /down/labels'),
      (text) => text === 'stage="two"',
    );
    await pods.drop('labelled');
  });
});
