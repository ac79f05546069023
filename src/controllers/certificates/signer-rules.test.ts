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
  const refusal = (signer: string, usages: string[], more: Partial<RequestFacts> = {}): string => {
    const verdict = verdictOf(signer, usages, facts(more));
    return 'refusal' in verdict ? verdict.refusal : '';
  };
  const refusals = (signer: string, usages: string[], asked: readonly [Partial<RequestFacts>, string][]) => {
    for (const [more, words] of asked) assert.equal(refusal(signer, usages, more), words);
  };
  const organization = 'subject organization is not system:nodes';
  const commonName = 'subject common name does not begin with system:node:';
  const names = (kind: string): string => `${kind} subjectAltNames are not allowed`;

  it('refuses a client certificate that is no node, or more than a node, in the words of upstream', () => {
    refusals(kubeletClientSigner, client, [
      [{ organizations: ['system:masters'] }, organization],
      [{ organizations: ['system:nodes', 'system:masters'] }, organization],
      [{ organizations: [], dnsNames: ['x'], commonName: 'admin' }, organization],
      [{ dnsNames: ['x'], emails: ['x@x'], ips: ['1.1.1.1'], uris: ['x:'], commonName: '' }, names('DNS')],
      [{ emails: ['x@x'], ips: ['1.1.1.1'], uris: ['x:'], commonName: '' }, names('Email')],
      [{ ips: ['1.1.1.1'], uris: ['x:'], commonName: '' }, names('IP')],
      [{ uris: ['x:'], commonName: '' }, names('URI')],
      [{ commonName: 'admin' }, commonName],
    ]);
    const usages = 'usages did not match [client auth digital signature key encipherment]';
    for (const other of [server, ['client auth'], ['digital signature'], [...client, 'server auth']]) {
      assert.equal(refusal(kubeletClientSigner, other), usages);
      assert.equal(refusal(kubeletClientSigner, other, { commonName: 'admin' }), commonName);
    }
  });
  it('refuses a serving certificate that is no node, or more than a node, in the words of upstream', () => {
    const ips = ['10.0.0.1'];
    refusals(kubeletServingSigner, server, [
      [{ organizations: [] }, organization],
      [{ emails: ['x@x'] }, 'DNS or IP subjectAltName is required'],
      [{ ips, emails: ['x@x'], uris: ['x:'], commonName: '' }, names('Email')],
      [{ ips, uris: ['x:'], commonName: '' }, names('URI')],
      [{ ips, commonName: 'admin' }, commonName],
    ]);
    const usages = 'usages did not match [digital signature key encipherment server auth]';
    assert.equal(refusal(kubeletServingSigner, client, { ips, commonName: 'admin' }), usages);
  });
  it('refuses usages that are not those of a client, and signers that it does not know', () => {
    assert.equal(
      refusal(clientSigner, ['digital signature', 'server auth', 'code signing']),
      'invalid usage for client certificate: server auth',
    );
    assert.equal(
      refusal(clientSigner, ['digital signature']),
      'missing required usage for client certificate: client auth',
    );
    assert.equal(refusal('example.com/x', server), 'unrecognized signerName: "example.com/x"');
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
