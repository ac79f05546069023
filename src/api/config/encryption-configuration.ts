// apiserver.config.k8s.io/v1 EncryptionConfiguration: which resources lie sealed in the store, and with which keys.
import { type ConfigShape, unknownFieldsOf } from '../../apimachinery/config-shape.ts';
import { type FieldError, invalid, required } from '../../apimachinery/field-error.ts';
import { parseGoDuration } from '../../base/go-duration.ts';
import { parseYaml } from '../../base/yaml.ts';

export interface EncryptionKey {
  readonly name: string;
  /** Base64. */
  readonly secret: string;
}
interface Keys {
  readonly keys?: readonly EncryptionKey[] | undefined;
}
export interface EncryptionProvider {
  readonly aesgcm?: Keys | undefined;
  readonly aescbc?: Keys | undefined;
  readonly secretbox?: Keys | undefined;
  readonly identity?: object | undefined;
  readonly kms?: KmsConfiguration | undefined;
}
/** Of version 2: version 1 is none here. */
export interface KmsConfiguration {
  readonly apiVersion: 'v2';
  readonly name: string;
  /** `unix:///run/kms.sock`. */
  readonly endpoint: string;
  /** Of each call. Default 3 s. */
  readonly timeoutMs: number;
}
export interface EncryptionConfiguration {
  /** Earlier ones go before later ones. */
  readonly resources: readonly {
    /** `secrets`, `deployments.apps`, `*.apps`, `*.` for the core group, `*.*`. */
    readonly resources: readonly string[];
    /** The first writes, all read. */
    readonly providers: readonly EncryptionProvider[];
  }[];
}

const apiVersion = 'apiserver.config.k8s.io/v1';
const kind = 'EncryptionConfiguration';
const keys: ConfigShape = { keys: [{ name: 'string', secret: 'string' }] };
const kms: ConfigShape = {
  apiVersion: 'string',
  name: 'string',
  endpoint: 'string',
  cachesize: 'number',
  timeout: 'string',
};
const providerShapes: { readonly [field: string]: ConfigShape } = {
  aesgcm: keys,
  aescbc: keys,
  secretbox: keys,
  identity: {},
  kms,
};
const shape: ConfigShape = {
  apiVersion: 'string',
  kind: 'string',
  resources: [{ resources: ['string'], providers: [providerShapes] }],
};

/** What YAML says of a fault can be a line with a key in it: its place is told alone. */
function parseWithoutValues(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    const [place = 'unknown place'] = /line \d+(?:, column \d+)?/.exec((error as Error).message) ?? [];
    throw new Error(`error converting YAML to JSON: ${place}`);
  }
}

const knownPath = /^(?:(?:resources|providers|aesgcm|aescbc|secretbox|keys|identity|kms)(?:\[\d+\])?\.)*/;

/** A forgotten blank makes a field of a key (`secret:AAAA`): no name is told that can be one. */
function withoutKeys(field: string): string {
  const [known = ''] = knownPath.exec(field) ?? [];
  const isWord = /^[a-zA-Z]{1,15}$/.test(field.slice(known.length));
  return isWord && !known.includes('keys[') ? field : `${known}REDACTED`;
}

