// How a node says where volumes of the class `local-path` are kept on it: an annotation of its Node. Pure.
import type { V1Node } from './gen/types.js';

export const VOLUME_DIR_ANNOTATION = 'trellis.local/volume-dir';

/** Undefined for a node that says nothing, or what cannot be a directory of its own. */
export function volumeDirOf({ metadata }: V1Node): string | undefined {
  const text = metadata?.annotations?.[VOLUME_DIR_ANNOTATION] ?? '';
  return /^(\/[^/]+)+$/.test(text) && !/\/\.\.?(\/|$)/.test(text) ? text : undefined;
}
