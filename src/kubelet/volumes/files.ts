// Small questions to the file system that volumes share, and the layout of a pod's directory.
// Guarantees: a name from outside never becomes part of a path unless it is one plain element.
import path from 'node:path';
import { KubeletError } from '../error.js';

export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Refuses what is not one plain element of a path. */
export function element(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > 255)
    throw new KubeletError('FailedMount', `${JSON.stringify(name.slice(0, 300))} cannot name a directory`);
  return name;
}

export const podDir = (rootDir: string, podUid: string) => path.join(rootDir, 'pods', element(podUid));

/** Within a pod's directory: what its containers leave there, such as their termination messages. */
export const CONTAINERS_DIR = 'containers';

export type Plugin = 'nfs' | 'empty-dir' | 'configmap' | 'secret' | 'downward-api' | 'projected';

export function volumeDir(rootDir: string, podUid: string, plugin: Plugin, volume: string): string {
  return path.join(podDir(rootDir, podUid), 'volumes', `kubernetes.io~${plugin}`, element(volume));
}

/** Whether `inner` is `outer` or below it, by their spelling. */
export function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}
