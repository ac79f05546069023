// How wide a request is: lists and what begins as a list does, by how many objects there are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestInfo } from '../request-info.ts';
import { widthOf } from './request-width.ts';

function width(method: string, url: string, stored: number): number {
  const [path, text = ''] = url.split('?') as [string, string?];
  const query = (): URLSearchParams => new URLSearchParams(text);
  return widthOf(requestInfo(method, path, query), query, () => stored);
}

test('a watch that begins with all objects is as wide as their list, another one takes one seat', () => {
  const pods = '/api/v1/pods';
  for (const [method, url, stored, seats] of [
    ['GET', pods, 100, 1],
    ['GET', pods, 450, 5],
    ['GET', pods, 100_000, 10],
    ['GET', `${pods}?limit=200`, 450, 2],
    ['GET', `${pods}?limit=200&labelSelector=a`, 450, 5],
    ['GET', `${pods}?limit=200&resourceVersion=7`, 450, 2],
    ['GET', `${pods}?limit=200&resourceVersion=0`, 450, 5],
    ['GET', `${pods}?limit=200&resourceVersion=0&continue=x`, 450, 2],
    ['GET', `${pods}?limit=200&watch=true`, 450, 5],
    ['DELETE', pods, 450, 5],
    ['POST', pods, 450, 1],
    ['GET', `${pods}?watch=true`, 450, 5],
    ['GET', `${pods}?watch=true&resourceVersion=0`, 450, 5],
    ['GET', `${pods}?watch=true&resourceVersion=7`, 450, 1],
    ['GET', `${pods}?watch=true&resourceVersion=7&sendInitialEvents=true`, 450, 5],
    ['GET', `${pods}?watch=true&sendInitialEvents=false`, 450, 1],
    ['GET', '/api/v1/namespaces/a/pods/b', 450, 1],
  ] as const)
    assert.equal(width(method, url, stored), seats, `${method} ${url}`);
});
