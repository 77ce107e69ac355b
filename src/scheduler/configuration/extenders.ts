// The extenders of the configuration.
// Guarantees: fields are those of kubescheduler.config.k8s.io/v1; files that a field names are read when it is checked.
import { readFileSync } from 'node:fs';
import type { ConfigFields } from '../../base/configFields.js';
import { messageOf } from '../../base/errorMessage.js';
import type { ExtenderSettings } from '../extenders/extender.js';
import { wrong } from './fields.js';

const DEFAULT_TIMEOUT_MS = 5_000;

export function readExtenders(parts: readonly ConfigFields[]): readonly ExtenderSettings[] {
  const extenders = parts.map(readExtender);
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== undefined);
  if (binders.length > 1)
    throw wrong('extenders', `found ${binders.length} extenders implementing bind, only one is allowed`);
  return extenders;
}

function readExtender(fields: ConfigFields): ExtenderSettings {
  const urlPrefix = fields.text('urlPrefix') ?? '';
  if (!/^https?:\/\//.test(urlPrefix) || !URL.canParse(urlPrefix))
    throw wrong(
      fields.path('urlPrefix'),
      `Invalid value: ${JSON.stringify(urlPrefix)}: must be an http(s) URL`,
    );
  const verb = (name: string) => fields.text(name) || undefined;
  const prioritizeVerb = verb('prioritizeVerb');
  const weight = fields.number('weight', 0, 2 ** 31 - 1) ?? 0;
  if (prioritizeVerb !== undefined && weight === 0)
    throw wrong(fields.path('weight'), 'Invalid value: 0: must have a positive weight applied to it');
  const settings: ExtenderSettings = {
    urlPrefix,
    prioritizeVerb,
    weight,
    filterVerb: verb('filterVerb'),
    preemptVerb: verb('preemptVerb'),
    bindVerb: verb('bindVerb'),
    timeoutMs: fields.duration('httpTimeout') ?? DEFAULT_TIMEOUT_MS,
    nodeCacheCapable: fields.flag('nodeCacheCapable') ?? false,
    ignorable: fields.flag('ignorable') ?? false,
    managedResources: (fields.parts('managedResources') ?? []).map(readResource),
    tls: readTls(fields.flag('enableHTTPS') ?? false, fields.part('tlsConfig')),
  };
  fields.end();
  return settings;
}

function readResource(fields: ConfigFields): ExtenderSettings['managedResources'][number] {
  const name = fields.text('name') ?? '';
  if (!/^[^/]+\/[^/]+$/.test(name))
    throw wrong(
      fields.path('name'),
      `Invalid value: ${JSON.stringify(name)}: must be an extended resource such as example.com/gpu`,
    );
  const ignoredByScheduler = fields.flag('ignoredByScheduler') ?? false;
  fields.end();
  return { name, ignoredByScheduler };
}

/** Without an authority a server's certificate is not checked, as in kube-scheduler. */
function readTls(enabled: boolean, fields: ConfigFields | undefined): ExtenderSettings['tls'] {
  const insecure = fields?.flag('insecure') ?? false;
  const serverName = fields?.text('serverName') ?? '';
  const ca = pem(fields, 'ca');
  const cert = pem(fields, 'cert');
  const key = pem(fields, 'key');
  fields?.end();
  if (!enabled) return {};
  return {
    insecureSkipTlsVerify: insecure || ca === undefined,
    ...(serverName === '' ? {} : { tlsServerName: serverName }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/** Given in the file, in base64, or in a file of its own. */
function pem(fields: ConfigFields | undefined, name: string): Buffer | undefined {
  const data = fields?.text(`${name}Data`);
  const file = fields?.text(`${name}File`);
  if (data) return Buffer.from(data, 'base64');
  if (!file) return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    throw wrong(fields?.path(`${name}File`) ?? name, messageOf(error));
  }
}
