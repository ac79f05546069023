// Reads and checks the options of list and watch requests, with upstream's words.
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { badRequest, invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, forbidden, invalid, notSupported } from '../../apimachinery/field-error.ts';
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
  const labels = readLabelSelector(query.get('labelSelector'));
  const fields = onlyNamed(readFieldSelector(query.get('fieldSelector'), declaration), name);
  const options: ListOptions = {
    name,
    matches: predicate(labels, fields),
    exactField: exactField(fields, declaration),
    limit: Math.max(queryInteger(query, 'limit') ?? 0, 0),
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    watch: verb === 'watch',
    allowWatchBookmarks: queryBoolean(query, 'allowWatchBookmarks') ?? false,
    sendInitialEvents: queryBoolean(query, 'sendInitialEvents'),
    timeoutSeconds: queryInteger(query, 'timeoutSeconds'),
  };
  const errors = validate(options);
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
  return options;
}

function readLabelSelector(text: string | null): Selector | undefined {
  if (text === null || text === '') return undefined;
  try {
    const selector = parseLabelSelector(text);
    return isEverything(selector) ? undefined : selector;
  } catch (error) {
    throw badRequest(
      `unable to parse requirement: ${error instanceof Error ? error.message : String(error)}`.replace(
        'unable to parse requirement: unable to parse requirement: ',
        'unable to parse requirement: ',
      ),
    );
  }
}

function readFieldSelector(text: string | null, declaration: ResourceDeclaration): FieldSelector | undefined {
  if (text === null || text === '') return undefined;
  let selector: FieldSelector;
  try {
    selector = parseFieldSelector(text);
  } catch (error) {
    throw badRequest(error instanceof Error ? error.message : String(error));
  }
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

/** Upstream's ValidateListOptions and ValidateWatchOptions. */
function validate(options: ListOptions): FieldError[] {
  const errors: FieldError[] = [];
  const match = options.resourceVersionMatch;
  if (options.watch && options.sendInitialEvents === undefined) {
    if (match !== '')
      errors.push(
        forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
        ),
      );
    return errors;
  }
  if (options.sendInitialEvents !== undefined) {
    if (!options.watch)
      errors.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
    else if (match === '')
      errors.push(
        forbidden(
          'resourceVersionMatch',
          'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        ),
      );
    else if (match !== 'NotOlderThan')
      errors.push(notSupported('resourceVersionMatch', match, ['NotOlderThan']));
    return errors;
  }
  if (match === '') return errors;
  if (options.resourceVersion === '')
    errors.push(
      forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden unless resourceVersion is provided',
      ),
    );
  if (options.continueToken !== '')
    errors.push(
      forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
    );
  if (match !== 'Exact' && match !== 'NotOlderThan')
    errors.push(notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
  if (match === 'Exact' && options.resourceVersion === '0')
    errors.push(
      forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
    );
  return errors;
}

/** 0 for '' and '0'. Throws 422 for what is no number. */
export function parseRevision(text: string): number {
  if (text === '' || text === '0') return 0;
  if (!/^\d{1,15}$/.test(text))
    throw invalidObject({ group: '', kind: '' }, '', [
      invalid('resourceVersion', text, `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`),
    ]);
  return Number(text);
}

/**
 * When `cache` shows what is asked for: undefined says that it does. Without a revision that is all that was written
 * until now, by whichever server; '0' is whatever is there.
 */
export function atLeast(cache: ResourceCache, resourceVersion: string): Promise<void> | undefined {
  if (resourceVersion === '') return cache.fresh();
  const revision = parseRevision(resourceVersion);
  return revision > cache.currentRevision() ? cache.waitFor(revision) : undefined;
}
