// What paths ask for, as upstream's RequestInfoFactory reads them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf, requestInfo } from './request-info.ts';

const read = (line: string): string => {
  const [method = '', url = ''] = line.split(' ');
  const at = url.indexOf('?');
  const info = requestInfo(method, pathOf(url), () => new URLSearchParams(at < 0 ? '' : url.slice(at + 1)));
  if (!info.isResource) return `${info.verb} ${info.path}`;
  const resource = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  return `${info.verb} ${info.group}/${info.version} ${resource} ns=${info.namespace} name=${info.name}`;
};

test('requestInfo reads verbs, resources, namespaces and names', () => {
  const table: readonly (readonly [string, string])[] = [
    ['GET /api/v1/pods', 'list /v1 pods ns= name='],
    ['GET /api/v1/pods?watch=true', 'watch /v1 pods ns= name='],
    ['GET /api/v1/pods?watch=0', 'list /v1 pods ns= name='],
    ['GET /api/v1/watch/namespaces/x/pods', 'watch /v1 pods ns=x name='],
    ['GET /api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Dy', 'list /v1 pods ns=x name=y'],
    ['DELETE /api/v1/namespaces/x/pods', 'deletecollection /v1 pods ns=x name='],
    [
      'DELETE /api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Dy',
      'deletecollection /v1 pods ns=x name=',
    ],
    ['GET /api/v1/watch/namespaces/x/pods/y', 'watch /v1 pods ns=x name=y'],
    ['GET /api/v1/namespaces/x/pods/y?watch=1', 'get /v1 pods ns=x name=y'],
    ['GET /api/v1/proxy/namespaces/x/pods/y/z', 'proxy /v1 pods ns=x name=y'],
    ['POST /apis/apps/v1/watch/deployments/d/scale', 'watch apps/v1 deployments/scale ns= name=d'],
    // Options that can't be read say nothing of whom they are of.
    ['GET /api/v1/pods?limit=x&fieldSelector=metadata.name%3Dy', 'list /v1 pods ns= name='],
    ['GET /api/v1/pods?labelSelector=)&watch=1&fieldSelector=metadata.name%3Dy', 'watch /v1 pods ns= name='],
    ['GET /api/v1/pods?watch=f', 'watch /v1 pods ns= name='],
    ['GET /api/v1/pods?fieldSelector=spec.nodeName!%3Da%5C%2Cmetadata.name%3Dy', 'list /v1 pods ns= name='],
    ['GET /api/v1/pods?fieldSelector=metadata.name%3D..', 'list /v1 pods ns= name='],
    ['GET /api/v1/namespaces/x', 'get /v1 namespaces ns=x name=x'],
    ['PUT /api/v1/namespaces/x/finalize', 'update /v1 namespaces/finalize ns=x name=x'],
    ['GET /apis/apps/v1/namespaces/x/deployments/d/scale', 'get apps/v1 deployments/scale ns=x name=d'],
    ['POST /api/v1/namespaces/x/pods/p/exec', 'create /v1 pods/exec ns=x name=p'],
    ['GET /api/v1/nodes/n/proxy/a/../b', 'get /v1 nodes/proxy ns= name=n'],
    ['GET /apis/apps/v1', 'get /apis/apps/v1'],
    ['GET /livez', 'get /livez'],
  ];
  for (const [line, expected] of table) assert.equal(read(line), expected, line);
});

test('requestInfo refuses segments that name nothing, also in a namespace called proxy', () => {
  for (const path of [
    '/api/v1/namespaces/proxy/pods/..',
    '/api/v1/namespaces/x/pods/%2e%2e',
    '/api/v1/namespaces/a%2Fb/pods',
    '/api/v1/namespaces/x/pods/a%00',
    '/apis/proxy/v1/x/../y',
  ])
    assert.throws(() => read(`GET ${path}`), /Name parameter invalid/, path);
});

test('requestInfo refuses a verb in the path that says nothing of what', () => {
  for (const path of ['/api/v1/watch', '/api/v1/proxy', '/apis/apps/v1/watch/'])
    assert.throws(
      () => read(`GET ${path}`),
      /^Error: unable to determine kind and namespace from url$/,
      path,
    );
});
