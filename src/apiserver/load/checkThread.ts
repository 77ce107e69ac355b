// The thread of slowChecks.ts: validates objects one after the other and returns the errors.
// Guarantees: judges as the server itself would; gives way to every other thread of the machine.
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import type { V1CustomResourceDefinition } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { customResourceDefinitionKind } from '../../api/kinds/customResource/definition.js';
import { validateObject } from '../../api/meta.js';
import type { KubeObject } from '../../api/object.js';
import { customKinds } from '../../api/structural/customKind.js';
import { provideSchemaRules } from '../../api/structural/schemaRules.js';
import { checkRules } from '../../cel/rules/checkRules.js';
import { makeValidator } from '../../cel/rules/validator.js';
import type { CheckAnswer, CheckJob } from './slowChecks.js';

const NICE = 5;

provideSchemaRules({ check: checkRules, compile: makeValidator });

/** The definition that was told last: its kinds by version. */
let kinds: ReadonlyMap<string, KindDefinition> = new Map();

function kindOf({ definition, version }: CheckJob): KindDefinition {
  if (version === undefined) return customResourceDefinitionKind as unknown as KindDefinition;
  if (definition !== undefined)
    ({ kinds } = customKinds(JSON.parse(definition) as V1CustomResourceDefinition, { since: 0 }));
  const kind = kinds.get(version);
  if (kind === undefined) throw new Error(`the definition has no version ${version}`);
  return kind;
}

function judged(job: CheckJob): CheckAnswer {
  try {
    const old = job.old === undefined ? undefined : (JSON.parse(job.old) as KubeObject);
    return { causes: validateObject(kindOf(job), JSON.parse(job.object) as KubeObject, old) };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** The kernel counts threads as it counts processes. */
const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
setPriority(thread, NICE);
parentPort?.postMessage({ thread } satisfies CheckAnswer);
parentPort?.on('message', (job: CheckJob) => parentPort?.postMessage(judged(job)));
