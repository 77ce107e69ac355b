// YAML in and out, for clients that ask for it.
// Guarantees: what comes in is plain data: no custom tags, no alias bombs; duplicate keys are refused.
import { parse, stringify } from 'yaml';
import { statusError } from '../../api/status.js';

export function toYaml(value: unknown): Buffer {
  return Buffer.from(stringify(value, { aliasDuplicateObjects: false }));
}

export function fromYaml(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 100, uniqueKeys: true, schema: 'core', logLevel: 'error' });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n')[0] : 'not YAML';
    throw statusError('BadRequest', `error converting YAML to JSON: ${why}`, undefined, { cause });
  }
}
