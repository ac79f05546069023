// What a request for a certificate says is what is signed, or nothing is: names with syntax in them stay names.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { certificatesigningrequests } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import { issueCertificate } from '../../src/crypto/certificates.ts';
import { approveByHand, startCluster } from '../integration/controllers-cluster.ts';
import {
  attribute,
  type CraftedRequest,
  commonName,
  craftRequest,
  der,
  extensionRequest,
  nameOf,
  oid,
  organization,
  pemOf,
  sanExtension,
  subjectName,
  type Text,
} from './crafted-certificates.ts';

const client = 'kubernetes.io/kube-apiserver-client';
const kubelet = 'kubernetes.io/kube-apiserver-client-kubelet';
const serving = 'kubernetes.io/kubelet-serving';

const utf8 = (hex: string): Text => ({ tag: 0x0c, bytes: Buffer.from(hex, 'hex') });
const typed = (tag: number, text: string, encoding: BufferEncoding = 'latin1'): Text => ({
  tag,
  bytes: Buffer.from(text, encoding),
});
const bmp = (text: string): Text => ({ tag: 0x1e, bytes: Buffer.from(text, 'utf16le').swap16() });
const dns = (text: string): Buffer => der(0x82, text);
const ip = (...bytes: readonly number[]): Buffer => der(0x87, Buffer.from(bytes));
const node = subjectName('system:node:a', 'system:nodes');
const alice = subjectName('alice', 'dev');

/** `signed`: common name and organizations as OpenSSL reads them off the certificate. */
type Answer =
  | { readonly signed: { readonly CN: string; readonly O: readonly string[] } }
  | { readonly failed: RegExp }
  | { readonly refused: RegExp };

interface Row {
  readonly attack: string;
  readonly signer: string;
  readonly request: CraftedRequest | string;
  readonly answer: Answer;
}

const groups = (...names: readonly string[]) => ({ CN: 'alice', O: names });
const masters = 'system:masters';

