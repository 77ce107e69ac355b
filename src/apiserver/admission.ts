// Admission: runs after authorization and before a write. Plugins may change a draft or refuse it.
// Guarantees: plugins run in their fixed order; the first refusal ends the request.
import type { Draft } from '../api/kind.js';
import type { KubeObject } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import type { UserInfo } from './identity.js';

export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete' | 'connect';
  readonly type: ResourceType;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty while a generated name is not yet known. */
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** The object as it will be written; absent on delete and connect. */
  readonly object?: Draft<KubeObject>;
  readonly old?: KubeObject;
  /** Tells the client something that is no refusal, in a Warning header. */
  warn?(text: string): void;
  /** Says something of the request in the audit log; the key has the plugin's prefix. */
  annotate?(key: string, value: string): void;
}

export interface AdmissionPlugin {
  /** Kubernetes' name, as in --enable-admission-plugins. */
  readonly name: string;
  /** May change request.object. Throws ApiError to refuse. */
  mutate?(request: AdmissionRequest): Promise<void> | void;
  /** Sees the final object. Throws ApiError to refuse. */
  validate?(request: AdmissionRequest): Promise<void> | void;
  /**
   * Takes what the write will use, such as quota, after every plugin has agreed. On a dry run it
   * only looks. What it answers takes it back, and is called when the write fails. Throws ApiError to refuse.
   */
  reserve?(request: AdmissionRequest): Promise<(() => Promise<void> | void) | undefined>;
}
