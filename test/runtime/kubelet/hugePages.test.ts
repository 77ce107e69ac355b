// Huge pages on the real kernel: what a pod may use is in its control groups, and volumes of them are mounted as such.
// Guarantees: the machine has as many pages afterwards as before; its hierarchies of control groups are as they were.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODES } from '../../../src/api/resources.js';
import type { CriNode } from '../../support/criNode.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';

const PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';
const MIB = 2 ** 20;
const MOUNT = '/sys/fs/cgroup/hugetlb';
/** In a directory of its own over the machine's: runtimes take the name alone for the controller. */
const ADD_HIERARCHY = `
set -e
mkdir /run/cgroup
mount --rbind /sys/fs/cgroup /run/cgroup
mount -t tmpfs cgroup /sys/fs/cgroup
for each in $(ls /run/cgroup); do
  mkdir /sys/fs/cgroup/$each
  mount --bind /run/cgroup/$each /sys/fs/cgroup/$each
done
mkdir ${MOUNT}
mount -t cgroup -o hugetlb hugetlb ${MOUNT}
`;
const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers');

describeWith({ ...NEEDS, files: [...NEEDS.files, PAGES] }, 'huge pages', () => {
  let pods: PodNode;
  let before: string;
  const isOurs = !isUnified && !existsSync(MOUNT);
  const base = () => `${isUnified ? '/sys/fs/cgroup' : MOUNT}${pods.node.node.cgroupParent}`;
  /** A machine of v1 may have left this one hierarchy out: the node gets it, and nobody else sees it. */
  const prepare = async ({ node }: CriNode) => {
    if (isOurs) await node.run('sh', '-c', ADD_HIERARCHY);
  };
  const limitOf = async (group: string, kind: '' | 'rsvd.' = '') => {
    const file = `hugetlb.2MB.${kind}${isUnified ? 'max' : 'limit_in_bytes'}`;
    return Number(await pods.node.node.run('cat', `${base()}/kubepods/burstable/${group}/${file}`));
  };
  const asking = (amount: string) => ({
    requests: { memory: '16Mi', 'hugepages-2Mi': amount },
    limits: { memory: '64Mi', 'hugepages-2Mi': amount },
  });

  beforeAll(async () => {
    before = readFileSync(PAGES, 'utf8').trim();
    writeFileSync(PAGES, String(Number(before) + 4));
    pods = await PodNode.start({}, { prepare });
  });
  afterAll(async () => {
    if (isOurs && pods !== undefined) {
      await pods.node.node.run('find', base(), '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';');
      await pods.node.node.run('umount', MOUNT);
    }
    await pods?.stop();
    writeFileSync(PAGES, before);
  });

  test('limits are in the groups of pod and container, volumes are of huge pages, and the node counts them', async () => {
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
    expect(await limitOf(group)).toBe(6 * MIB);
    expect(await limitOf(group, 'rsvd.')).toBe(6 * MIB);
    const ids = new Map(
      pod.status.containerStatuses?.map(({ name, containerID }) => [name, containerID?.split('://')[1]]),
    );
    expect(await limitOf(`${group}/${ids.get('main')}`)).toBe(4 * MIB);
    expect(await limitOf(`${group}/${ids.get('other')}`)).toBe(2 * MIB);
    const seen =
      "busybox grep ' /pages/' /proc/mounts | busybox awk '{print $2, $3, $4}'; busybox stat -c %a:%g";
    expect((await pods.inside('huge', `${seen} /pages/any /pages/sized`)).split('\n')).toEqual([
      expect.stringMatching(/^\/pages\/any hugetlbfs .*pagesize=2M/),
      expect.stringMatching(/^\/pages\/sized hugetlbfs .*pagesize=2M/),
      ...['2777:2000', '2777:2000'],
    ]);
    const dir = pods.at(`kubelet/pods/${pod.metadata.uid}/volumes/kubernetes.io~empty-dir/any`);
    expect(await pods.node.node.run('stat', '-f', '-c', '%T', dir)).toBe('hugetlbfs\n');
    await pods.remove('huge');
    expect(await pods.node.node.run('cat', '/proc/mounts')).not.toContain('hugetlbfs');
  });

  test('who asks for none gets none, and more than there are is refused', async () => {
    await pods.create('plain', { containers: [shell(SLEEP, { resources: { requests: { cpu: '10m' } } })] });
    const group = `pod${(await pods.running('plain')).metadata.uid}`;
    expect(await limitOf(group)).toBe(0);
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