/** Throws Error with what is wrong; no key is ever in its text. */
export function readEncryptionConfiguration(text: string): EncryptionConfiguration {
  const read = (parseWithoutValues(text) ?? {}) as Partial<EncryptionConfiguration> & {
    readonly apiVersion?: string;
    readonly kind?: string;
  };
  const unknown = unknownFieldsOf(read, shape);
  if (unknown.length > 0)
    throw new Error(
      `strict decoding error: ${unknown.map((field) => `unknown field "${withoutKeys(field)}"`).join(', ')}`,
    );
  if (read.apiVersion !== apiVersion || read.kind !== kind)
    throw new Error(
      `no kind "${read.kind ?? ''}" is registered for version "${read.apiVersion ?? ''}": it is ${kind} of ${apiVersion}`,
    );
  const errors = errorsOf(read);
  if (errors.length > 0) {
    const texts = errors.map((e) => `${e.field}: ${e.message}`);
    throw new Error(`invalid configuration: ${texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`}`);
  }
  const configuration = read as EncryptionConfiguration;
  refuseMasked(configuration);
  return withTimeouts(configuration);
}

/** As it is used. */
const withTimeouts = ({ resources, ...rest }: EncryptionConfiguration): EncryptionConfiguration => ({
  ...rest,
  resources: resources.map((one) => ({
    ...one,
    providers: one.providers.map((provider) =>
      provider.kms == null
        ? provider
        : { kms: { ...provider.kms, timeoutMs: timeoutOf(provider.kms as WrittenKms) ?? defaultTimeoutMs } },
    ),
  })),
});

function errorsOf({ resources = [] }: Partial<EncryptionConfiguration>): FieldError[] {
  if (resources.length === 0) return [required('resources', 'at least one resources is required')];
  const kmsNames = new Set<string>();
  return resources.flatMap((one, i) => {
    const names = one?.resources ?? [];
    const providers = one?.providers ?? [];
    const r = `resources[${i}].resources`;
    const p = `resources[${i}].providers`;
    return [
      ...(names.length === 0 ? [required(r, `at least one ${r} is required`)] : []),
      ...overlapErrors(names, r),
      ...names.flatMap((name, j) => nameErrors(name, `${r}[${j}]`)),
      ...(providers.length === 0 ? [required(p, `at least one ${p} is required`)] : []),
      ...providers.flatMap((provider, j) => providerErrors(provider ?? {}, `${p}[${j}]`, kmsNames)),
    ];
  });
}

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

export function groupResourceOf(name: string): GroupResource {
  const dot = name.indexOf('.');
  return dot < 0
    ? { group: '', resource: name }
    : { group: name.slice(dot + 1), resource: name.slice(0, dot) };
}

const isEverything = ({ group, resource }: GroupResource): boolean => group === '*' && resource === '*';

function overlapErrors(names: readonly string[], path: string): FieldError[] {
  const all = names.map(groupResourceOf);
  const isSame = (a: GroupResource, b: GroupResource): boolean =>
    a.group === b.group && a.resource === b.resource;
  const pairs = all.flatMap((a, i) => all.slice(i + 1).map((b) => [a, b] as const));
  const duplicate = pairs.some(([a, b]) => isSame(a, b));
  const overlap = pairs.some(
    ([a, b]) =>
      !isSame(a, b) &&
      (isEverything(a) ||
        isEverything(b) ||
        (a.group === b.group && (a.resource === '*' || b.resource === '*'))),
  );
  return [
    ...(duplicate ? [invalid(path, names, 'the same resource cannot be specified multiple times')] : []),
    ...(overlap
      ? [
          invalid(
            path,
            names,
            "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
          ),
        ]
      : []),
  ];
}

const withoutApi: readonly string[] = [
  'apiserveripinfo',
  'serviceipallocations',
  'servicenodeportallocations',
];

function nameErrors(name: string, path: string): FieldError[] {
  const { group, resource } = groupResourceOf(name);
  const wrong = (why: string): FieldError[] => [invalid(path, name, why)];
  if (name.toLowerCase() !== name) return wrong('resource name should not contain capital letters');
  if (name === '*')
    return wrong("use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources");
  if (withoutApi.includes(name)) return wrong('resources which do not have REST API/s cannot be encrypted');
  if (group === 'events.k8s.io')
    return wrong(
      "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
    );
  if (group === 'extensions')
    return wrong("'extensions' group has been removed and cannot be used for encryption");
  if (group === '*' && resource !== '*')
    return wrong('encrypting the same resource across groups is not supported');
  return [];
}

const aesKeyBytes: readonly number[] = [16, 24, 32];
const keySizes = { aesgcm: aesKeyBytes, aescbc: aesKeyBytes, secretbox: [32] };

function providerErrors(provider: EncryptionProvider, path: string, kmsNames: Set<string>): FieldError[] {
  const named = Object.keys(provider).filter((name) => provider[name as keyof EncryptionProvider] != null);
  if (named.length === 0)
    return [
      invalid(
        path,
        provider,
        'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity',
      ),
    ];
  // No value: its keys would be told.
  if (named.length > 1)
    return [
      invalid(
        path,
        'REDACTED',
        'more than one provider specified in a single element, should split into different list elements',
      ),
    ];
  if (provider.kms != null) return kmsErrors(provider.kms as WrittenKms, `${path}.kms`, kmsNames);
  for (const [name, sizes] of Object.entries(keySizes)) {
    const keys = provider[name as keyof typeof keySizes];
    if (keys != null) return keysErrors(keys.keys ?? [], `${path}.${name}.keys`, sizes);
  }
  return [];
}

function keysErrors(list: readonly EncryptionKey[], path: string, sizes: readonly number[]): FieldError[] {
  if (list.length === 0) return [required(path, 'at least one keys is required')];
  return list.flatMap((key, i) => keyErrors(key ?? {}, `${path}[${i}]`, sizes));
}

function keyErrors(
  { name, secret }: Partial<EncryptionKey>,
  path: string,
  sizes: readonly number[],
): FieldError[] {
  const errors: FieldError[] = name ? [] : [required(`${path}.name`, 'name is a mandatory field for a key')];
  if (!secret) return [...errors, required(`${path}.secret`, 'secret is a mandatory field for a key')];
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret))
    return [...errors, invalid(`${path}.secret`, 'REDACTED', 'secrets must be base64 encoded')];
  const padding = secret.endsWith('==') ? 2 : secret.endsWith('=') ? 1 : 0;
  const bytes = (secret.length / 4) * 3 - padding;
  if (!sizes.includes(bytes))
    errors.push(
      invalid(
        `${path}.secret`,
        'REDACTED',
        `secret is not of the expected length, got ${bytes}, expected one of [${sizes.join(' ')}]`,
      ),
    );
  return errors;
}

/** As the file has it. */
interface WrittenKms {
  readonly apiVersion?: string;
  readonly name?: string;
  readonly endpoint?: string;
  readonly cachesize?: number;
  readonly timeout?: string;
}

const defaultTimeoutMs = 3_000;
const longestTimeoutMs = 3_600_000;

/** undefined: none is named; NaN: what is named is none. */
const timeoutOf = ({ timeout }: WrittenKms): number | undefined =>
  timeout == null ? undefined : Math.min(parseGoDuration(String(timeout)) ?? Number.NaN, longestTimeoutMs);

function kmsErrors(kms: WrittenKms, path: string, names: Set<string>): FieldError[] {
  const { apiVersion = 'v1', cachesize } = kms;
  const name = String(kms.name ?? '');
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`, 'name is a mandatory field for a provider'));
  if (apiVersion !== 'v1' && name.includes(':'))
    errors.push(invalid(`${path}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`));
  if (names.has(name))
    errors.push(invalid(`${path}.name`, name, `duplicate KMS provider name ${name}, names must be unique`));
  names.add(name);
  if (!((timeoutOf(kms) ?? defaultTimeoutMs) > 0))
    errors.push(invalid(`${path}.timeout`, kms.timeout, 'timeout should be a positive value'));
  errors.push(...endpointErrors(String(kms.endpoint ?? ''), `${path}.endpoint`));
  if (apiVersion !== 'v1' && cachesize != null)
    errors.push(invalid(`${path}.cachesize`, cachesize, 'cachesize is not supported in v2'));
  if (apiVersion === 'v1')
    errors.push(
      invalid(
        `${path}.apiVersion`,
        apiVersion,
        'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.',
      ),
    );
  else if (apiVersion !== 'v2')
    errors.push(
      invalid(
        `${path}.apiVersion`,
        apiVersion,
        'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported',
      ),
    );
  return errors;
}

