// Which media type and which form of the object the client takes: Accept, as upstream negotiates it.
import { notAcceptable } from '../../apimachinery/errors.ts';

export type MediaType = 'json' | 'yaml' | 'protobuf';
export type ObjectForm = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

export interface Negotiated {
  readonly mediaType: MediaType;
  readonly form: ObjectForm;
  /** meta.k8s.io version of a Table or PartialObjectMetadata. */
  readonly formVersion: 'v1' | 'v1beta1';
}

export const contentTypes: Readonly<Record<MediaType, string>> = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

const mediaTypes: ReadonlyMap<string, MediaType> = new Map([
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
]);
const forms: readonly string[] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];
const plain: Negotiated = { mediaType: 'json', form: 'object', formVersion: 'v1' };
const known = new Map<string, Negotiated>([
  ['', plain],
  ['*/*', plain],
  ['application/json', plain],
]);
const knownWithoutTables = new Map(known);
/** Clients send a handful of different headers; an attacker may send more. */
const maxKnown = 200;

/** Throws 406 when nothing fits. */
export const negotiate = (accept: string): Negotiated => remembered(known, accept, true);

/** For answers that no table shows: reviews, bindings, tokens, scales. */
export const negotiateWithoutTables = (accept: string): Negotiated =>
  remembered(knownWithoutTables, accept, false);

function remembered(results: Map<string, Negotiated>, accept: string, tables: boolean): Negotiated {
  const found = results.get(accept);
  if (found) return found;
  const result = parseAccept(accept, tables);
  if (results.size < maxKnown) results.set(accept, result);
  return result;
}

function parseAccept(accept: string, tables: boolean): Negotiated {
  const clauses = accept
    .split(',', 32)
    .map((clause, order) => ({ ...parseClause(clause), order }))
    .sort((a, b) => b.quality - a.quality || a.order - b.order);
  for (const clause of clauses) {
    const mediaType = mediaTypes.get(clause.type);
    if (mediaType === undefined) continue;
    const as = clause.parameters.get('as');
    if (as === undefined) return { ...plain, mediaType };
    const version = clause.parameters.get('v');
    if (!forms.includes(as) || clause.parameters.get('g') !== 'meta.k8s.io') continue;
    if (version !== 'v1' && version !== 'v1beta1') continue;
    // Upstream's tables have no protobuf form.
    if (as === 'Table' && (!tables || mediaType === 'protobuf')) continue;
    return { mediaType, form: as as ObjectForm, formVersion: version };
  }
  throw notAcceptable(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);
}

function parseClause(clause: string): {
  readonly type: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
} {
  const [type = '', ...rest] = clause.split(';', 16).map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const at = part.indexOf('=');
    if (at > 0) parameters.set(part.slice(0, at), part.slice(at + 1));
  }
  const quality = Number(parameters.get('q') ?? 1);
  return { type: type.toLowerCase(), quality: Number.isFinite(quality) ? quality : 0, parameters };
}
