import { describe, expect, test } from 'vitest';
import type { V1PodSpec, V1SecurityContext } from '../../../../src/api/gen/types.js';
import {
  containerSecurity,
  namespaceOptions,
  sandboxSecurity,
} from '../../../../src/kubelet/container/security.js';
import { container, podOf } from '../support.js';

const image = (user: { uid?: number; username?: string } = {}) => ({
  username: user.username ?? '',
  ...(user.uid === undefined ? {} : { uid: { value: user.uid } }),
});
const security = (own: V1SecurityContext, spec: Partial<V1PodSpec> = {}, user = image()) =>
  containerSecurity(podOf(spec), container('web', { securityContext: own }), user, {
    seccompRoot: '/var/lib/kubelet/seccomp',
  });

describe('security contexts', () => {
  test('the container wins over its pod, and the pod over the image', () => {
    const shared = { securityContext: { runAsUser: 1, fsGroup: 7, supplementalGroups: [5] } };
    expect(security({ runAsUser: 2 }, shared)).toMatchObject({
      runAsUser: { value: 2 },
      supplementalGroups: [5, 7],
    });
    expect(security({}, shared, image({ uid: 3 }))).toMatchObject({ runAsUser: { value: 1 } });
    expect(security({}, {}, image({ uid: 3 }))).toMatchObject({ runAsUser: { value: 3 } });
    expect(security({}, {}, image({ username: 'www' }))).toMatchObject({ runAsUsername: 'www' });
  });

  test('a group without a user comes with root, if the image names nobody', () => {
    const group = { runAsGroup: { value: 3000 } };
    expect(security({ runAsGroup: 3000 })).toMatchObject({ ...group, runAsUser: { value: 0 } });
    expect(security({}, { securityContext: { runAsGroup: 3000 } })).toMatchObject({
      ...group,
      runAsUser: { value: 0 },
    });
    expect(security({ runAsGroup: 3000 }, {}, image({ uid: 3 }))).toMatchObject({ runAsUser: { value: 3 } });
    expect(security({}, {}, image({ username: 'www' }))).not.toHaveProperty('runAsUser');
  });

  test('a sandbox has a group only beside a user, without whom runtimes refuse it', () => {
    const groupOf = (own: object) => sandboxSecurity(podOf({ securityContext: own })).runAsGroup;
    expect(groupOf({ runAsGroup: 3000 })).toBeUndefined();
    expect(groupOf({ runAsUser: 1000, runAsGroup: 3000 })).toEqual({ value: 3000 });
  });

  test('without a profile of its own a container gets the runtime’s where that is the default', () => {
    const seccompOf = (own: V1SecurityContext, seccompDefault: boolean) =>
      containerSecurity(podOf({}), container('web', { securityContext: own }), image(), {
        seccompRoot: '/s',
        seccompDefault,
      }).seccomp?.profileType;
    expect(seccompOf({}, false)).toBe('Unconfined');
    expect(seccompOf({}, true)).toBe('RuntimeDefault');
    expect(seccompOf({ seccompProfile: { type: 'Unconfined' } }, true)).toBe('Unconfined');
    expect(seccompOf({ privileged: true }, true)).toBe('Unconfined');
  });

  test('labels of SELinux reach the runtime: the pod’s for its sandbox, and for containers that say none', () => {
    const shared = { securityContext: { seLinuxOptions: { level: 's0:c1,c2' } } };
    expect(sandboxSecurity(podOf(shared)).selinuxOptions).toEqual({ level: 's0:c1,c2' });
    expect(security({}, shared).selinuxOptions).toEqual({ level: 's0:c1,c2' });
    expect(security({ seLinuxOptions: { type: 'spc_t' } }, shared).selinuxOptions).toEqual({ type: 'spc_t' });
    expect(security({})).not.toHaveProperty('selinuxOptions');
  });

  test('a privileged container is confined by nothing', () => {
    expect(security({ privileged: true })).toMatchObject({
      privileged: true,
      maskedPaths: [],
      readonlyPaths: [],
      seccomp: { profileType: 'Unconfined' },
    });
    expect(security({}).maskedPaths).toContain('/proc/kcore');
  });

  test.each<[string, V1SecurityContext, object]>([
    ['no new privileges', { allowPrivilegeEscalation: false }, { noNewPrivs: true }],
    ['a root that cannot be written', { readOnlyRootFilesystem: true }, { readonlyRootfs: true }],
    [
      'capabilities',
      { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } },
      { capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] } },
    ],
    ['an open /proc', { procMount: 'Unmasked' }, { maskedPaths: [], readonlyPaths: [] }],
    [
      'the default seccomp profile',
      { seccompProfile: { type: 'RuntimeDefault' } },
      { seccomp: { profileType: 'RuntimeDefault' } },
    ],
  ])('%s', (_, own, expected) => {
    expect(security(own)).toMatchObject(expected);
  });

  test.each<[string, V1SecurityContext, ReturnType<typeof image>, RegExp | undefined]>([
    ['an image of root', {}, image(), /image will run as root/],
    ['an image of user 0', {}, image({ uid: 0 }), /image will run as root/],
    ['an image of a name', {}, image({ username: 'www' }), /non-numeric user \(www\)/],
    ['runAsUser 0', { runAsUser: 0 }, image({ uid: 5 }), /breaks non-root policy/],
    ['an image of a user', {}, image({ uid: 5 }), undefined],
    ['runAsUser', { runAsUser: 5 }, image(), undefined],
  ])('runAsNonRoot and %s', (_, own, user, message) => {
    const make = () => security({ runAsNonRoot: true, ...own }, {}, user);
    if (message === undefined) expect(make).not.toThrow();
    else expect(make).toThrow(message);
  });

  test.each<[string, Partial<V1PodSpec>, object]>([
    ['its own', {}, { network: 'POD', pid: 'CONTAINER', ipc: 'POD' }],
    [
      "the node's",
      { hostNetwork: true, hostPID: true, hostIPC: true },
      { network: 'NODE', pid: 'NODE', ipc: 'NODE' },
    ],
    ['shared processes', { shareProcessNamespace: true }, { pid: 'POD' }],
  ])('namespaces: %s', (_, spec, expected) => {
    expect(namespaceOptions(podOf(spec), undefined)).toMatchObject(expected);
  });
});
