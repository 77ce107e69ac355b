// Whether a pod may use an image that is on the node already: imagePullCredentialsVerificationPolicy. Pure.
// Guarantees: an image that this kubelet pulled with a secret serves only pods that have that secret or its credentials,
// under every policy but NeverVerify and the allow list; what is not known for sure counts as "must be pulled".
import type { AuthConfig } from '../cri/runtime.js';
import { repositoryOf } from './imageName.js';

export const VERIFICATION_POLICIES = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;
export type VerificationPolicy = (typeof VERIFICATION_POLICIES)[number];

/** A Secret's place, and a hash of what it says for the image. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}

export interface PullCredential {
  readonly auth: AuthConfig;
  readonly secret: PullSecret;
}

/** With what a repository's image was pulled. */
interface Pullers {
  /** Pulled without credentials: every pod of the node may use it. */
  readonly nodePodsAccessible?: boolean;
  readonly kubernetesSecrets?: readonly PullSecret[];
  /** Written by kubelets with credential providers; kept, and never met by a pod here. */
  readonly kubernetesServiceAccounts?: readonly object[];
}

/** By repository, as pods write it. */
export type PullersByRepository = Readonly<Record<string, Pullers>>;

export interface AccessQuestion {
  readonly policy: VerificationPolicy;
  readonly allowlist: readonly string[];
  /** As the pod writes it. */
  readonly image: string;
  /** Of the image on the node; undefined if this kubelet has no record of it. */
  readonly pulled: PullersByRepository | undefined;
  /** A pull of this name was begun and not seen to end. */
  readonly intended: boolean;
  readonly secrets: readonly PullSecret[];
}

interface AccessAnswer {
  readonly allowed: boolean;
  /** To be added to the record: the Secret has moved, or its credentials have changed. */
  readonly remember?: PullSecret;
}

/** So many Secrets are remembered of those that only matched; those that pulled are always. */
const REMEMBERED = 100;

export function mayUse(question: AccessQuestion): AccessAnswer {
  const { image, pulled, secrets } = question;
  if (!mustVerify(question)) return { allowed: true };
  const pullers = pullersOf(pulled, image);
  if (pullers?.nodePodsAccessible === true) return { allowed: true };
  const known = pullers?.kubernetesSecrets ?? [];
  const hasRoom = known.length < REMEMBERED;
  for (const secret of secrets)
    for (const one of known) {
      const sameHash = one.credentialHash !== '' && one.credentialHash === secret.credentialHash;
      const samePlace = placeOf(one) === placeOf(secret);
      if (sameHash && samePlace) return { allowed: true };
      if (sameHash || (samePlace && hasRoom))
        return hasRoom ? { allowed: true, remember: secret } : { allowed: true };
    }
  return { allowed: false };
}

function mustVerify({ policy, allowlist, image, pulled, intended }: AccessQuestion): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return pulled !== undefined || intended;
    case 'NeverVerifyAllowlistedImages':
      return !isAllowlisted(allowlist, repositoryOf(image) ?? image);
    case 'AlwaysVerify':
      return true;
  }
}

const isAllowlisted = (allowlist: readonly string[], repository: string) =>
  allowlist.some((one) =>
    one.endsWith('/*') ? repository.startsWith(one.slice(0, -1)) : one === repository,
  );

/** What is wrong with an entry of the allow list; undefined if nothing is. */
export function allowlistProblem(entry: string): string | undefined {
  if (entry.endsWith('/*') && entry.length > 2 && !/[*\s]/.test(entry.slice(0, -1))) return undefined;
  return repositoryOf(entry) === entry
    ? undefined
    : `"${entry}" is neither an image without tag and digest nor a prefix that ends with /*`;
}

function pullersOf(pulled: PullersByRepository | undefined, image: string): Pullers | undefined {
  const repository = repositoryOf(image);
  if (pulled === undefined || repository === undefined) return undefined;
  return Object.hasOwn(pulled, repository) ? pulled[repository] : undefined;
}

/** After a pull with this Secret, or with none. The same object if that says nothing new. */
export function withPuller(
  pulled: PullersByRepository,
  image: string,
  secret: PullSecret | undefined,
): PullersByRepository {
  const repository = repositoryOf(image);
  const before = pullersOf(pulled, image);
  if (repository === undefined || before?.nodePodsAccessible === true) return pulled;
  if (secret === undefined) return { ...pulled, [repository]: { nodePodsAccessible: true } };
  const known = before?.kubernetesSecrets ?? [];
  const same = known.find((one) => placeOf(one) === placeOf(secret));
  if (same?.credentialHash === secret.credentialHash) return pulled;
  const kubernetesSecrets = [...known.filter((one) => one !== same), secret];
  return { ...pulled, [repository]: { ...before, kubernetesSecrets } };
}

const placeOf = ({ namespace, name, uid }: PullSecret) => `${namespace}/${name}/${uid}`;