const rows: readonly Row[] = [
  ...(
    [
      ['quotes around a group', 'dev"system:masters"', 'dev"system:masters"'],
      ['a group in quotes', '"system:masters"', '"system:masters"'],
      ['a backslash', 'system\\:masters', 'system\\:masters'],
      ['an escaped hex pair', '\\73ystem:masters', '\\73ystem:masters'],
      ['hex DER', '#130e73797374656d3a6d617374657273', '#130e73797374656d3a6d617374657273'],
      ['a second attribute', 'dev,O=system:masters', 'dev,O=system:masters'],
      ['a plus', 'dev+O=system:masters', 'dev+O=system:masters'],
      ['a slash', 'dev/O=system:masters', 'dev/O=system:masters'],
      ['spaces at the ends', ' system:masters ', ' system:masters '],
      ['a line break', 'dev\nO=system:masters', 'dev\nO=system:masters'],
      ['a NUL byte', 'system:masters\0x', 'system:masters\0x'],
      ['a NUL byte before it', 'dev\0system:masters', 'dev\0system:masters'],
      ['another letter that looks the same', 'ѕystem:masters', 'ѕystem:masters'],
      ['a width-less letter', 'system:\u200bmasters', 'system:\u200bmasters'],
      ['an empty group', '', ''],
      ['a semicolon and angle brackets', '<system>;masters', '<system>;masters'],
    ] as const
  ).map(
    ([what, group, expected]): Row => ({
      attack: `group with ${what}`,
      signer: client,
      request: { subject: subjectName('alice', group) },
      answer: { signed: groups(expected) },
    }),
  ),
  ...(
    [
      ['PrintableString', typed(0x13, masters)],
      ['IA5String', typed(0x16, masters)],
      ['T61String', typed(0x14, masters)],
      ['BMPString', bmp(masters)],
      ['UTF8String', typed(0x0c, masters)],
    ] as const
  ).map(
    ([type, group]): Row => ({
      attack: `system:masters as ${type}`,
      signer: client,
      request: { subject: subjectName('alice', 'dev', group) },
      answer: { refused: /signer with system:masters group is not allowed/ },
    }),
  ),
  {
    attack: 'system:masters beside another value in one relative name',
    signer: client,
    request: {
      subject: nameOf(
        [attribute(organization, 'dev'), attribute(organization, masters)],
        [attribute(commonName, 'alice')],
      ),
    },
    answer: { refused: /signer with system:masters group is not allowed/ },
  },
  ...(
    [
      ['UniversalString', { tag: 0x1c, bytes: Buffer.from(masters) }, /unsupported string type/],
      ['OCTET STRING', { tag: 0x04, bytes: Buffer.from(masters) }, /unsupported string type/],
      ['broken UTF-8', utf8('73ff'), /invalid UTF-8 string/],
      ['a surrogate', utf8('eda080'), /invalid UTF-8 string/],
      ['PrintableString with a quote', typed(0x13, 'a"b'), /invalid PrintableString/],
      ['IA5String with a high bit', typed(0x16, 'a\xff'), /invalid IA5String/],
    ] as const
  ).map(
    ([type, group, why]): Row => ({
      attack: `a group as ${type}`,
      signer: client,
      request: { subject: subjectName('alice', group) },
      answer: { refused: why },
    }),
  ),
  {
    attack: 'two common names: the last one counts, as everywhere',
    signer: client,
    request: {
      subject: nameOf(
        [attribute(commonName, 'system:admin')],
        [attribute(organization, 'dev')],
        [attribute(commonName, 'alice')],
      ),
    },
    answer: { signed: groups('dev') },
  },
  {
    attack: "a node's name with the API server's in quotes",
    signer: kubelet,
    request: { subject: subjectName('system:node:x"kube-apiserver-kubelet-client"', 'system:nodes') },
    answer: {
      signed: { CN: 'system:node:x"kube-apiserver-kubelet-client"', O: ['system:nodes'] },
    },
  },
  {
    attack: 'two common names, of a node and of the API server',
    signer: kubelet,
    request: {
      subject: nameOf(
        [attribute(organization, 'system:nodes')],
        [attribute(commonName, 'system:node:a')],
        [attribute(commonName, 'kube-apiserver-kubelet-client')],
      ),
    },
    answer: { failed: /subject common name does not begin with system:node:/ },
  },
  {
    attack: "a node's group twice",
    signer: kubelet,
    request: { subject: subjectName('system:node:a', 'system:nodes', masters) },
    answer: { failed: /subject organization is not system:nodes/ },
  },
  {
    attack: 'names in a second list of extensions',
    signer: serving,
    request: { subject: node, extensionLists: [[sanExtension(dns('a'))], [sanExtension(dns('kubernetes'))]] },
    answer: { failed: /duplicate requested extensions/ },
  },
  {
    attack: 'names in a second extension',
    signer: serving,
    request: { subject: node, extensionLists: [[sanExtension(dns('a')), sanExtension(dns('kubernetes'))]] },
    answer: { failed: /duplicate extension with OID "2.5.29.17"/ },
  },
  {
    attack: 'a name of another kind (a directory name)',
    signer: client,
    request: { subject: alice, extensionLists: [[sanExtension(der(0xa4, node))]] },
    answer: { refused: /only DNS names, IP addresses, email addresses and URIs/ },
  },
  {
    attack: 'a name of another kind (otherName) beside a good one',
    signer: serving,
    request: {
      subject: node,
      extensionLists: [[sanExtension(dns('a'), der(0xa0, oid(0x2a, 0x03), der(0xa0, der(0x0c, 'x'))))]],
    },
    answer: { failed: /only DNS names, IP addresses, email addresses and URIs/ },
  },
  {
    attack: 'an address of five bytes',
    signer: serving,
    request: { subject: node, extensionLists: [[sanExtension(ip(10, 0, 0, 1, 2))]] },
    answer: { failed: /cannot parse IP address of length 5/ },
  },
  {
    attack: 'a mail address on a serving certificate',
    signer: serving,
    request: { subject: node, extensionLists: [[sanExtension(dns('a'), der(0x81, 'a@b'))]] },
    answer: { failed: /Email subjectAltNames are not allowed/ },
  },
  {
    attack: 'the key of somebody else',
    signer: client,
    request: { subject: alice, stolenKey: true },
    answer: { refused: /the signature of the request is wrong/ },
  },
  {
    attack: 'bytes behind the request',
    signer: client,
    request: { subject: alice, trailing: Buffer.from([0x30, 0x00]) },
    answer: { refused: /trailing data/ },
  },
  {
    attack: 'a second request behind the first',
    signer: client,
    request: craftRequest({ subject: alice }) + craftRequest({ subject: subjectName('alice', masters) }),
    answer: { refused: /more than one CERTIFICATE REQUEST/ },
  },
  {
    attack: 'a request of nothing',
    signer: client,
    request: pemOf('CERTIFICATE REQUEST', der(0x30)),
    answer: { refused: /asn1/ },
  },
  {
    attack: 'a signature with SHA-1',
    signer: client,
    request: { subject: alice, algorithm: der(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01)) },
    answer: { refused: /cannot verify signature: algorithm unimplemented/ },
  },
  ...(
    [
      ['nothing', der(0x30)],
      ['a type alone', der(0x30, extensionRequest)],
      [
        'a sequence in place of a set',
        der(0x30, extensionRequest, der(0x30, der(0x30, sanExtension(dns('a'))))),
      ],
    ] as const
  ).map(
    ([what, made]): Row => ({
      attack: `an attribute of ${what}`,
      signer: client,
      request: { subject: alice, attributes: [made] },
      answer: { refused: /malformed attribute/ },
    }),
  ),
  ...(
    [
      ['a sequence', der(0x30, der(0x30, attribute(commonName, 'alice')))],
      ['a set of sets', der(0x30, der(0x31, der(0x31, commonName, der(0x0c, 'alice'))))],
      ['a type alone', der(0x30, der(0x31, der(0x30, commonName)))],
      ['two values', der(0x30, der(0x31, der(0x30, commonName, der(0x0c, 'alice'), der(0x0c, masters))))],
    ] as const
  ).map(
    ([what, subject]): Row => ({
      attack: `a relative name of ${what}`,
      signer: client,
      request: { subject },
      answer: { refused: /invalid RDNSequence/ },
    }),
  ),
];

