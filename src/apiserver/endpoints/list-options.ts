// Reads and checks the options of list and watch requests, with upstream's words.
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { badRequest, invalidObject } from '../../apimachinery/errors.ts';
import {
  type FieldError,
  fieldErrorText,
  forbidden,
  invalid,
  notSupported,
} from '../../apimachinery/field-error.ts';
import {
  exactFieldValue,
  type FieldSelector,
  matchesFieldSelector,
  parseFieldSelector,
  renameFields,
} from '../../apimachinery/field-selector.ts';
import {
  isEverything,
  matchesSelector,
  parseLabelSelector,
  type Selector,
} from '../../apimachinery/label-selector.ts';
import type { Predicate, ResourceCache } from '../../storage/watch/resource-cache.ts';
import { queryBoolean, queryInteger } from '../query.ts';

export interface ListOptions {
  /** The one object that `matches` lets through; '' for all. */
  readonly name: string;
  readonly matches: Predicate | undefined;
  readonly exactField: { readonly name: string; readonly value: string } | undefined;
  readonly limit: number;
  readonly continueToken: string;
  /** '' when it was not sent. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number | undefined;
}

/** `name`: the one object that the request was authorized for, by its path or by its selector; '' for all. */
export function readListOptions(
  query: URLSearchParams,
  declaration: ResourceDeclaration,
  verb: 'list' | 'watch',
  name: string,
): ListOptions {
  const timeoutSeconds = queryInteger(query, 'timeoutSeconds');
  const asked: AskedOptions = withInitialEvents({
    limit: Math.max(queryInteger(query, 'limit') ?? 0, 0),
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    watch: verb === 'watch',
    allowWatchBookmarks: queryBoolean(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents: queryBoolean(query, 'sendInitialEvents'),
    timeoutSeconds,
  });
  const labels = readLabelSelector(query.get('labelSelector'));
  const parsed = readFieldSelector(query.get('fieldSelector'));
  const errors = validate(asked);
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
  const fields = onlyNamed(ofDeclaration(parsed, declaration), name);
  return { ...asked, name, matches: predicate(labels, fields), exactField: exactField(fields, declaration) };
}

/** What is said of a request whatever it is of. */
type AskedOptions = Omit<ListOptions, 'name' | 'matches' | 'exactField'>;

/** Who watches from no revision, or from whatever is there, begins with what there is: upstream asks for it in its name. */
function withInitialEvents(options: AskedOptions): AskedOptions {
  const { watch, sendInitialEvents, resourceVersionMatch, resourceVersion } = options;
  if (!watch || sendInitialEvents !== undefined || resourceVersionMatch !== '') return options;
  if (resourceVersion !== '' && resourceVersion !== '0') return options;
  return { ...options, sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
}

function readLabelSelector(text: string | null): Selector | undefined {
  if (text === null || text === '') return undefined;
  try {
    const selector = parseLabelSelector(text);
    return isEverything(selector) ? undefined : selector;
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

function readFieldSelector(text: string | null): FieldSelector | undefined {
  if (text === null || text === '') return undefined;
  try {
    return parseFieldSelector(text);
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
}

/** By the names that the kind itself has for what can be selected. Throws 400. */
function ofDeclaration(
  selector: FieldSelector | undefined,
  declaration: ResourceDeclaration,
): FieldSelector | undefined {
  if (selector === undefined) return undefined;
  const names = declaration.selectableFieldNames;
  for (const { field } of selector.requirements) {
    if (field === 'metadata.name' || field === 'metadata.namespace' || names.has(field)) continue;
    const own =
      declaration.custom === true ||
      [...names.keys()].some((n) => n !== 'metadata.name' && n !== 'metadata.namespace');
    throw badRequest(
      own
        ? `field label not supported: ${field}`
        : `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
  return selector.requirements.length === 0 ? undefined : renameFields(selector, names);
}

/** As upstream: beside a name, a selector may say nothing but that name. */
function onlyNamed(fields: FieldSelector | undefined, name: string): FieldSelector | undefined {
  if (name === '') return fields;
  if (fields === undefined) return { requirements: [{ field: 'metadata.name', operator: '=', value: name }] };
  if (exactFieldValue(fields, 'metadata.name') !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  return fields;
}

function predicate(labels: Selector | undefined, fields: FieldSelector | undefined): Predicate | undefined {
  if (labels && fields)
    return (index) => matchesSelector(labels, index.labels) && matchesFieldSelector(fields, index.fields);
  if (labels) return (index) => matchesSelector(labels, index.labels);
  if (fields) return (index) => matchesFieldSelector(fields, index.fields);
  return undefined;
}

function exactField(
  fields: FieldSelector | undefined,
  declaration: ResourceDeclaration,
): { readonly name: string; readonly value: string } | undefined {
  if (!fields) return undefined;
  for (const name of declaration.selectableFieldNames.values()) {
    if (name.startsWith('metadata.')) continue;
    const value = exactFieldValue(fields, name);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

/** Upstream's ValidateListOptions and validateWatchOptions. */
function validate(options: AskedOptions): FieldError[] {
  const errors = options.watch ? watchErrors(options) : listErrors(options);
  if (!options.watch && options.sendInitialEvents !== undefined)
    errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  return errors;
}

const ofMatch = (why: string): FieldError => forbidden('resourceVersionMatch', why);
const withContinue = 'resourceVersionMatch is forbidden when continue is provided';

function watchErrors({
  resourceVersionMatch: match,
  sendInitialEvents,
  continueToken,
}: AskedOptions): FieldError[] {
  const errors: FieldError[] = [];
  const isInitial = sendInitialEvents !== undefined;
  if (isInitial && match !== 'NotOlderThan')
    errors.push(ofMatch('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'));
  if (match === '') return errors;
  if (!isInitial)
    errors.push(ofMatch('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'));
  if (match !== 'NotOlderThan') errors.push(notSupported('resourceVersionMatch', match, ['NotOlderThan']));
  if (continueToken !== '') errors.push(ofMatch(withContinue));
  return errors;
}

const listMatches: readonly string[] = ['Exact', 'NotOlderThan', ''];

function listErrors({
  resourceVersionMatch: match,
  resourceVersion,
  continueToken,
}: AskedOptions): FieldError[] {
  const errors: FieldError[] = [];
  if (match === '') return errors;
  if (resourceVersion === '')
    errors.push(ofMatch('resourceVersionMatch is forbidden unless resourceVersion is provided'));
  if (continueToken !== '') errors.push(ofMatch(withContinue));
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(notSupported('resourceVersionMatch', match, listMatches, true));
  if (match === 'Exact' && resourceVersion === '0')
    errors.push(ofMatch('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  return errors;
}

const maxUint64 = 2n ** 64n - 1n;

/** What is wrong with a revision, as the store's own error says it. */
function revisionFault(text: string): string | undefined {
  const digits = /^\d+$/.test(text);
  // Of what may be longer than any number only as much is read as can matter.
  const number = text.length <= 15 ? text : text.replace(/^0+/, '').slice(0, 21);
  if (digits && (number.length <= 15 || BigInt(number) <= maxUint64)) return undefined;
  const why = digits ? 'value out of range' : 'invalid syntax';
  return fieldErrorText(
    invalid('resourceVersion', text, `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`),
  );
}

/** 0 for '' and '0'. Throws 400 for what is no revision: upstream does so of a list, and calls it its own fault elsewhere. */
export function parseRevision(text: string): number {
  const fault = text === '' ? undefined : revisionFault(text);
  if (fault !== undefined) throw badRequest(`invalid resource version: ${fault}`);
  return Number(text);
}

/**
 * When `cache` shows what is asked for: undefined says that it does. Without a revision that is all that was written
 * until now, by whichever server; '0' is whatever is there.
 */
export function atLeast(cache: ResourceCache, resourceVersion: string): Promise<void> | undefined {
  if (resourceVersion === '') return cache.fresh();
  const revision = parseRevision(resourceVersion);
  if (revision <= cache.currentRevision()) return undefined;
  // A number of Node has not the last digits of the largest.
  return cache.waitFor(revision, resourceVersion.replace(/^0+/, ''));
}
