// Which media type and which form of an answer the client takes: Accept, as upstream negotiates it.
import { notAcceptable, StatusError } from '../apimachinery/errors.ts';
import { type AcceptClause, parseAccept, rememberingHeaders } from './accept.ts';

export type MediaType = 'json' | 'yaml' | 'protobuf';
export type ObjectForm = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Negotiated {
  readonly mediaType: MediaType;
  readonly form: ObjectForm;
  /** meta.k8s.io version of a Table or PartialObjectMetadata. */
  readonly formVersion: 'v1' | 'v1beta1';
  /** `pretty=1` of the media type. */
  readonly pretty: boolean;
}

export const contentTypes: Readonly<Record<MediaType, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};
const names = Object.values(contentTypes);
const streamNames = [`${contentTypes.json};stream=watch`, `${contentTypes.protobuf};stream=watch`];
const mediaTypes = Object.keys(contentTypes) as MediaType[];

/** What a clause wants the object turned into. */
interface Target {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** What an endpoint has: `resource` everything, `untabled` no tables, `custom` no protobuf of its own, `plain` no other form. */
export type Endpoints = 'resource' | 'untabled' | 'custom' | 'plain';
/** Of aggregated discovery there is nothing but the one form. */
type Restrictions = Endpoints | 'discovery';

const forms: readonly string[] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];

function allows(endpoint: Restrictions, mediaType: MediaType, target: Target | undefined): boolean {
  if (endpoint === 'discovery')
    return (
      target?.group === 'apidiscovery.k8s.io' &&
      target.version === 'v2' &&
      target.kind === 'APIGroupDiscoveryList'
    );
  if (target === undefined) return mediaType !== 'protobuf' || endpoint !== 'custom';
  if (endpoint === 'plain' || target.group !== 'meta.k8s.io') return false;
  if ((target.version !== 'v1' && target.version !== 'v1beta1') || !forms.includes(target.kind)) return false;
  // Upstream's tables have no protobuf form.
  return target.kind !== 'Table' || (endpoint !== 'untabled' && mediaType !== 'protobuf');
}

function targetOf({ parameters }: AcceptClause): Target | undefined {
  const [kind, group, version] = [parameters.get('as'), parameters.get('g'), parameters.get('v')];
  if (kind === undefined && group === undefined && version === undefined) return undefined;
  return { kind: kind ?? '', group: group ?? '', version: version ?? '' };
}

/** A stream is one of events, and YAML has none; the only version of a server's own objects is v1. */
function parametersFit({ parameters }: AcceptClause, endpoint: Restrictions, mediaType: MediaType): boolean {
  const stream = parameters.get('stream');
  if (stream !== undefined && (mediaType === 'yaml' || stream !== 'watch')) return false;
  const version = parameters.get('sv');
  return version === undefined || (endpoint !== 'plain' && endpoint !== 'discovery' && version === 'v1');
}

const matches = ({ type, subType }: AcceptClause, mediaType: MediaType): boolean =>
  (type === '*' && subType === '*') ||
  (type === 'application' && (subType === '*' || `application/${subType}` === contentTypes[mediaType]));

function negotiated(header: string, endpoint: Restrictions): Negotiated | undefined {
  if (header === '') return { mediaType: 'json', form: 'object', formVersion: 'v1', pretty: false };
  for (const clause of parseAccept(header)) {
    const target = targetOf(clause);
    const mediaType = mediaTypes.find(
      (one) => matches(clause, one) && parametersFit(clause, endpoint, one) && allows(endpoint, one, target),
    );
    if (mediaType !== undefined)
      return {
        mediaType,
        form: (target?.kind ?? 'object') as ObjectForm,
        formVersion: (target?.version ?? 'v1') as 'v1' | 'v1beta1',
        pretty: clause.parameters.get('pretty') === '1',
      };
  }
  return undefined;
}

const remembering = (endpoint: Restrictions): ((header: string) => Negotiated | undefined) =>
  rememberingHeaders((header) => negotiated(header, endpoint));

const known: Readonly<Record<Restrictions, (header: string) => Negotiated | undefined>> = {
  resource: remembering('resource'),
  untabled: remembering('untabled'),
  custom: remembering('custom'),
  plain: remembering('plain'),
  discovery: remembering('discovery'),
};

/** undefined: the client takes nothing that there is. */
export const accepted = (header: string, endpoint: Endpoints): Negotiated | undefined =>
  known[endpoint](header);

/** How the client takes aggregated discovery; undefined: it does not ask for it. */
export const acceptedDiscovery = (header: string): Negotiated | undefined =>
  header.includes('APIGroupDiscoveryList') ? known.discovery(header) : undefined;

/** Throws 406 when nothing fits. */
export function negotiate(header: string, endpoint: Endpoints): Negotiated {
  const found = accepted(header, endpoint);
  if (found === undefined) throw notAcceptable(names);
  return found;
}

/** Throws 406 when nothing fits, or when it is one of which there are no streams. */
export function negotiateStream(
  header: string,
  endpoint: Endpoints,
): Negotiated & { readonly mediaType: 'json' | 'protobuf' } {
  const { mediaType, ...rest } = negotiate(header, endpoint);
  if (mediaType === 'yaml') throw notAcceptable(streamNames);
  return { ...rest, mediaType };
}

/** Of a declaration's own answers. */
export const formsOf = ({ custom }: { readonly custom?: boolean | undefined }): Endpoints =>
  custom === true ? 'custom' : 'resource';

/** What upstream's routes of built-in kinds produce; `list` is watched, too. */
type Produced = 'one' | 'list' | 'log' | 'json';
const produced: Readonly<Record<Produced, readonly string[]>> = {
  one: names,
  list: [...names, ...streamNames],
  log: ['text/plain', ...names],
  json: [contentTypes.json],
};

const maxTypes = 64;
const acceptsSome = (kind: Produced): ((header: string) => boolean) =>
  rememberingHeaders((header) =>
    header.split(',', maxTypes).some((clause) => {
      const type = clause.split(';', 1)[0]!.trim();
      return type === '*/*' || produced[kind].includes(type);
    }),
  );
const routes: Readonly<Record<Produced, (header: string) => boolean>> = {
  one: acceptsSome('one'),
  list: acceptsSome('list'),
  log: acceptsSome('log'),
  json: acceptsSome('json'),
};

interface RoutedRequest {
  header(name: string): string;
  readonly request: { readonly method: string };
}

/** Throws what upstream's router says before a handler is asked. It reads no parameters, and of wildcards only the whole one. */
export function checkProduced(context: RoutedRequest, kind: Produced): void {
  const accept = context.header('accept');
  if (accept === '' || routes[kind](accept)) return;
  throw unavailable(context, produced[kind]);
}

/** What it says to a body in a type that the route does not read. */
export function checkConsumed(context: RoutedRequest, type: string, types: readonly string[]): void {
  if (types.includes(type)) return;
  throw Number(context.header('content-length')) > 0 ? unsupported('') : unavailable(context, []);
}

const unsupported = (available: string): StatusError =>
  new StatusError(415, 'UnsupportedMediaType', `415: Unsupported Media Type${available}`, {});

function unavailable(context: RoutedRequest, types: readonly string[]): StatusError {
  const available = `\n\nAvailable representations: ${types.join(', ')}`;
  const length = context.header('content-length');
  if (['POST', 'PUT', 'PATCH'].includes(context.request.method) && (length === '' || length === '0'))
    return unsupported(available);
  return new StatusError(406, 'NotAcceptable', `406: Not Acceptable${available}`, {});
}
