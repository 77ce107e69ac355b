// The labels by which the pods of a job are known. Pure data.

export const CONTROLLER_UID = 'batch.kubernetes.io/controller-uid';
export const JOB_NAME = 'batch.kubernetes.io/job-name';
/** Before these labels had a prefix; pods carry both. */
export const OLD_CONTROLLER_UID = 'controller-uid';
export const OLD_JOB_NAME = 'job-name';
