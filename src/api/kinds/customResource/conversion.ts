// How a definition's versions become one another: checks of spec.conversion. Pure.
import { type Cause, forbiddenField, invalidValue, notSupported, required } from '../../causes.js';
import { bundleFault } from '../../certificates/bundle.js';
import type { V1CustomResourceConversion, V1WebhookConversion } from '../../gen/types.js';
import { dnsLabel1035, dnsSubdomain } from '../../names.js';

const REVIEW_VERSIONS = ['v1', 'v1beta1'];
const FORM = '; desired format: https://host[/path]';

interface ConversionRules {
  readonly path: string;
  /** A bundle that cannot be used is let in until the definition is established, and where there was one before. */
  readonly anyBundle: boolean;
}

export function checkConversion(
  conversion: V1CustomResourceConversion | undefined,
  { path, anyBundle }: ConversionRules,
): Cause[] {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  if (strategy === '') return [required(`${path}.strategy`)];
  if (strategy === 'Webhook') {
    const client = webhook?.clientConfig;
    return [
      ...(client === undefined
        ? [required(`${path}.webhookClientConfig`, 'required when strategy is set to Webhook')]
        : clientFaults(client, `${path}.webhookClientConfig`)),
      ...(anyBundle ? [] : bundleFaults(client?.caBundle, `${path}.webhookClientConfig.caBundle`)),
      ...reviewFaults(webhook?.conversionReviewVersions ?? [], `${path}.conversionReviewVersions`),
    ];
  }
  if (strategy !== 'None') return [notSupported(`${path}.strategy`, strategy, ['None', 'Webhook'])];
  const given = [
    ...(webhook?.clientConfig === undefined ? [] : ['webhookClientConfig']),
    ...((webhook?.conversionReviewVersions ?? []).length === 0 ? [] : ['conversionReviewVersions']),
  ];
  return given.map((name) =>
    forbiddenField(`${path}.${name}`, 'should not be set when strategy is not set to Webhook'),
  );
}

/** Why the bundle by which the webhook's server is known cannot be used; undefined when it can, or there is none. */
export function webhookBundleFault(conversion: V1CustomResourceConversion | undefined): string | undefined {
  const bundle = conversion?.webhook?.clientConfig?.caBundle ?? '';
  return bundle === '' ? undefined : bundleFault(bundle);
}

function bundleFaults(bundle: string | undefined, path: string): Cause[] {
  const fault = bundle === undefined || bundle === '' ? undefined : bundleFault(bundle);
  return fault === undefined ? [] : [invalidValue(path, bundle, fault)];
}

type ClientConfig = NonNullable<V1WebhookConversion['clientConfig']>;

function clientFaults({ url, service }: ClientConfig, path: string): Cause[] {
  if ((url === undefined) === (service === undefined))
    return [required(path, 'exactly one of url or service is required')];
  if (url !== undefined) return urlFaults(url, `${path}.url`);
  const { name = '', namespace = '', port = 443, path: below } = service ?? {};
  return [
    ...(name === '' ? [required(`${path}.service.name`)] : []),
    ...(namespace === '' ? [required(`${path}.service.namespace`)] : []),
    ...(Number.isInteger(port) && port > 0 && port < 65536
      ? []
      : [
          invalidValue(
            `${path}.service.port`,
            port,
            'port is not valid: must be between 1 and 65535, inclusive',
          ),
        ]),
    ...(below === undefined ? [] : pathFaults(below, `${path}.service.path`)),
  ];
}

function urlFaults(text: string, field: string): Cause[] {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [required(field, `url must be a valid URL: it cannot be read${FORM}`)];
  }
  const causes: Cause[] = [];
  if (url.protocol !== 'https:')
    causes.push(
      invalidValue(field, url.protocol.slice(0, -1), `'https' is the only allowed URL scheme${FORM}`),
    );
  if (url.hostname === '') causes.push(invalidValue(field, url.host, `host must be specified${FORM}`));
  if (url.username !== '' || url.password !== '')
    causes.push(invalidValue(field, url.username, 'user information is not permitted in the URL'));
  if (url.hash !== '')
    causes.push(invalidValue(field, url.hash.slice(1), 'fragments are not permitted in the URL'));
  if (url.search !== '')
    causes.push(invalidValue(field, url.search.slice(1), 'query parameters are not permitted in the URL'));
  return causes;
}

function pathFaults(path: string, field: string): Cause[] {
  if (path === '' || path === '/') return [];
  if (path === '//') return [invalidValue(field, path, 'segment[0] may not be empty')];
  if (!path.startsWith('/')) return [invalidValue(field, path, "must start with a '/'")];
  const steps = path.slice(1).replace(/\/$/, '').split('/');
  return steps.flatMap((step, index) =>
    step === ''
      ? [invalidValue(field, path, `segment[${index}] may not be empty`)]
      : dnsSubdomain(step).map((why) => invalidValue(field, path, `segment[${index}]: ${why}`)),
  );
}

function reviewFaults(versions: readonly string[], field: string): Cause[] {
  if (versions.length === 0) return [required(field)];
  const causes = versions.flatMap((version, index) =>
    versions.indexOf(version) < index
      ? [invalidValue(`${field}[${index}]`, version, 'duplicate version')]
      : dnsLabel1035(version).map((why) => invalidValue(`${field}[${index}]`, version, why)),
  );
  if (!versions.some((version) => REVIEW_VERSIONS.includes(version)))
    causes.push(invalidValue(field, versions, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`));
  return causes;
}
