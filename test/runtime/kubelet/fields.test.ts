// Every field of a pod that changes what its containers find, looked at from inside them and from the host.
// Guarantees: the kubelet runs in the node's own mount namespace, so that containers see what it mounts.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import {
  CONFIG_MAPS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  RUNTIME_CLASSES,
  SECRETS,
  SERVICES,
} from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import type { CriNode } from '../../support/criNode.js';
import { bindLocalVolume } from '../../support/kubelet/localVolume.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';
import { eventually } from '../../support/testCluster.js';

const PATIENCE_MS = 50_000;
/** Everything but mkdir is allowed. */
const SECCOMP = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
};

describeWith(NEEDS, 'the fields of a pod', () => {
  let pods: PodNode;
  let node: CriNode;
  let client: Client;

  const at = (name: string) => pods.at(name);
  const create = (name: string, spec: Partial<V1PodSpec>) =>
    pods.create(name, { restartPolicy: 'Never', ...spec });
  const until = (name: string, holds: (pod: Stored<V1Pod>) => boolean) =>
    pods.until('as wanted', name, holds);
  const remove = (name: string) => pods.drop(name);
  const told: PodNode['told'] = (...words) => pods.told(...words);
  const idOf = ({ status }: Stored<V1Pod>, name = 'main') =>
    [...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])]
      .find((one) => one.name === name)
      ?.containerID?.split('://')[1] ?? '';
  const inside = async (id: string, script: string) => {
    const { stdout, stderr } = await node.cri.runtime.execSync(id, ['/bin/sh', '-c', script], 20);
    return `${stdout}${stderr}`.trimEnd();
  };

  beforeAll(async () => {
    pods = await PodNode.start({ podPidsLimit: 50, allowedUnsafeSysctls: ['kernel.msg*'] });
    ({ node, client } = pods);
    const metadata = (name: string) => ({ name, namespace: 'default' });
    await client.of(CONFIG_MAPS).create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: metadata('settings'),
      data: { color: 'red', size: 'big' },
    });
    await client.of(SECRETS).create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: metadata('login'),
      data: { user: Buffer.from('eve').toString('base64') },
    });
    await client.of(SERVICES).create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata('shop'),
      spec: { clusterIP: '10.96.0.77', ports: [{ port: 80, name: 'http' }] },
    });
    mkdirSync(at('kubelet/seccomp'), { recursive: true });
    writeFileSync(at('kubelet/seccomp/no-mkdir.json'), JSON.stringify(SECCOMP));
  });
  afterAll(() => pods?.stop());

  test('volumes: each kind with its contents, modes, medium and owner', async () => {
    const volumes: V1PodSpec['volumes'] = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      {
        name: 'cm',
        configMap: { name: 'settings', defaultMode: 0o440, items: [{ key: 'color', path: 'sub/c' }] },
      },
      { name: 'secret', secret: { secretName: 'login', defaultMode: 0o400 } },
      { name: 'maybe', secret: { secretName: 'none', optional: true } },
      {
        name: 'down',
        downwardAPI: {
          items: [
            { path: 'name', fieldRef: { fieldPath: 'metadata.name' } },
            {
              path: 'cpu',
              resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' },
            },
          ],
        },
      },
      {
        name: 'all',
        projected: {
          sources: [
            { configMap: { name: 'settings', items: [{ key: 'size', path: 'size' }] } },
            { secret: { name: 'login' } },
          ],
        },
      },
      { name: 'made', hostPath: { path: at('made'), type: 'DirectoryOrCreate' } },
    ];
    const mounts = [
      ...['disk', 'memory', 'cm', 'secret', 'maybe', 'down', 'all', 'made'].map((name) => ({
        name,
        mountPath: `/v/${name}`,
      })),
      { name: 'disk', mountPath: '/v/sub', subPath: 'a/b' },
      { name: 'disk', mountPath: '/v/expr', subPathExpr: 'of-$(POD)' },
      { name: 'cm', mountPath: '/v/file', subPath: 'sub/c' },
      { name: 'disk', mountPath: '/v/ro', readOnly: true },
    ];
    const script = [
      'b() { busybox "$@"; }',
      'echo disk $(b stat -c %a:%g /v/disk)',
      "echo memory $(b awk '$2==\"/v/memory\"{print $3}' /proc/mounts) $(b df -k /v/memory | b awk 'END{print $2}')",
      'b dd if=/dev/zero of=/v/memory/fill bs=64k count=64 2>/dev/null; echo fill $(b stat -c %s /v/memory/fill)',
      'echo cm $(cat /v/cm/sub/c) $(b stat -L -c %a:%g /v/cm/sub/c) $(b readlink /v/cm/sub) $(b ls -A /v/cm | b grep -c "^[.][.]data$")',
      'echo secret $(cat /v/secret/user) $(b stat -L -c %a /v/secret/user) $(b awk \'$2=="/v/secret"{print $3}\' /proc/mounts)',
      'echo maybe $(b ls /v/maybe | b wc -l)',
      'echo down $(cat /v/down/name) $(cat /v/down/cpu)',
      'echo all $(cat /v/all/size) $(cat /v/all/user)',
      '(echo x > /v/cm/new) 2>/dev/null && echo cm is writable || echo cm is not writable',
      '(echo x > /v/ro/new) 2>/dev/null && echo ro is writable || echo ro is not writable',
      'echo own > /v/sub/f; echo sub $(cat /v/disk/a/b/f); echo own > /v/expr/f; echo expr $(cat /v/disk/of-volumes/f)',
      'echo file $(cat /v/file); echo host > /v/made/f',
    ].join('; ');
    const lines = await told(
      'volumes',
      script,
      {
        env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
        resources: { limits: { cpu: '250m' } },
        volumeMounts: mounts,
      },
      { volumes, securityContext: { fsGroup: 2000 } },
    );
    expect(lines).toEqual([
      'disk 2777:2000',
      'memory tmpfs 1024',
      'fill 1048576',
      'cm red 440:2000 ..data/sub 1',
      'secret eve 440 tmpfs',
      'maybe 0',
      'down volumes 250',
      'all big eve',
      'cm is not writable',
      'ro is not writable',
      'sub own',
      'expr own',
      'file red',
    ]);
    expect(readFileSync(at('made/f'), 'utf8')).toBe('host\n');
  });

  test('a claim on a local volume is what the host has, and stays when the pod goes', async () => {
    mkdirSync(at('disk-1'));
    writeFileSync(at('disk-1/before'), 'there');
    await bindLocalVolume(client, 'disk-1', at('disk-1'));
    const lines = await told(
      'claims',
      'cat /data/before; echo; echo after > /data/after',
      { volumeMounts: [{ name: 'data', mountPath: '/data' }] },
      { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] },
    );
    expect(lines).toEqual(['there']);
    expect(readFileSync(at('disk-1/after'), 'utf8')).toBe('after\n');
  });

  test('an ephemeral volume is the claim that was made for the pod, and no other of that name', async () => {
    mkdirSync(at('scratch'));
    const capacity = { storage: '1Gi' };
    const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: capacity } };
    const pod = await create('drafts', {
      volumes: [{ name: 'own', ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }],
      containers: [shell('echo kept > /own/file', { volumeMounts: [{ name: 'own', mountPath: '/own' }] })],
    });
    const place = { name: 'drafts-own', namespace: 'default' };
    const head = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
    const spec = { ...claimSpec, storageClassName: '', volumeName: 'scratch' };
    const claims = client.of(PERSISTENT_VOLUME_CLAIMS);
    // No controller runs here: the test makes the claim and binds it.
    const claim = await claims.create({ ...head, metadata: place, spec });
    await client.of(PERSISTENT_VOLUMES).create({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'scratch' },
      spec: {
        capacity,
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: at('scratch') },
        claimRef: { kind: 'PersistentVolumeClaim', ...place, uid: claim.metadata.uid },
      },
    });
    await claims.patch(place, 'merge', { status: { phase: 'Bound' } }, { subresource: 'status' });
    await pods.event(
      'drafts',
      ({ reason, message = '' }) =>
        /FailedMount/.test(reason ?? '') &&
        message.endsWith('was not created for pod default/drafts (pod is not owner)'),
    );
    const { uid } = pod.metadata;
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'drafts', uid, controller: true }];
    await claims.patch(place, 'merge', { metadata: { ownerReferences } });
    await until('drafts', ({ status }) => status.phase === 'Succeeded');
    expect(readFileSync(at('scratch/file'), 'utf8')).toBe('kept\n');
    await remove('drafts');
  });

  test('a running pod sees a changed ConfigMap, and mounts that the host makes later', async () => {
    mkdirSync(at('shared'));
    await node.node.run('mount', '--bind', at('shared'), at('shared'));
    await node.node.run('mount', '--make-shared', at('shared'));
    await create('watcher', {
      volumes: [
        { name: 'cm', configMap: { name: 'settings' } },
        { name: 'shared', hostPath: { path: at('shared') } },
      ],
      containers: [
        shell(SLEEP, {
          volumeMounts: [
            { name: 'cm', mountPath: '/cm' },
            { name: 'shared', mountPath: '/shared', mountPropagation: 'HostToContainer' },
          ],
        }),
      ],
    });
    const id = idOf(await until('watcher', ({ status }) => status.phase === 'Running'));
    mkdirSync(at('shared/late'));
    await node.node.run('mount', '-t', 'tmpfs', 'tmpfs', at('shared/late'));
    await node.node.run('touch', at('shared/late/come'));
    expect(await inside(id, 'busybox ls /shared/late')).toBe('come');
    await client
      .of(CONFIG_MAPS)
      .patch({ namespace: 'default', name: 'settings' }, 'merge', { data: { color: 'blue' } });
    await eventually(
      () => inside(id, 'cat /cm/color'),
      (color) => color === 'blue',
      PATIENCE_MS,
    );
    await remove('watcher');
    await node.node.run('umount', at('shared/late'));
    await node.node.run('umount', at('shared'));
  });

  test('environment: every source, prefixes, expansion, Services', async () => {
    const lines = await told(
      'variables',
      'for name in PLAIN MADE LITERAL COLOR USER NODE IP CPU P_size P_color SHOP_SERVICE_HOST SHOP_SERVICE_PORT_HTTP; do busybox env | busybox grep "^$name="; done',
      {
        resources: { limits: { cpu: '1', memory: '64Mi' } },
        envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }],
        env: [
          { name: 'PLAIN', value: 'one' },
          { name: 'MADE', value: '$(PLAIN)-$(NONE)' },
          { name: 'LITERAL', value: '$$(PLAIN)' },
          { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'size' } } },
          { name: 'USER', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
        ],
      },
    );
    expect(lines).toEqual([
      'PLAIN=one',
      'MADE=one-$(NONE)',
      'LITERAL=$(PLAIN)',
      'COLOR=big',
      'USER=eve',
      'NODE=node-1',
      'IP=127.0.0.1',
      'CPU=64',
      'P_size=big',
      expect.stringMatching(/^P_color=(red|blue)$/),
      'SHOP_SERVICE_HOST=10.96.0.77',
      'SHOP_SERVICE_PORT_HTTP=80',
    ]);
    expect(await told('unlinked', 'echo "[$SHOP_SERVICE_HOST]"', {}, { enableServiceLinks: false })).toEqual([
      '[]',
    ]);
  });

  test('environment: variables from a file that an init container wrote, and never from outside its volume', async () => {
    const fileKeyRef = { volumeName: 'made', path: 'out/vars.env', key: 'FIRST' };
    const mounted = { volumeMounts: [{ name: 'made', mountPath: '/made' }] };
    const volumes = [{ name: 'made', emptyDir: {} }];
    const script = `busybox mkdir /made/out; printf "# made\\nFIRST='one \\$(x)'\\nLINES='a\\nb'\\n" > /made/out/vars.env`;
    const lines = await told(
      'from-file',
      'echo "[$FIRST] [$LINES] [$NONE] [$AWAY]"; busybox ls /made 2>&1',
      {
        env: [
          { name: 'FIRST', valueFrom: { fileKeyRef } },
          { name: 'LINES', valueFrom: { fileKeyRef: { ...fileKeyRef, key: 'LINES' } } },
          { name: 'NONE', valueFrom: { fileKeyRef: { ...fileKeyRef, key: 'NONE', optional: true } } },
          { name: 'AWAY', valueFrom: { fileKeyRef: { ...fileKeyRef, path: 'none', optional: true } } },
        ],
      },
      { volumes, initContainers: [shell(script, { ...mounted, name: 'writer' })] },
    );
    expect(lines).toEqual(['[one $(x)] [a', 'b] [] []', 'ls: /made: No such file or directory']);
    const refused = async (name: string, init: string) => {
      await create(name, {
        volumes,
        initContainers: [shell(init, { ...mounted, name: 'writer' })],
        containers: [shell('true', { env: [{ name: 'FIRST', valueFrom: { fileKeyRef } }] })],
      });
      const waitingOf = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0]?.state?.waiting;
      const pod = await until(name, (one) => waitingOf(one)?.reason === 'CreateContainerConfigError');
      await remove(name);
      return waitingOf(pod)?.message;
    };
    expect(await refused('no-key', 'busybox mkdir /made/out; > /made/out/vars.env')).toBe(
      'environment variable key "FIRST" not found in file "out/vars.env" of volume "made"',
    );
    expect(await refused('no-quotes', 'busybox mkdir /made/out; echo FIRST=one > /made/out/vars.env')).toBe(
      'invalid environment variable format at line 1: value must be enclosed in single quotes',
    );
    expect(await refused('away', 'busybox ln -s /etc /made/out')).toMatch(
      /leads out of the volume|not found/,
    );
  });

  test('names: hosts, resolver, host name, subdomain', async () => {
    const lines = await told(
      'names',
      'busybox hostname; cat /etc/resolv.conf; busybox grep -E "names|example" /etc/hosts | busybox tr "\\t" " " | busybox cut -d" " -f2-',
      {},
      {
        hostname: 'first',
        subdomain: 'sub',
        setHostnameAsFQDN: true,
        hostAliases: [{ ip: '10.1.2.3', hostnames: ['example.org', 'www.example.org'] }],
        dnsConfig: {
          searches: ['more.example'],
          options: [{ name: 'ndots', value: '3' }],
          nameservers: ['10.9.9.9'],
        },
      },
    );
    expect(lines[0]).toBe('first.sub.default.svc.cluster.local');
    expect(lines).toContain('nameserver 10.96.0.10');
    expect(lines).toContain('nameserver 10.9.9.9');
    expect(lines.find((line) => line.startsWith('search '))).toMatch(
      /^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local.* more\.example$/,
    );
    expect(lines.find((line) => line.startsWith('options '))).toContain('ndots:3');
    expect(lines.at(-1)).toContain('example.org www.example.org');
    const none = { dnsPolicy: 'None', dnsConfig: { nameservers: ['10.8.8.8'] } };
    expect(await told('no-dns', 'cat /etc/resolv.conf', {}, none)).toEqual(['nameserver 10.8.8.8']);
  });

  test('security: user, groups, capabilities, seccomp, root file system, privileges', async () => {
    const status = 'busybox grep -E "^(CapEff|NoNewPrivs|Seccomp):" /proc/self/status | busybox xargs';
    const lines = await told(
      'secured',
      `busybox id -u; busybox id -G; ${status}; (echo x > /file) 2>/dev/null || echo read-only; busybox mkdir /dev/shm/x 2>/dev/null || echo no mkdir`,
      {
        securityContext: {
          runAsUser: 1234,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
          seccompProfile: { type: 'Localhost', localhostProfile: 'no-mkdir.json' },
        },
        terminationMessagePolicy: 'File',
      },
      { securityContext: { runAsGroup: 77, supplementalGroups: [88], fsGroup: 99, runAsNonRoot: true } },
    );
    expect(lines).toEqual([
      '1234',
      '77 88 99',
      'CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2',
      'read-only',
      'no mkdir',
    ]);
    const [added] = await told('capable', status, {
      securityContext: {
        capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(added).toBe('CapEff: 0000000000000400 NoNewPrivs: 0 Seccomp: 2');
    const masked =
      'busybox wc -c < /proc/keys; (echo x > /proc/sys/kernel/domainname) 2>/dev/null || echo masked';
    expect(await told('masked', masked)).toEqual(['0', 'masked']);
    expect(
      await told(
        'privileged',
        'busybox ls /dev | busybox grep -c "^kmsg$"; busybox mount -t tmpfs x /mnt 2>&1 || busybox mkdir /mnt && busybox mount -t tmpfs x /mnt && echo mounted',
        { securityContext: { privileged: true } },
      ),
    ).toContain('mounted');
    await create('root', { containers: [shell(SLEEP)], securityContext: { runAsNonRoot: true } });
    const refused = await until(
      'root',
      ({ status: now }) =>
        now.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(refused.status.containerStatuses?.[0]?.state?.waiting?.message).toContain(
      'image will run as root',
    );
    await remove('root');
  });

  test('namespaces and sysctls', async () => {
    const links =
      'busybox readlink /proc/self/ns/net; busybox readlink /proc/self/ns/ipc; busybox ps | busybox grep -c "[c]ontainerd --config"';
    const [net, ipc, seen] = await told(
      'host',
      links,
      {},
      { hostNetwork: true, hostIPC: true, hostPID: true },
    );
    expect(net).toBe((await node.node.run('readlink', '/proc/1/ns/net')).trim());
    expect(ipc).toBe((await node.node.run('readlink', '/proc/1/ns/ipc')).trim());
    expect(Number(seen)).toBeGreaterThan(0);
    const sysctls = [
      { name: 'kernel.shm_rmid_forced', value: '1' },
      { name: 'net.ipv4.ip_unprivileged_port_start', value: '77' },
      { name: 'kernel.msgmax', value: '65536' },
    ];
    const read =
      'cat /proc/sys/kernel/shm_rmid_forced /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/msgmax';
    expect(await told('sysctls', read, {}, { securityContext: { sysctls } })).toEqual(['1', '77', '65536']);
    await create('together', {
      shareProcessNamespace: true,
      containers: [shell(SLEEP), shell('exec sleep 20000', { name: 'other' })],
    });
    const pod = await until('together', ({ status }) => status.phase === 'Running');
    expect(await inside(idOf(pod), 'busybox ps')).toContain('sleep 20000');
    await remove('together');
  });

  test('control groups and the oom score are what requests and limits say', async () => {
    await create('sized', {
      containers: [
        shell(SLEEP, {
          resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '500m', memory: '64Mi' } },
        }),
      ],
    });
    const pod = await until('sized', ({ status }) => status.phase === 'Running');
    expect(pod.status.qosClass).toBe('Burstable');
    const parent = `${node.node.cgroupParent}/kubepods/burstable/pod${pod.metadata.uid}`;
    const group = (controller: string, file: string) => {
      const versions = [`/sys/fs/cgroup/${controller}${parent}`, `/sys/fs/cgroup${parent}`];
      const found = versions.find((one) => existsSync(`${one}/${file}`));
      return found === undefined ? undefined : readFileSync(`${found}/${file}`, 'utf8').trim();
    };
    if (existsSync('/sys/fs/cgroup/cgroup.controllers')) {
      expect(group('', 'cpu.max')).toBe('50000 100000');
      expect(group('', 'memory.max')).toBe(String(64 << 20));
      expect(group('', 'pids.max')).toBe('50');
    } else {
      expect(group('cpu', 'cpu.shares')).toBe('102');
      expect(group('cpu', 'cpu.cfs_quota_us')).toBe('50000');
      expect(group('memory', 'memory.limit_in_bytes')).toBe(String(64 << 20));
      expect(group('pids', 'pids.max')).toBe('50');
    }
    expect(Number(await inside(idOf(pod), 'cat /proc/1/oom_score_adj'))).toBeGreaterThan(2);
    await remove('sized');
  });

  test('a host port leads to the pod from the node, and is free again when the pod is gone', async () => {
    await create('ported', {
      containers: [
        shell('while true; do echo through | busybox nc -l -p 8080; done', {
          ports: [{ containerPort: 8080, hostPort: 18080 }],
        }),
      ],
    });
    await until('ported', ({ status }) => status.phase === 'Running');
    const ask = () => node.node.run('sh', '-c', `sleep 1 | timeout 5 busybox nc 10.77.0.1 18080 || true`);
    await eventually(ask, (answer) => answer === 'through\n', PATIENCE_MS);
    await remove('ported');
    await eventually(ask, (answer) => answer === '', PATIENCE_MS);
  });

  test('an ephemeral container joins a running pod and sees the processes of its target', async () => {
    await create('patient', { containers: [shell('exec sleep 12345')] });
    const before = await until('patient', ({ status }) => status.phase === 'Running');
    // As kubectl debug does.
    await client.of(PODS).patch(
      { namespace: 'default', name: 'patient' },
      'strategic',
      {
        spec: {
          ephemeralContainers: [{ ...shell(SLEEP, { name: 'doctor' }), targetContainerName: 'main' }],
        },
      },
      { subresource: 'ephemeralcontainers' },
    );
    const pod = await until(
      'patient',
      ({ status }) => status.ephemeralContainerStatuses?.[0]?.state?.running !== undefined,
    );
    expect(idOf(pod)).toBe(idOf(before));
    expect(await inside(idOf(pod, 'doctor'), 'busybox ps')).toContain('sleep 12345');
    await remove('patient');
  });

  test('life: a deadline, a policy, probes of each start, gates of readiness, a class', async () => {
    const probing = (script: string) => ({
      exec: { command: ['/bin/sh', '-c', script] },
      periodSeconds: 1,
      timeoutSeconds: 30,
    });
    await create('late', { activeDeadlineSeconds: 1, containers: [shell(SLEEP)] });
    await create('twice', {
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        shell('if [ -e /data/ran ]; then exit 0; fi; echo > /data/ran; exit 3', {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
      ],
    });
    await create('served', {
      runtimeClassName: 'plain',
      readinessGates: [{ conditionType: 'example.com/open' }],
      containers: [
        shell(`echo > /tmp/up; ${SLEEP}`, {
          workingDir: '/tmp',
          envFrom: [{ prefix: 'S_', secretRef: { name: 'login' } }],
          startupProbe: { ...probing('[ -e /tmp/up ]'), failureThreshold: 60 },
          readinessProbe: probing('[ -e /tmp/open ]'),
          livenessProbe: { ...probing('true'), failureThreshold: 60 },
        }),
      ],
    });
    await client.of(RUNTIME_CLASSES).create({
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'plain' },
      handler: 'runc',
    });
    await create('classless', { runtimeClassName: 'none', containers: [shell(SLEEP)] });
    const conditionOf = ({ status }: Stored<V1Pod>, type: string) =>
      status.conditions?.find((one) => one.type === type)?.status;
    const started = await until('served', ({ status }) => status.containerStatuses?.[0]?.started === true);
    expect(started.status.containerStatuses?.[0]?.ready).toBe(false);
    expect(await inside(idOf(started), 'echo $S_user; pwd; echo > /tmp/open')).toBe('eve\n/tmp');
    const answering = await until('served', (pod) => conditionOf(pod, 'ContainersReady') === 'True');
    expect(conditionOf(answering, 'Ready')).toBe('False');
    await client
      .of(PODS)
      .patch(
        { namespace: 'default', name: 'served' },
        'strategic',
        { status: { conditions: [{ type: 'example.com/open', status: 'True' }] } },
        { subresource: 'status' },
      );
    const ready = await until('served', (pod) => conditionOf(pod, 'Ready') === 'True');
    expect(ready.status.containerStatuses?.[0]?.restartCount).toBe(0);
    expect((await until('late', ({ status }) => status.phase === 'Failed')).status).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
    const { status: twice } = await until('twice', ({ status }) => status.phase === 'Succeeded');
    expect(twice.containerStatuses?.[0]).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 3 } },
    });
    expect((await pods.event('classless', ({ reason }) => reason === 'FailedCreatePodSandBox')).message).toBe(
      'Failed to create pod sandbox: runtimeclass.node.k8s.io "none" not found',
    );
    const [sandbox] = await node.cri.runtime.listPodSandbox({
      labels: { 'io.kubernetes.pod.name': 'served' },
    });
    expect(sandbox).toMatchObject({ runtimeHandler: 'runc' });
    for (const name of ['late', 'twice', 'served', 'classless']) await remove(name);
  });

  test('last words: from the file, from the log when there are none, and cut to their limit', async () => {
    const log = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    await create('logged', { containers: [{ ...shell('echo from the log; exit 1'), ...log }] });
    const logged = await until('logged', ({ status }) => status.phase === 'Failed');
    expect(logged.status.containerStatuses?.[0]?.state?.terminated?.message).toBe('from the log\n');
    await create('wordy', {
      containers: [
        shell('busybox yes words | busybox head -c 100000 > /last', { terminationMessagePath: '/last' }),
      ],
    });
    const wordy = await until('wordy', ({ status }) => status.phase === 'Succeeded');
    expect(wordy.status.containerStatuses?.[0]?.state?.terminated?.message).toHaveLength(4096);
    await remove('logged');
    await remove('wordy');
  });
});
