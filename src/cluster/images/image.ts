// OCI images made in memory: a layer, its config and the manifest that binds them by digest.
// Guarantees: the same input gives the same digests on every machine, for the layer is not compressed.
import { createHash } from 'node:crypto';
import { type TarEntry, writeTar } from './tar.js';

export interface Blob {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export interface OciImage {
  /** Without registry: `busybox`. */
  readonly name: string;
  readonly tags: readonly string[];
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layer: Blob;
}

/** The part of an image's config that says how to run it, in OCI's own spelling. */
interface RunConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
const EPOCH = '1970-01-01T00:00:00Z';

/** OCI names architectures as Go does. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64', ia32: '386' };
export const ociArchitecture = (nodeArch: string): string => ARCHITECTURES[nodeArch] ?? nodeArch;

export function buildImage(options: {
  readonly name: string;
  readonly tags: readonly string[];
  readonly architecture: string;
  readonly entries: readonly TarEntry[];
  readonly run: RunConfig;
}): OciImage {
  const layer = blobOf(LAYER, writeTar(options.entries));
  const config = blobOf(
    CONFIG,
    json({
      created: EPOCH,
      architecture: options.architecture,
      os: 'linux',
      config: options.run,
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
      history: [{ created: EPOCH, created_by: 'trellis' }],
    }),
  );
  const manifest = blobOf(
    MANIFEST,
    json({ schemaVersion: 2, mediaType: MANIFEST, config: describe(config), layers: [describe(layer)] }),
  );
  return { name: options.name, tags: options.tags, manifest, config, layer };
}

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));

const blobOf = (mediaType: string, bytes: Buffer): Blob => ({
  mediaType,
  bytes,
  digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
});

const describe = ({ mediaType, digest, bytes }: Blob) => ({ mediaType, digest, size: bytes.length });
