// Kubernetes' URL library: absolute URLs and paths, as Go's net/url reads requests.

import { parseRequestUrl, type RequestUrl, unescapeQuery } from '../../base/request-url.ts';
import { boolType, type CelType, listOf, mapOf, stringType, structType } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { scaled, traversalFactor } from '../estimate.ts';
import { nominal, readingCosts } from '../library-costs.ts';
import { CelError, Opaque, type Value, ValueList, ValueMap } from '../value.ts';

const urlType = structType('kubernetes.URL');

class UrlValue extends Opaque {
  readonly type: CelType = urlType;
  readonly url: RequestUrl;
  #query: Value | undefined;

  constructor(url: RequestUrl) {
    super();
    this.url = url;
  }
  /** Taken apart once, however often it is asked for: that costs a step. */
  get query(): Value {
    this.#query ??= queryOf(this.url);
    return this.#query;
  }
  equalTo(other: Value): boolean {
    return other instanceof UrlValue && other.url.text === this.url.text;
  }
}

function urlValue(text: string): UrlValue | CelError {
  const url = parseRequestUrl(text);
  return typeof url === 'string'
    ? new CelError(`URL parse error during conversion from string: ${url}`)
    : new UrlValue(url);
}

/** Pairs that are none are left out. */
function queryOf({ query }: RequestUrl): Value {
  const found = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const at = pair.indexOf('=');
    const key = unescapeQuery(at === -1 ? pair : pair.slice(0, at));
    const value = unescapeQuery(at === -1 ? '' : pair.slice(at + 1));
    if (key === undefined || value === undefined) continue;
    const values = found.get(key);
    if (values === undefined) found.set(key, [value]);
    else values.push(value);
  }
  return ValueMap.of([...found].map(([key, values]) => [key, new ValueList(values)]));
}

const reader = (
  name: string,
  id: string,
  call: (value: UrlValue) => Value,
  result: CelType = stringType,
): FunctionDeclaration => ({
  name,
  overloads: [{ id, member: true, params: [urlType], result, call }],
  ...nominal,
});
const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

export const urlLibrary: Library = {
  name: 'kubernetes.urls',
  equality: {
    [urlType.name]: ({ args }) => {
      const size = args[1]!.computedSize ?? { min: 1, max: 1 };
      return { cost: scaled({ min: 1, max: size.max }, traversalFactor) };
    },
  },
  functions: [
    {
      name: 'url',
      overloads: [{ id: 'string_to_url', params: [stringType], result: urlType, call: urlValue }],
      ...readingCosts(1, true),
    },
    reader('getScheme', 'url_get_scheme', ({ url }) => url.scheme),
    reader('getHost', 'url_get_host', ({ url }) => url.host),
    reader('getHostname', 'url_get_hostname', ({ url: { host, port } }) =>
      withoutBrackets(port === undefined ? host : host.slice(0, -port.length - 1)),
    ),
    reader('getPort', 'url_get_port', ({ url }) => url.port ?? ''),
    reader('getEscapedPath', 'url_get_escaped_path', ({ url }) => url.escapedPath),
    reader('getQuery', 'url_get_query', ({ query }) => query, mapOf(stringType, listOf(stringType))),
    {
      name: 'isURL',
      overloads: [
        {
          id: 'is_url_string',
          params: [stringType],
          result: boolType,
          call: (text: string) => urlValue(text) instanceof UrlValue,
        },
      ],
    },
  ],
};
