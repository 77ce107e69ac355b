// The pod security standards as a table: what each check finds, in Kubernetes' words, and what the plugin does with it.
import { describe, expect, test } from 'vitest';
import { DEPLOYMENTS, NAMESPACES, PODS } from '../../../../src/api/resources.js';
import {
  type Level,
  labelFaults,
  listed,
  policyOf,
  violations,
} from '../../../../src/apiserver/admission/podSecurity/levels.js';
import { makePodSecurity } from '../../../../src/apiserver/admission/podSecurity/podSecurity.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';
import { admissionRequest } from '../../../support/admissionRequest.js';

const hardened = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};
const found = (level: Level, spec: object, context: object = {}, version = 'latest', metadata = {}) =>
  listed(
    violations(
      { level, version },
      { metadata, spec: { containers: [{ name: 'c', securityContext: context }], ...spec } },
    ),
  );

describe('baseline', () => {
  test.each<[string, object, object, string]>([
    [
      'host namespaces',
      { hostNetwork: true, hostPID: true },
      {},
      'host namespaces (hostNetwork=true, hostPID=true)',
    ],
    [
      'privileged',
      {},
      { privileged: true },
      'privileged (container "c" must not set securityContext.privileged=true)',
    ],
    [
      'capabilities',
      {},
      { capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_ADMIN'] } },
      'non-default capabilities (container "c" must not include "NET_ADMIN", "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'host paths',
      {
        volumes: [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', hostPath: { path: '/' } },
        ],
      },
      {},
      'hostPath volumes (volumes "a", "b")',
    ],
    [
      'host ports',
      { containers: [{ name: 'a', ports: [{ containerPort: 1, hostPort: 80 }] }, { name: 'b' }] },
      {},
      'hostPort (container "a" uses hostPort 80)',
    ],
    [
      'proc mounts',
      {},
      { procMount: 'Unmasked' },
      'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'SELinux',
      { securityContext: { seLinuxOptions: { type: 'spc_t', user: 'root' } } },
      {},
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
    ],
    [
      'seccomp',
      { securityContext: { seccompProfile: { type: 'Unconfined' } } },
      {},
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'sysctls',
      {
        securityContext: {
          sysctls: [
            { name: 'kernel.msgmax', value: '1' },
            { name: 'net.ipv4.tcp_syncookies', value: '1' },
          ],
        },
      },
      {},
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      'host processes',
      { securityContext: { windowsOptions: { hostProcess: true } } },
      {},
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    [
      'hosts of probes',
      { containers: [{ name: 'a', livenessProbe: { httpGet: { port: 1, host: '10.0.0.1' } } }] },
      {},
      'probe or lifecycle host (container "a" uses probe or lifecycle host "10.0.0.1")',
    ],
    ['nothing of a plain pod', {}, {}, ''],
  ])('finds %s', (_, spec, context, sentence) => {
    expect(found('baseline', spec, context)).toBe(sentence);
    expect(found('privileged', spec, context)).toBe('');
  });
  test('looks at init and ephemeral containers too', () => {
    const bad = { name: 'i', securityContext: { privileged: true } };
    expect(
      found('baseline', { initContainers: [bad], ephemeralContainers: [{ ...bad, name: 'e' }] }),
    ).toContain('containers "i", "e"');
  });
  test('judges by the version that the namespace asks for', () => {
    const spec = { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_rmem', value: '1' }] } };
    expect(found('baseline', spec, {}, 'v1.31')).toBe('forbidden sysctls (net.ipv4.tcp_rmem)');
    expect(found('baseline', spec, {}, 'v1.32')).toBe('');
  });
});

describe('restricted', () => {
  test('a hardened pod passes', () => expect(found('restricted', {}, hardened)).toBe(''));
  test('a plain pod breaks four', () => {
    expect(found('restricted', {})).toBe(
      'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
        'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ' +
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
        'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    );
  });
  test.each<[string, object, object, string]>([
    [
      'volumes',
      {
        volumes: [
          { name: 'v', hostPath: { path: '/' } },
          { name: 's', secret: {} },
        ],
      },
      hardened,
      'restricted volume types (volume "v" uses restricted volume type "hostPath")',
    ],
    ['root', {}, { ...hardened, runAsUser: 0 }, 'runAsUser=0 (container "c" must not set runAsUser=0)'],
    [
      'a refusal to be non-root',
      {},
      { ...hardened, runAsNonRoot: false },
      'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    ],
    [
      'added capabilities',
      {},
      { ...hardened, capabilities: { drop: ['ALL'], add: ['CHOWN', 'NET_BIND_SERVICE'] } },
      'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
    ],
  ])('finds %s', (_, spec, context, sentence) => expect(found('restricted', spec, context)).toBe(sentence));
  test('takes what the pod says for its containers', () => {
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
    const { runAsNonRoot: _, seccompProfile: __, ...rest } = hardened;
    expect(found('restricted', { securityContext }, rest)).toBe('');
  });
});

describe('labels', () => {
  test('a level that is not known counts as the strictest', () => {
    expect(policyOf({ 'pod-security.kubernetes.io/enforce': 'basline' }).enforce.level).toBe('restricted');
  });
  test('are checked', () => {
    const faults = labelFaults({
      'pod-security.kubernetes.io/warn': 'x',
      'pod-security.kubernetes.io/warn-version': '1.30',
    });
    expect(faults.map(({ field }) => field)).toEqual([
      'metadata.labels[pod-security.kubernetes.io/warn]',
      'metadata.labels[pod-security.kubernetes.io/warn-version]',
    ]);
  });
});

describe('the plugin', () => {
  const labels: Record<string, string> = {
    'pod-security.kubernetes.io/enforce': 'baseline',
    'pod-security.kubernetes.io/warn': 'restricted',
    'pod-security.kubernetes.io/audit': 'restricted',
  };
  const plugin = makePodSecurity({
    namespace: async () => ({ metadata: { name: 'ns', labels } }) as never,
    podsOf: async () =>
      ['a', 'b'].map((name) => ({
        metadata: { name },
        spec: { hostNetwork: true, containers: [{ name: 'c' }] },
      })) as never,
  });
  const warnings: string[] = [];
  const annotations = new Map<string, string>();
  const ask = (type: AdmissionRequest['type'], changes: Partial<AdmissionRequest>) => {
    warnings.length = 0;
    annotations.clear();
    return plugin.validate?.(
      admissionRequest({
        type,
        warn: (text: string) => void warnings.push(text),
        annotate: (key: string, value: string) => void annotations.set(key, value),
        ...changes,
      }),
    );
  };
  const bad = { spec: { hostNetwork: true, containers: [{ name: 'c' }] } } as never;
  test('refuses a pod that breaks what is enforced', async () => {
    await expect(ask(PODS, { object: bad })).rejects.toMatchObject({
      code: 403,
      message:
        'pods "x" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    });
  });
  test('tells the audit log what judged a pod, and what it would break', async () => {
    await expect(ask(PODS, { object: bad })).rejects.toThrow('violates PodSecurity');
    expect(Object.fromEntries(annotations)).toEqual({
      'pod-security.kubernetes.io/enforce-policy': 'baseline:latest',
      'pod-security.kubernetes.io/audit-violations': expect.stringMatching(
        /^would violate PodSecurity "restricted:latest": host namespaces/,
      ),
    });
    await ask(DEPLOYMENTS, { object: { spec: { template: bad } } as never });
    expect([...annotations.keys()]).toEqual(['pod-security.kubernetes.io/audit-violations']);
  });
  test('warns of a template and lets it be', async () => {
    await ask(DEPLOYMENTS, { object: { spec: { template: bad } } as never });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^would violate PodSecurity "restricted:latest": host namespaces/);
  });
  test('lets a pod that was there before be labelled', async () => {
    const old = { ...(bad as object), metadata: { labels: {} } } as never;
    const labelled = { ...(bad as object), metadata: { labels: { a: 'b' } } } as never;
    await expect(ask(PODS, { operation: 'update', object: labelled, old })).resolves.toBeUndefined();
    expect(warnings).toEqual([]);
  });
  test('names the pods that a stricter namespace would refuse', async () => {
    await ask(NAMESPACES, {
      operation: 'update',
      name: 'ns',
      object: { metadata: { labels } } as never,
      old: { metadata: { labels: {} } } as never,
    });
    expect(warnings).toEqual([
      'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 1 other pod): host namespaces',
    ]);
  });
});
