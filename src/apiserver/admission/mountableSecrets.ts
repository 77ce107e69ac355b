// Accounts that enforce which Secrets their pods may mount (annotation kubernetes.io/enforce-mountable-secrets). Pure.
// Guarantees: a pod of such an account sees no Secret that the account does not name, in projected volumes neither: there
// Kubernetes does not look.
import type {
  V1Container,
  V1EphemeralContainer,
  V1Pod,
  V1ServiceAccount,
  V1Volume,
} from '../../api/gen/types.js';

const ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';
/** As Go's strconv.ParseBool. */
const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];

export function enforcesMountable({ metadata }: V1ServiceAccount): boolean {
  return TRUE.includes(metadata?.annotations?.[ANNOTATION] ?? '');
}

/** What a new pod names that the account does not, in Kubernetes' words. */
export function unmountableIn(account: V1ServiceAccount, { spec }: V1Pod): string | undefined {
  const own = ownedBy(account);
  const inVolumes = unmountableVolume(spec?.volumes, own);
  if (inVolumes !== undefined) return inVolumes;
  const inContainers =
    unmountableOf('init container', spec?.initContainers, own) ??
    unmountableOf('container', spec?.containers, own);
  if (inContainers !== undefined) return inContainers;
  const pulls = new Set((account.imagePullSecrets ?? []).map(({ name }) => name));
  const pull = (spec?.imagePullSecrets ?? []).findIndex(({ name }) => !pulls.has(name));
  if (pull === -1) return undefined;
  const what = `imagePullSecrets[${pull}].name="${spec?.imagePullSecrets?.[pull]?.name ?? ''}"`;
  return `${what} is not allowed because service account ${account.metadata?.name} does not reference that imagePullSecret`;
}

export function unmountableInEphemeral(account: V1ServiceAccount, { spec }: V1Pod): string | undefined {
  return unmountableOf('ephemeral container', spec?.ephemeralContainers, ownedBy(account));
}

interface Owned {
  has(name: string): boolean;
  refusal(what: string): string;
}

function ownedBy({ metadata, secrets = [] }: V1ServiceAccount): Owned {
  const names = new Set(secrets.map(({ name }) => name));
  return {
    has: (name) => names.has(name),
    refusal: (what) =>
      `${what} is not allowed because service account ${metadata?.name} does not reference that secret`,
  };
}

function unmountableVolume(volumes: readonly V1Volume[] = [], own: Owned): string | undefined {
  for (const { secret, projected } of volumes) {
    if (secret != null && !own.has(secret.secretName ?? ''))
      return own.refusal(`volume with secret.secretName="${secret.secretName ?? ''}"`);
    const source = projected?.sources?.find((one) => one.secret != null && !own.has(one.secret.name ?? ''));
    if (source !== undefined)
      return own.refusal(`volume with projected secret.name="${source.secret?.name ?? ''}"`);
  }
  return undefined;
}

function unmountableOf(
  what: string,
  containers: readonly (V1Container | V1EphemeralContainer)[] = [],
  own: Owned,
): string | undefined {
  for (const { name, env = [], envFrom = [] } of containers) {
    for (const one of env) {
      const secret = one.valueFrom?.secretKeyRef;
      if (secret != null && !own.has(secret.name ?? ''))
        return own.refusal(
          `${what} ${name} with envVar ${one.name} referencing secret.secretName="${secret.name ?? ''}"`,
        );
    }
    const from = envFrom.find(({ secretRef }) => secretRef != null && !own.has(secretRef.name ?? ''));
    if (from !== undefined)
      return own.refusal(
        `${what} ${name} with envFrom referencing secret.secretName="${from.secretRef?.name ?? ''}"`,
      );
  }
  return undefined;
}
