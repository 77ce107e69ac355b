// Credentials for a registry out of imagePullSecrets.
// Guarantees: a secret that cannot be read is passed over; nothing of its contents is ever in a message.
import { createHash } from 'node:crypto';
import type { V1Secret } from '../api/gen/types.js';
import type { AuthConfig } from '../cri/runtime.js';
import type { PullCredential } from './imageAccess.js';
import type { Pod } from './ports.js';

interface Entry {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}

/** Of the secrets that the pod names and that are there. */
export async function podCredentials(
  pod: Pod,
  image: string,
  secretOf: (pod: Pod, name: string) => Promise<V1Secret | undefined>,
): Promise<readonly PullCredential[]> {
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (names.length === 0) return [];
  const secrets = await Promise.all(names.map((name) => secretOf(pod, name)));
  return credentialsFor(
    image,
    secrets.filter((secret) => secret !== undefined),
  );
}

/** The credentials that fit the image, those with the longest matching path first. */
export function credentialsFor(image: string, secrets: readonly V1Secret[]): PullCredential[] {
  const found = secrets.flatMap((secret) =>
    Object.entries(entriesOf(secret))
      .filter(([registry]) => matches(registry, image))
      .map(([registry, entry]) => ({ registry, credential: credentialOf(secret, entry) })),
  );
  return found.sort((a, b) => b.registry.length - a.registry.length).map(({ credential }) => credential);
}

function credentialOf({ metadata: { uid = '', namespace = '', name = '' } = {} }: V1Secret, entry: Entry) {
  // Without the server's address: runtimes read it as a URL, and ignore or refuse credentials of a bare host.
  const auth: AuthConfig = {
    ...userOf(entry),
    ...(entry.identitytoken === undefined ? {} : { identityToken: entry.identitytoken }),
    ...(entry.registrytoken === undefined ? {} : { registryToken: entry.registrytoken }),
  };
  const { username, password, auth: whole, identityToken, registryToken } = auth;
  const parts = JSON.stringify([username, password, whole, identityToken, registryToken]);
  const credentialHash = createHash('sha256').update(parts).digest('hex');
  return { auth, secret: { uid, namespace, name, credentialHash } };
}

function entriesOf({ type, data = {} }: V1Secret): Readonly<Record<string, Entry>> {
  const key = type === 'kubernetes.io/dockercfg' ? '.dockercfg' : '.dockerconfigjson';
  const encoded = data[key];
  if (encoded === undefined) return {};
  try {
    const parsed: unknown = JSON.parse(Buffer.from(encoded, 'base64').toString());
    const table = key === '.dockercfg' ? parsed : (parsed as { auths?: unknown } | null)?.auths;
    return isTable(table) ? (table as Record<string, Entry>) : {};
  } catch {
    return {}; // not JSON: as if the secret were not there
  }
}

const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

function userOf({ username, password, auth }: Entry): AuthConfig {
  if (username !== undefined || auth === undefined)
    return {
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
    };
  const text = Buffer.from(auth, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? { auth } : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Docker Hub's short names have no host; its credentials are filed under index.docker.io. */
function matches(registry: string, image: string): boolean {
  const wanted = registry.replace(/^https?:\/\//, '').replace(/\/(v1|v2)?\/?$/, '');
  const [first = ''] = image.split('/');
  const hasHost = image.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  const full = hasHost ? image : `index.docker.io/${image}`;
  const normal = full.replace(/^docker\.io\//, 'index.docker.io/');
  const against = wanted.replace(/^docker\.io(?=\/|$)/, 'index.docker.io');
  const [host, path] = split(normal);
  const [hosts, within] = split(against);
  if (!matchesHost(hosts, host)) return false;
  return within === '' || path === within || path.startsWith(`${within}/`) || path.startsWith(`${within}:`);
}

function split(reference: string): [host: string, path: string] {
  const slash = reference.indexOf('/');
  return slash === -1 ? [reference, ''] : [reference.slice(0, slash), reference.slice(slash + 1)];
}

/** Part by part, so that a `*` stands for one name of the domain; the port is no pattern. */
function matchesHost(pattern: string, host: string): boolean {
  const [names, port] = pattern.split(':');
  const [own, ownPort] = host.split(':');
  const patterns = (names ?? '').split('.');
  const parts = (own ?? '').split('.');
  return (
    port === ownPort &&
    patterns.length === parts.length &&
    patterns.every((one, index) => matchesGlob(one, parts[index] ?? ''))
  );
}

/** `*` is any text and `?` any character. Goes back to the last `*` only, so its time is at most the lengths' product. */
function matchesGlob(glob: string, text: string): boolean {
  let at = 0;
  let star = -1;
  let resume = 0;
  for (let index = 0; index < text.length; ) {
    if (glob[at] === '*') {
      star = at++;
      resume = index;
    } else if (glob[at] === '?' || glob[at] === text[index]) {
      at++;
      index++;
    } else if (star === -1) return false;
    else {
      at = star + 1;
      index = ++resume;
    }
  }
  while (glob[at] === '*') at++;
  return at === glob.length;
}
