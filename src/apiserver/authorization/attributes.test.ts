// Whose selectors an authorizer is told: of requests that keep to them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestInfo } from '../request-info.ts';
import { noSelectors, selectorsOf } from './attributes.ts';

const selectors = 'fieldSelector=spec.nodeName%3Dn1&labelSelector=a%3Db';
const told = { fields: 'spec.nodeName=n1', labels: 'a=b' };
const pods = '/api/v1/namespaces/default/pods';
const rows = [
  ['GET', pods, told],
  ['GET', `${pods}?watch=true`, told],
  ['DELETE', pods, told],
  ['GET', `${pods}/one`, noSelectors],
  ['GET', `${pods}/one/log`, noSelectors],
  ['PUT', `${pods}/one`, noSelectors],
  ['PATCH', `${pods}/one`, noSelectors],
  ['DELETE', `${pods}/one`, noSelectors],
  ['POST', pods, noSelectors],
  ['GET', '/api/v1/watch/namespaces/default/pods', noSelectors],
  ['GET', '/apis/apps/v1/watch/deployments', noSelectors],
  ['GET', '//api/v1/watch/namespaces/default/pods', noSelectors],
  ['GET', '/metrics', noSelectors],
] as const;
for (const [method, path, expected] of rows)
  test(`${method} ${path} with selectors`, () => {
    const url = `${path}${path.includes('?') ? '&' : '?'}${selectors}`;
    const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
    const info = requestInfo(method, url, () => query);
    assert.deepEqual(selectorsOf({ request: { url }, query, info }), expected);
  });
