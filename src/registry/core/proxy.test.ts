// Addresses that proxies may go to, and the path that they hand on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathAfterProxy } from '../../apiserver/streaming/http-proxy.ts';
import { assertProxyable } from './proxy.ts';

const isMachine = (ip: string): boolean => ['192.0.2.2', 'fd00::2'].includes(ip);

test('only plain global addresses are proxied to', () => {
  for (const ip of ['10.244.0.7', '192.168.1.1', '8.8.8.8', 'fd00::7', '2001:db8:0:0:0:0:0:1'])
    assert.doesNotThrow(() => assertProxyable(ip, isMachine), ip);
  for (const ip of [
    '',
    '0.0.0.0',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1 ',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    'localhost',
    'metadata.internal',
    '::',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:ffff:7f00:1',
    '::7f00:1',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    '10.0.0.1:80',
    '1::2::3',
    '192.0.2.2',
    'fd00::2',
    'fd00:0:0::2',
    'FD00::0002',
  ])
    assert.throws(() => assertProxyable(ip, isMachine), /address not allowed/, JSON.stringify(ip));
});

test('what follows the proxy subresource is handed on, whatever else is called proxy', () => {
  for (const [url, path] of [
    ['/api/v1/nodes/n/proxy', '/'],
    ['/api/v1/nodes/n/proxy?x=1', '/?x=1'],
    ['/api/v1/nodes/n/proxy/logs/?a=/proxy/b', '/logs/?a=/proxy/b'],
    ['/api/v1/namespaces/proxy/pods/proxy/proxy/proxy/x', '/proxy/x'],
    ['/api/v1/nodes/proxy/proxy/metrics', '/metrics'],
    ['/api/v1/namespaces/a/services/https:s:443/proxy/x%2fy', '/x%2fy'],
  ] as const)
    assert.equal(pathAfterProxy(url), path, url);
});
