// The OpenAPI documents: when they are made, and when they are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheme } from '../../api/scheme.ts';
import type { Scheme } from '../../apimachinery/declaration.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { RequestContext } from '../request-context.ts';
import { openApiResponse } from './openapi.ts';

/** The built-in kinds, of which some can be taken away; it counts how often their descriptions are read. */
function observedScheme(): Scheme & { without(group: string): void; reads(): number } {
  const base = createScheme();
  let resources = base.resources();
  let reads = 0;
  return {
    ...base,
    resources: () => resources,
    descriptions: async () => {
      reads++;
      return (type, field) => `${type} ${field}`;
    },
    without: (group) => {
      resources = resources.filter((one) => one.group !== group);
    },
    reads: () => reads,
  };
}

function ask(
  scheme: Scheme,
  path: string,
  headers: Record<string, string> = {},
): Promise<ApiResponse | undefined> {
  const request: Partial<ApiRequest> = { method: 'GET', url: path, headers };
  return openApiResponse(new RequestContext(request as ApiRequest), path, { scheme });
}
const tagOf = (answer: ApiResponse | undefined): string => String(answer?.headers?.['etag']);

test('a document is made once, with descriptions, and again when the kinds have changed', async () => {
  const scheme = observedScheme();
  const first = await ask(scheme, '/openapi/v2');
  assert.ok(String(first?.body).includes('io.k8s.api.core.v1.PodSpec nodeName'));
  assert.equal(tagOf(await ask(scheme, '/openapi/v2')), tagOf(first));
  assert.equal((await ask(scheme, '/openapi/v2', { 'if-none-match': tagOf(first) }))?.status, 304);
  assert.equal(scheme.reads(), 1);
  scheme.without('batch');
  assert.notEqual(tagOf(await ask(scheme, '/openapi/v2')), tagOf(first));
  assert.equal(scheme.reads(), 2);
});

test('the index takes a turn of the event loop for each document, and names it by its hash', async () => {
  const scheme = observedScheme();
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const index = await ask(scheme, '/openapi/v3');
  isOver = true;
  const { paths } = JSON.parse(String(index?.body));
  const documents = Object.keys(paths).length;
  assert.ok(turns >= documents, `${turns} turns for ${documents} documents`);
  const one = await ask(scheme, '/openapi/v3/apis/apps/v1');
  const { serverRelativeURL } = paths['apis/apps/v1'];
  assert.equal(serverRelativeURL, `/openapi/v3/apis/apps/v1?hash=${tagOf(one).replaceAll('"', '')}`);
  assert.equal(scheme.reads(), 1);
});

test('a group that goes while its document is awaited has none', async () => {
  const scheme = observedScheme();
  const answer = ask(scheme, '/openapi/v3/apis/batch/v1');
  scheme.without('batch');
  assert.equal(await answer, undefined);
  assert.equal(await ask(scheme, '/openapi/v3/apis/batch/v1'), undefined);
});

test('a document is sent in a form that was asked for, or not at all', async () => {
  const scheme = observedScheme();
  const json = 'application/json';
  const short = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  const old = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const cases: readonly (readonly [string, string | undefined])[] = [
    ['', json],
    ['*/*', json],
    ['application/*', json],
    [short, short],
    [old, short],
    [`${short};q=0.5, ${json}`, json],
    [`${json};q=0.5, ${short}`, short],
    ['text/html, */*;q=0.1', json],
    ['application/yaml', undefined],
    ['text/html', undefined],
    ['application/vnd.kubernetes.protobuf', undefined],
  ];
  const answered = async (path: string, accept: string): Promise<readonly [unknown, unknown]> => {
    const answer = await ask(scheme, path, accept === '' ? {} : { accept });
    return [answer?.status, answer?.headers?.['content-type']];
  };
  for (const [accept, type] of cases) {
    const v2 = [type === undefined ? 406 : 200, type];
    assert.deepEqual(await answered('/openapi/v2', accept), v2, accept);
    const v3 = type === undefined || accept === short || accept === old ? [406, undefined] : [200, json];
    assert.deepEqual(await answered('/openapi/v3/apis/apps/v1', accept), v3, accept);
    // The index has one form, and nobody is asked.
    assert.deepEqual(await answered('/openapi/v3', accept), [200, json], accept);
  }
});
