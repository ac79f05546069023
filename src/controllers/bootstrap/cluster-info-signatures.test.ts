// The bytes of a detached signature, and when cluster-info is written.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { detachedSignature, signedData } from './cluster-info-signatures.ts';

const token = { id: 'joshua', secret: 'my secret' };

test('a signature is a compact JWS without its payload', () => {
  const [header = '', payload, mac] = detachedSignature('content', token).split('.');
  assert.equal(Buffer.from(header, 'base64url').toString(), '{"alg":"HS256","kid":"joshua"}');
  assert.equal(payload, '');
  const signed = `${header}.${Buffer.from('content').toString('base64url')}`;
  assert.equal(mac, createHmac('sha256', token.secret).update(signed).digest('base64url'));
});

test('every token signs, what no token signs any more goes, and nothing is written twice', () => {
  const first = signedData({ kubeconfig: 'k', note: 'n', 'jws-kubeconfig-former': 'x' }, [token]);
  assert.deepEqual(Object.keys(first ?? {}), ['kubeconfig', 'note', 'jws-kubeconfig-joshua']);
  assert.equal(signedData(first ?? {}, [token]), undefined);
  assert.deepEqual(signedData(first ?? {}, []), { kubeconfig: 'k', note: 'n' });
  assert.equal(signedData({ note: 'n' }, [token]), undefined);
  assert.notEqual(
    first?.['jws-kubeconfig-joshua'],
    signedData({ kubeconfig: 'other' }, [token])?.['jws-kubeconfig-joshua'],
  );
});
