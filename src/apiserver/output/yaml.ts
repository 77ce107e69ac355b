// YAML in and out, for clients that ask for it.
// Guarantees: what comes in is plain data: no custom tags, no alias bombs, not deep; duplicate keys are refused.
import { parse, stringify } from 'yaml';
import { statusError } from '../../api/status.js';
import { yamlObstacle } from './yamlText.js';

// Kubernetes reads YAML 1.1, where 0644 is octal and `yes` is true, but without its types that JSON does not have.
const FOREIGN = new Set(['binary', 'omap', 'pairs', 'set', 'timestamp']);

export function toYaml(value: unknown): Buffer {
  return Buffer.from(stringify(value, { aliasDuplicateObjects: false, version: '1.1' }));
}

export function fromYaml(text: string): unknown {
  try {
    const obstacle = yamlObstacle(text);
    if (obstacle !== undefined) throw new Error(obstacle);
    return parse(text, {
      version: '1.1',
      customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || !isForeign(tag)),
      maxAliasCount: 100,
      // Already looked at, in less than the square of their number.
      uniqueKeys: false,
      logLevel: 'error',
    });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : 'not YAML';
    throw statusError('BadRequest', `error converting YAML to JSON: ${why}`, undefined, { cause });
  }
}

/** Numbers in base 60 (1:30) are a format of plain numbers; the rest have names of their own. */
function isForeign({ tag, format }: { readonly tag: string; readonly format?: string }): boolean {
  return format === 'TIME' || FOREIGN.has(tag.split(':').at(-1) ?? '');
}