/** Common name and organizations as OpenSSL reads them: other code than Porthole's. */
function byOpenssl(pem: string): { readonly CN: string; readonly O: readonly string[] } {
  const subject: Record<string, unknown> = { ...new X509Certificate(pem).toLegacyObject().subject };
  const list = (value: unknown): string[] =>
    value === undefined ? [] : Array.isArray(value) ? value.map(String) : [String(value)];
  return { CN: list(subject['CN']).join('|'), O: list(subject['O']) };
}

test('what is asked for is what is signed, whatever syntax is in it', async (t) => {
  const cluster = await startCluster(t);
  for (const [index, row] of rows.entries()) {
    await t.test(row.attack, async () => {
      const name = `row-${index}`;
      const pem = typeof row.request === 'string' ? row.request : craftRequest(row.request);
      const created = await cluster.client
        .create(certificatesigningrequests, {
          metadata: { name },
          spec: {
            request: Buffer.from(pem).toString('base64'),
            signerName: row.signer,
            usages:
              row.signer === serving
                ? ['digital signature', 'server auth']
                : ['digital signature', 'client auth'],
          },
        })
        .catch((error: unknown) => {
          if (isStatusError(error)) return error.message;
          throw error;
        });
      if (typeof created === 'string') {
        assert.ok('refused' in row.answer, `refused: ${created}`);
        assert.match(created, row.answer.refused);
        return;
      }
      await approveByHand(cluster.client, created);
      const status = await cluster.until(
        certificatesigningrequests,
        (requests) => {
          const { certificate, conditions } = requests.get(name)?.status ?? {};
          const failed = conditions?.find(({ type }) => type === 'Failed')?.message;
          return certificate === undefined && failed === undefined ? undefined : { certificate, failed };
        },
        'an answer of the signer',
      );
      if ('signed' in row.answer) {
        assert.equal(status.failed, undefined);
        const signed = byOpenssl(Buffer.from(status.certificate ?? '', 'base64').toString());
        assert.deepEqual(signed, row.answer.signed);
      } else {
        assert.ok('failed' in row.answer, JSON.stringify(status));
        assert.equal(status.certificate, undefined);
        assert.match(status.failed ?? '', row.answer.failed);
      }
    });
  }
});

test("the PKI's own certificates are read back too: a name that can't be written is not handed out", async (t) => {
  const { server } = await startCluster(t, { disabled: [] });
  const dates = { notBefore: Date.UTC(2026, 0, 1), notAfter: Date.UTC(2027, 0, 1) };
  const issue = (more: object) =>
    issueCertificate(server.pki.signers.client(), { commonName: 'a', usages: ['client'], ...dates, ...more });
  await assert.rejects(issue({ commonName: 'half a letter \ud83d' }), /string not valid UTF-8/);
  await assert.rejects(issue({ dnsNames: ['a\u0130b'] }), /cannot be encoded as an IA5String/);
  await assert.rejects(issue({ notAfter: Number.NaN }), Error);
  assert.deepEqual(
    byOpenssl((await issue({ commonName: 'a"b"', organizations: ['#13', 'c\\,d'] })).certificatePem),
    {
      CN: 'a"b"',
      O: ['#13', 'c\\,d'],
    },
  );
});
