// Huge pages on the real kernel: what a pod may use is told to the runtime and its groups, and volumes are made of them.
// Guarantees: the machine has as many pages afterwards as before; no hierarchy is mounted, which all runtimes would notice.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODES } from '../../../src/api/resources.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';

const PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';
const MIB = 2 ** 20;
/** Where the kernel keeps the limits; undefined on a machine that has not mounted the controller. */
const CONTROLLERS = '/sys/fs/cgroup/cgroup.controllers';
const GROUPS = existsSync('/sys/fs/cgroup/hugetlb/hugetlb.2MB.limit_in_bytes')
  ? '/sys/fs/cgroup/hugetlb'
  : existsSync(CONTROLLERS) && readFileSync(CONTROLLERS, 'utf8').includes('hugetlb')
    ? '/sys/fs/cgroup'
    : undefined;

describeWith({ ...NEEDS, files: [...NEEDS.files, PAGES] }, 'huge pages', () => {
  let pods: PodNode;
  let before: string;
  /** HugepageLimit on the wire: the size's name, and the limit in groups of seven bits. */
  const limited = (bytes: number) => {
    const varint: number[] = [];
    let left = bytes;
    for (; left >= 128; left = Math.floor(left / 128)) varint.push((left % 128) | 128);
    return Buffer.from([0x0a, 3, ...Buffer.from('2MB'), 0x10, ...varint, left]);
  };
  const asked: Buffer[] = [];
  const limitOf = (group: string, kind: '' | 'rsvd.' = '') => {
    const at = `${GROUPS}${pods.node.node.cgroupParent}/kubepods/burstable/${group}`;
    const [old, unified] = ['limit_in_bytes', 'max'].map((file) => `${at}/hugetlb.2MB.${kind}${file}`);
    return Number(readFileSync(existsSync(old ?? '') ? (old ?? '') : (unified ?? ''), 'utf8'));
  };
  const asking = (amount: string) => ({
    requests: { memory: '16Mi', 'hugepages-2Mi': amount },
    limits: { memory: '64Mi', 'hugepages-2Mi': amount },
  });

  beforeAll(async () => {
    before = readFileSync(PAGES, 'utf8').trim();
    writeFileSync(PAGES, String(Number(before) + 4));
    pods = await PodNode.start();
    pods.proxy.hold((method, request) => {
      if (method === 'CreateContainer') asked.push(Buffer.from(request));
      return false;
    });
  });
  afterAll(async () => {
    await pods?.stop();
    writeFileSync(PAGES, before);
  });

  test('limits reach runtime and control groups, volumes are of huge pages, and the node counts them', async () => {
    const { status } = await pods.client.of(NODES).get({ name: 'node-1' });
    const has = `${(Number(before) + 4) * 2}Mi`;
    expect(status.capacity?.['hugepages-2Mi']).toBe(has);
    expect(status.allocatable?.['hugepages-2Mi']).toBe(has);
    const pages = [
      { name: 'any', emptyDir: { medium: 'HugePages' } },
      { name: 'sized', emptyDir: { medium: 'HugePages-2Mi' } },
    ];
    await pods.create('huge', {
      securityContext: { fsGroup: 2000 },
      volumes: pages,
      containers: [
        shell(SLEEP, {
          resources: asking('4Mi'),
          volumeMounts: pages.map(({ name }) => ({ name, mountPath: `/pages/${name}` })),
        }),
        shell(SLEEP, { name: 'other', resources: asking('2Mi') }),
      ],
    });
    const pod = await pods.running('huge');
    const group = `pod${pod.metadata.uid}`;
    const isSaid = (bytes: number) => asked.some((request) => request.includes(limited(bytes)));
    expect([4 * MIB, 2 * MIB, 6 * MIB].map(isSaid)).toEqual([true, true, false]);
    if (GROUPS !== undefined) {
      expect([limitOf(group), limitOf(group, 'rsvd.')]).toEqual([6 * MIB, 6 * MIB]);
      const ids = pod.status.containerStatuses?.map(({ containerID }) => containerID?.split('://')[1]);
      expect(ids?.map((id) => limitOf(`${group}/${id}`))).toEqual([4 * MIB, 2 * MIB]);
    }
    const seen =
      "busybox grep ' /pages/' /proc/mounts | busybox awk '{print $2, $3, $4}'; busybox stat -c %a:%g";
    expect((await pods.inside('huge', `${seen} /pages/any /pages/sized`)).split('\n')).toEqual([
      expect.stringMatching(/^\/pages\/any hugetlbfs .*pagesize=2M/),
      expect.stringMatching(/^\/pages\/sized hugetlbfs .*pagesize=2M/),
      '2777:2000',
      '2777:2000',
    ]);
    const dir = pods.at(`kubelet/pods/${pod.metadata.uid}/volumes/kubernetes.io~empty-dir/any`);
    expect(await pods.node.node.run('stat', '-f', '-c', '%T', dir)).toBe('hugetlbfs\n');
    await pods.remove('huge');
    expect(await pods.node.node.run('cat', '/proc/mounts')).not.toContain('hugetlbfs');
  });

  test('who asks for none gets none, and more than there are is refused', async () => {
    asked.length = 0;
    await pods.create('plain', { containers: [shell(SLEEP, { resources: { requests: { cpu: '10m' } } })] });
    const group = `pod${(await pods.running('plain')).metadata.uid}`;
    expect(asked.map((request) => request.includes(limited(0)))).toEqual([true]);
    if (GROUPS !== undefined) expect(limitOf(group)).toBe(0);
    await pods.create('greedy', { containers: [shell(SLEEP, { resources: asking('1Gi') })] });
    expect((await pods.ended('greedy')).status).toMatchObject({
      reason: 'OutOfhugepages-2Mi',
      message: expect.stringContaining(`requested: ${2 ** 30}, used: 0`),
    });
    await pods.create('without', {
      volumes: [{ name: 'pages', emptyDir: { medium: 'HugePages' } }],
      containers: [shell(SLEEP, { volumeMounts: [{ name: 'pages', mountPath: '/pages' }] })],
    });
    expect((await pods.event('without', ({ reason }) => reason === 'FailedMount')).message).toBe(
      'MountVolume.SetUp failed for volume "pages" : medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
    );
    await pods.remove('plain', 'greedy', 'without');
  });
});
