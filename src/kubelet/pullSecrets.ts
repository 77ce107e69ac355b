// Credentials for a registry out of imagePullSecrets.
// Guarantees: a secret that cannot be read is passed over; nothing of its contents is ever in a message.
import type { V1Secret } from '../api/gen/types.js';
import type { AuthConfig } from '../cri/runtime.js';
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
): Promise<readonly AuthConfig[]> {
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) => (name === undefined ? [] : [name]));
  if (names.length === 0) return [];
  const secrets = await Promise.all(names.map((name) => secretOf(pod, name)));
  return credentialsFor(
    image,
    secrets.filter((secret) => secret !== undefined),
  );
}

/** The credentials that fit the image, those with the longest matching path first. */
export function credentialsFor(image: string, secrets: readonly V1Secret[]): AuthConfig[] {
  const found = secrets.flatMap((secret) =>
    Object.entries(entriesOf(secret)).filter(([registry]) => matches(registry, image)),
  );
  return (
    found
      .sort(([a], [b]) => b.length - a.length)
      // Without the server's address: runtimes read it as a URL, and ignore or refuse credentials of a bare host.
      .map(([, entry]) => ({
        ...userOf(entry),
        ...(entry.identitytoken === undefined ? {} : { identityToken: entry.identitytoken }),
        ...(entry.registrytoken === undefined ? {} : { registryToken: entry.registrytoken }),
      }))
  );
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
  return normal === against || normal.startsWith(`${against}/`) || normal.startsWith(`${against}:`);
}
