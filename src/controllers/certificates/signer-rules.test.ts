// What signers sign, and for how long requests stay.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CertificateSigningRequest } from '../../api/generated/types/certificates-v1.ts';
import { disposableAt } from './request-state.ts';
import {
  clientSigner,
  kubeletClientSigner,
  kubeletServingSigner,
  type RequestFacts,
  validityOf,
  verdictOf,
} from './signer-rules.ts';

const facts = (more: Partial<RequestFacts> = {}): RequestFacts => ({
  commonName: 'system:node:a',
  organizations: ['system:nodes'],
  dnsNames: [],
  ips: [],
  emails: [],
  uris: [],
  ...more,
});
const client = ['digital signature', 'client auth'];
const server = ['digital signature', 'key encipherment', 'server auth'];

describe('verdictOf', () => {
  it('signs what each signer is for', () => {
    assert.deepEqual(verdictOf(clientSigner, client, facts({ organizations: [] })), {
      keyUses: ['digital signature'],
      usages: ['client'],
    });
    assert.deepEqual(verdictOf(clientSigner, ['client auth'], facts({ organizations: [] })), {
      keyUses: [],
      usages: ['client'],
    });
    assert.deepEqual(verdictOf(kubeletClientSigner, client, facts()), {
      keyUses: ['digital signature'],
      usages: ['client'],
    });
    assert.deepEqual(verdictOf(kubeletServingSigner, server, facts({ ips: ['10.0.0.1'] })), {
      keyUses: ['digital signature', 'key encipherment'],
      usages: ['server'],
    });
  });
  it('refuses what is no node, or more than a node', () => {
    const refusal = (signer: string, usages: string[], more: Partial<RequestFacts>): string => {
      const verdict = verdictOf(signer, usages, facts(more));
      return 'refusal' in verdict ? verdict.refusal : '';
    };
    assert.equal(
      refusal(kubeletClientSigner, client, { organizations: ['system:masters'] }),
      'organization must be system:nodes',
    );
    assert.equal(
      refusal(kubeletClientSigner, client, { commonName: 'admin' }),
      'subject common name must begin with system:node:',
    );
    assert.equal(
      refusal(kubeletClientSigner, client, { dnsNames: ['x'] }),
      'DNS subjectAltNames are not allowed',
    );
    assert.equal(refusal(kubeletServingSigner, server, {}), 'DNS or IP subjectAltName is required');
    assert.match(refusal(kubeletClientSigner, server, {}), /^usages did not match/);
    assert.match(refusal('example.com/x', server, {}), /^unknown signer/);
  });
});

describe('validityOf', () => {
  it('keeps to what was asked for, at least ten minutes and not beyond the authority', () => {
    const minutes = (seconds: number | undefined, ends = Number.MAX_SAFE_INTEGER): number =>
      validityOf(seconds, 0, ends).notAfter / 60_000;
    assert.equal(minutes(3600), 60);
    assert.equal(minutes(1), 10);
    assert.equal(minutes(undefined), 365 * 24 * 60);
    assert.equal(minutes(undefined, 60_000), 1);
  });
});

describe('disposableAt', () => {
  const request = (status: object): CertificateSigningRequest =>
    ({ metadata: { name: 'r', creationTimestamp: '2026-01-01T00:00:00Z' }, spec: {}, status }) as never;
  const at = (status: object): string => new Date(disposableAt(request(status))).toISOString();
  const lastUpdateTime = '2026-01-01T02:00:00Z';
  it('waits an hour after an answer and a day for one', () => {
    assert.equal(at({}), '2026-01-02T00:00:00.000Z');
    assert.equal(at({ conditions: [{ type: 'Denied', lastUpdateTime }] }), '2026-01-01T03:00:00.000Z');
    assert.equal(at({ conditions: [{ type: 'Approved', lastUpdateTime }] }), '2026-01-02T00:00:00.000Z');
    assert.equal(
      at({ certificate: 'x', conditions: [{ type: 'Approved', lastUpdateTime }] }),
      '2026-01-01T03:00:00.000Z',
    );
  });
});
