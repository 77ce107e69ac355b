// YAML in and out, for clients that ask for it.
// Guarantees: what comes in is plain data: no custom tags, no alias bombs, not deep; of a key that comes twice the last one
// counts, and the caller is told; a large text is read in steps.
import { Composer, type Document, LineCounter, stringify, type Tags, type YAMLError } from 'yaml';
import { statusError } from '../../api/status.js';
import type { Steps } from '../../api/steps.js';
import { yamlTokens } from './yamlText.js';

// Kubernetes reads YAML 1.1, where 0644 is octal and `yes` is true, but without its types that JSON does not have.
const FOREIGN = new Set(['binary', 'omap', 'pairs', 'set', 'timestamp']);

export function toYaml(value: unknown): Buffer {
  return Buffer.from(stringify(value, { aliasDuplicateObjects: false, version: '1.1' }));
}

/** Reading YAML costs so many times what reading as much JSON does. */
export const YAML_COST = 8;

const OPTIONS = {
  version: '1.1',
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === 'string' || !isForeign(tag)),
  // Already looked at, in less than the square of their number.
  uniqueKeys: false,
} as const;

export interface YamlData {
  readonly data: unknown;
  /** What is said of the keys that come twice, as Kubernetes' own reader does. */
  readonly duplicates: readonly string[];
}

export function* fromYaml(text: string): Steps<YamlData> {
  try {
    const lines = new LineCounter();
    const { tokens, duplicates } = yield* yamlTokens(text, lines.addNewLine);
    yield;
    // A text without a document is one that is empty.
    const [document, another] = new Composer(OPTIONS).compose(tokens, true, text.length);
    if (another !== undefined) throw new Error('it has more than one document');
    const [fault] = (document as Document).errors;
    if (fault !== undefined) throw new Error(faultText(fault, lines));
    yield;
    return {
      data: (document as Document).toJS({ maxAliasCount: 100 }),
      duplicates: duplicates.map(
        ({ name, offset }) =>
          `yaml: unmarshal errors: line ${lines.linePos(offset).line}: key ${JSON.stringify(name)} already set in map`,
      ),
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'not YAML';
    throw statusError('BadRequest', `error converting YAML to JSON: ${why}`, undefined, { cause });
  }
}

function faultText({ message, pos: [start] }: YAMLError, lines: LineCounter): string {
  const { line, col } = lines.linePos(start);
  return `${message} at line ${line}, column ${col}`;
}

/** Numbers in base 60 (1:30) are a format of plain numbers; the rest have names of their own. */
function isForeign({ tag, format }: { readonly tag: string; readonly format?: string }): boolean {
  return format === 'TIME' || FOREIGN.has(tag.split(':').at(-1) ?? '');
}
