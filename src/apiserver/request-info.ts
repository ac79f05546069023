// Reads from the path and method what is asked for: upstream's RequestInfo.

import { exactFieldValue, parseFieldSelector } from '../apimachinery/field-selector.ts';
import { parseLabelSelector } from '../apimachinery/label-selector.ts';
import { withoutLeading, withoutTrailing } from '../base/without-trailing.ts';
import { queryBoolean, queryInt64 } from './query.ts';

export interface RequestInfo {
  readonly isResource: boolean;
  /** Decoded path. */
  readonly path: string;
  /** get list watch create update patch delete deletecollection, or the HTTP method in lower case for paths. */
  readonly verb: string;
  /** `api` or `apis` for resources. */
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path parts after the resource: [name, subresource, …]; proxies need the rest. */
  readonly parts: readonly string[];
}

const lastingSubresources: readonly string[] = ['proxy', 'exec', 'attach', 'portforward', 'log'];

/** Upstream's BasicLongRunningRequestCheck. */
export const isLongRunning = (info: RequestInfo): boolean =>
  info.isResource && (info.verb === 'watch' || lastingSubresources.includes(info.subresource));

/** A path that no handler may see: its segments do not name anything. */
export class PathError extends Error {}
/** Of a verb in the path that says nothing of what: upstream calls it its own fault. */
export class UnreadPathError extends Error {}

const methodVerbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
const namespaceSubresources: readonly string[] = ['status', 'finalize'];

export const pathOf = (url: string): string => {
  const at = url.indexOf('?');
  return at < 0 ? url : url.slice(0, at);
};

/** Most paths: no segment needs decoding, or could be refused. */
const plainPath = /^(?:\/[A-Za-z0-9_:-][A-Za-z0-9_:.-]*)+$/;

/**
 * Decodes one segment at a time, so that an encoded slash can't become a separator. What may follow a `proxy`
 * segment belongs to somebody else and is not judged.
 */
function decodeSegments(path: string): string[] {
  if (plainPath.test(path)) return path.slice(1).split('/');
  const parts = withoutLeading(withoutTrailing(path, '/'), '/').split('/');
  if (parts.length === 1 && parts[0] === '') return [];
  const decoded: string[] = [];
  for (const part of parts) {
    const text = part.includes('%') ? decodePart(part) : part;
    if (!isProxied(decoded)) checkSegment(text);
    decoded.push(text);
  }
  return decoded;
}

/** `/api/v1/nodes/x/proxy` or `/api/v1/namespaces/x/pods/y/proxy` went before. */
const isProxied = (before: readonly string[]): boolean =>
  before[0] === 'api' && (before[2] === 'namespaces' ? before[6] : before[4]) === 'proxy';

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new PathError(`Name parameter invalid: ${JSON.stringify(part)}: may not contain '%'`);
  }
}

function checkSegment(text: string): void {
  const refuse = (why: string): never => {
    throw new PathError(`Name parameter invalid: ${JSON.stringify(text)}: ${why}`);
  };
  if (text === '..') refuse("may not be '..'");
  if (text === '.') refuse("may not be '.'");
  if (text.includes('/')) refuse("may not contain '/'");
  if (text.includes('%')) refuse("may not contain '%'");
  if (/[\u0000-\u001f\u007f]/.test(text)) refuse('may not contain control characters');
}

const nonResource = (path: string, method: string): RequestInfo => ({
  isResource: false,
  path,
  verb: method.toLowerCase(),
  prefix: '',
  group: '',
  version: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  parts: [],
});

/** Throws PathError. `query` is looked at only for collections. */
export function requestInfo(method: string, rawPath: string, query: () => URLSearchParams): RequestInfo {
  const segments = decodeSegments(rawPath);
  const path = rawPath.includes('%') ? `/${segments.join('/')}` : rawPath;
  const prefix = segments[0] ?? '';
  if ((prefix !== 'api' && prefix !== 'apis') || segments.length < 3) return nonResource(path, method);
  let rest: string[];
  let group = '';
  if (prefix === 'apis') {
    if (segments.length < 4) return nonResource(path, method);
    group = segments[1]!;
    rest = segments.slice(2);
  } else rest = segments.slice(1);
  const version = rest[0]!;
  rest = rest.slice(1);
  let verb = Object.hasOwn(methodVerbs, method) ? methodVerbs[method]! : '';
  // The deprecated forms /api/v1/watch/namespaces/x/pods and /api/v1/proxy/nodes/x, of which the second is no longer served.
  const oldVerb = rest[0] === 'watch' || rest[0] === 'proxy' ? rest[0] : undefined;
  if (oldVerb !== undefined) {
    if (rest.length < 2) throw new UnreadPathError('unable to determine kind and namespace from url');
    rest = rest.slice(1);
  }
  let namespace = '';
  if (rest[0] === 'namespaces' && rest.length > 1) {
    namespace = rest[1]!;
    if (rest.length > 2 && !namespaceSubresources.includes(rest[2]!)) rest = rest.slice(2);
  }
  const [resource = '', name = '', third = ''] = rest;
  const subresource = oldVerb === 'proxy' ? '' : third;
  if (rest.length > 1 && name === '') throw new PathError(`Name parameter invalid: "": may not be empty`);
  let named = name;
  if (oldVerb !== undefined) verb = oldVerb;
  else if (name === '') {
    if (verb === 'get') {
      verb = queryBoolean(query(), 'watch') === true ? 'watch' : 'list';
      named = nameInFieldSelector(query());
    } else if (verb === 'delete') verb = 'deletecollection';
  }
  return {
    isResource: true,
    path,
    verb,
    prefix,
    group,
    version,
    namespace,
    resource,
    subresource,
    name: named,
    parts: rest.slice(1),
  };
}

/** Upstream reads all options of a list at once, or none of them. */
function isRead(query: URLSearchParams): boolean {
  const labels = query.get('labelSelector');
  try {
    for (const name of ['limit', 'timeoutSeconds']) queryInt64(query, name);
    if (labels !== null) parseLabelSelector(labels);
    return true;
  } catch {
    return false;
  }
}

/**
 * Authorization may be by name for a list of one: `fieldSelector=metadata.name=x`. Read by the parser that the
 * endpoint uses, so that both see the same name.
 */
function nameInFieldSelector(query: URLSearchParams): string {
  const selector = query.get('fieldSelector');
  if (selector === null || !isRead(query)) return '';
  let name = '';
  try {
    name = exactFieldValue(parseFieldSelector(selector), 'metadata.name') ?? '';
  } catch {
    // The endpoint refuses it with the parser's words.
  }
  return /^[^/%]+$/.test(name) && name !== '.' && name !== '..' ? name : '';
}
