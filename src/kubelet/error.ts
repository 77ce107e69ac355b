// What the kubelet refuses or fails at, under the reason that Kubernetes shows for it.
// Guarantees: `reason` is what a container's waiting state or an event says; the message is for the person who reads it.

/** Reasons of waiting containers and of refused pods, by Kubernetes' names. */
export type KubeletReason =
  | 'CreateContainerConfigError'
  | 'CreateContainerError'
  | 'RunContainerError'
  | 'PostStartHookError'
  | 'CrashLoopBackOff'
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'ErrImageNeverPull'
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'CreatePodSandboxError'
  | 'FailedMount'
  | 'FailedPreStopHook'
  | 'ResizeError'
  | 'InvalidManifest'
  | 'InvalidConfig'
  | 'FailedCertificate'
  | 'FailedNode';

export class KubeletError extends Error {
  override readonly name = 'KubeletError';
  constructor(
    readonly reason: KubeletReason,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
