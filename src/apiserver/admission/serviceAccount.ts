// Every pod runs as a service account: the default one if it names none, with the account's token mounted into it.
// Guarantees: no pod is created for an account that does not exist; the pod's and the account's wish not to mount is kept;
// a mirror pod has no account, and an account that enforces its Secrets gives a pod no others.
import type { V1Pod, V1ServiceAccount } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import type { Stored } from '../../api/object.js';
import { PODS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import { pause } from '../../base/deadline.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import { isMirror, objectsOf } from '../auth/podReferences.js';
import { randomSuffix as suffix } from '../randomSuffix.js';
import type { AdmissionLookups } from './lookups.js';
import { enforcesMountable, unmountableIn, unmountableInEphemeral } from './mountableSecrets.js';
import { draftOf, isAbout } from './requests.js';

const TOKEN_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const VOLUME_PREFIX = 'kube-api-access-';
const SUFFIX_LENGTH = 5;
/** An hour and a little: the kubelet renews at 80 %, and the odd number tells these tokens from those asked for by hand. */
const TOKEN_SECONDS = 3607;
const DEFAULT_ACCOUNT = 'default';
const ATTEMPTS = 10;
const ATTEMPT_DELAY_MS = 100;

type PodSpecDraft = NonNullable<Draft<V1Pod>['spec']>;

interface ServiceAccountOptions {
  readonly lookups: Pick<AdmissionLookups, 'serviceAccount'>;
  randomSuffix?(): string;
  pause?(delayMs: number): Promise<void>;
}

export function makeServiceAccount(options: ServiceAccountOptions): AdmissionPlugin {
  const { lookups, randomSuffix = () => suffix(SUFFIX_LENGTH), pause: wait = pause } = options;

  async function accountOf(namespace: string, name: string): Promise<Stored<V1ServiceAccount> | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const account = await lookups.serviceAccount({ namespace, name });
      // The default account follows its namespace by a moment: a pod that is quicker waits for it.
      if (account !== undefined || name !== DEFAULT_ACCOUNT || attempt === ATTEMPTS) return account;
      await wait(ATTEMPT_DELAY_MS);
    }
  }

  return {
    name: 'ServiceAccount',
    async mutate(request) {
      const pod = draftOf(request, PODS, 'create');
      if (pod?.spec === undefined) return;
      const { spec } = pod;
      if (isMirror(pod as V1Pod)) return;
      const name = spec.serviceAccountName || spec.serviceAccount || DEFAULT_ACCOUNT;
      spec.serviceAccountName = name;
      spec.serviceAccount = name;
      const account = await accountOf(request.namespace, name);
      if (account === undefined) {
        const why = `error looking up service account ${request.namespace}/${name}: serviceaccount "${name}" not found`;
        throw forbidden(PODS, request.name, why);
      }
      if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true)
        mountToken(spec, randomSuffix);
      if ((spec.imagePullSecrets ?? []).length === 0 && (account.imagePullSecrets ?? []).length > 0)
        spec.imagePullSecrets = (account.imagePullSecrets ?? []).map(({ name }) => ({ name }));
    },
    async validate(request) {
      const pod = draftOf(request, PODS, 'create') as V1Pod | undefined;
      const debugged = debuggedPod(request);
      const checked = pod ?? debugged;
      if (checked === undefined) return;
      if (isMirror(checked)) {
        const fault = pod === undefined ? undefined : mirrorFault(pod);
        if (fault !== undefined) throw forbidden(PODS, request.name, fault);
        return;
      }
      const name = checked.spec?.serviceAccountName ?? '';
      const account = name === '' ? undefined : await accountOf(request.namespace, name);
      if (account === undefined || !enforcesMountable(account)) return;
      const fault =
        pod === undefined ? unmountableInEphemeral(account, checked) : unmountableIn(account, pod);
      if (fault !== undefined) throw forbidden(PODS, request.name, fault);
    },
  };
}

/** A pod that gets ephemeral containers: by them it may name further Secrets. */
function debuggedPod(request: AdmissionRequest): V1Pod | undefined {
  const isDebugged =
    isAbout(request, PODS) && request.operation === 'update' && request.subresource === 'ephemeralcontainers';
  return isDebugged ? (request.object as V1Pod | undefined) : undefined;
}

function mirrorFault({ spec }: V1Pod): string | undefined {
  if ((spec?.serviceAccountName ?? '') !== '') return 'a mirror pod may not reference service accounts';
  if (spec !== undefined && objectsOf(spec).some(({ resource }) => resource === 'secrets'))
    return 'a mirror pod may not reference secrets';
  const sources = (spec?.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  return sources.some(({ serviceAccountToken }) => serviceAccountToken != null)
    ? 'a mirror pod may not use ServiceAccountToken volume projections'
    : undefined;
}

function mountToken(spec: PodSpecDraft, randomSuffix: () => string): void {
  const existing = spec.volumes?.find(({ name }) => name.startsWith(VOLUME_PREFIX));
  const volume = existing?.name ?? `${VOLUME_PREFIX}${randomSuffix()}`;
  let isUsed = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    // Whatever a user has mounted there is meant to be there.
    if (container.volumeMounts?.some(({ mountPath }) => mountPath === TOKEN_MOUNT_PATH)) continue;
    container.volumeMounts = [
      ...(container.volumeMounts ?? []),
      { name: volume, mountPath: TOKEN_MOUNT_PATH, readOnly: true },
    ];
    isUsed = true;
  }
  if (isUsed && existing === undefined) spec.volumes = [...(spec.volumes ?? []), tokenVolume(volume)];
}

function tokenVolume(name: string): NonNullable<PodSpecDraft['volumes']>[number] {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
      defaultMode: 0o644,
    },
  };
}