function endpointErrors(endpoint: string, path: string): FieldError[] {
  if (endpoint === '') return [invalid(path, '', 'endpoint is a mandatory field for a kms')];
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(endpoint) ?? [];
  if (scheme !== 'unix')
    return [
      invalid(
        path,
        endpoint,
        `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`,
      ),
    ];
  // Upstream takes names of no file, too; who may use those is nobody's to say.
  if (!/^unix:\/\/\/[^@]/.test(endpoint))
    return [invalid(path, endpoint, 'must name a socket by its whole path: unix:///run/kms.sock')];
  return [];
}

const shown = ({ group, resource }: GroupResource): string =>
  group === '' && resource !== '*' ? resource : `${resource}.${group}`;

/** What an earlier wildcard takes would never be looked at. */
function refuseMasked({ resources }: EncryptionConfiguration): void {
  const before: GroupResource[] = [];
  for (const one of resources) {
    const these = one.resources.map(groupResourceOf);
    for (const name of these) {
      const mask = before.find(
        (earlier) => isEverything(earlier) || (earlier.resource === '*' && earlier.group === name.group),
      );
      if (mask !== undefined)
        throw new Error(
          `error while building transformers: resource "${shown(name)}" is masked by earlier rule "${shown(mask)}"`,
        );
    }
    before.push(...these);
  }
}
