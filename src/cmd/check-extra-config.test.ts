// What of --extra-config is refused before anything is made, and in whose words.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createCertificateAuthority, issueCertificate } from '../crypto/certificates.ts';
import { checkExtraConfig, resolvedExtraConfig } from './check-extra-config.ts';
import { type ExtraFlag, parseExtraFlag } from './cluster/extra-config.ts';

const folder = mkdtempSync(join(tmpdir(), 'extra-'));
after(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return name;
};
const nowhere = (): Promise<undefined> => Promise.resolve(undefined);
const resolved = (...texts: string[]): ExtraFlag[] =>
  resolvedExtraConfig(texts.map(parseExtraFlag), folder) as ExtraFlag[];

test('files are named from the folder in which the command was said', () => {
  assert.deepEqual(
    resolved(
      'apiserver.audit-policy-file=policy.yaml',
      'apiserver.audit-log-path=-',
      'apiserver.service-account-key-file=a.pem,/b.pem',
      'apiserver.token-auth-file=a,b.csv',
      'apiserver.oidc-ca-file=',
      'apiserver.tls-sni-cert-key=a.crt,/a.key:*.example.com,10.0.0.1',
      'apiserver.oidc-issuer-url=https://x/./y',
    ).map(({ value }) => value),
    [
      join(folder, 'policy.yaml'),
      '-',
      `${folder}/a.pem,/b.pem`,
      join(folder, 'a,b.csv'),
      '',
      `${folder}/a.crt,/a.key:*.example.com,10.0.0.1`,
      'https://x/./y',
    ],
  );
});

test('what no program takes, or up decides, is refused by its name', () => {
  const rows: [string, RegExp][] = [
    [
      'apiserver.audit-polcy-file=x',
      /^--extra-config apiserver\.audit-polcy-file: unknown option '--audit-polcy-file(=x)?'\n\(Did you mean --audit-policy-file\?\)$/,
    ],
    [
      'apiserver.emulated-version=1.35',
      /emulated-version: option .* is invalid\. this server is of one release/,
    ],
    ['apiserver.no-such-flag=1.35', /no-such-flag: unknown option/],
    ['apiserver.no-such-flag-', /no-such-flag: unknown option/],
    ['apiserver.constructor=1', /unknown option/],
    ['apiserver.help=1', /unknown option/],
    [
      'apiserver.audit-log-maxage=many',
      /audit-log-maxage: option '--audit-log-maxage <n>' argument 'many' is invalid\. not a whole number$/,
    ],
    ['apiserver.anonymous-auth=--', /argument '--' is invalid/],
    ['apiserver.event-ttl=', /option '--event-ttl <duration>' argument '' is invalid/],
    [
      'apiserver.node-eviction-rate=1',
      /^--extra-config apiserver\.node-eviction-rate: it is a flag of controller-manager$/,
    ],
    ['controller-manager.event-ttl=1h', /it is a flag of apiserver$/],
    ['kube-proxy.nftables-sync-period=999ms', /argument '999ms' is invalid\. at least 1s\.$/],
    ['kube-proxy.nftables-sync-period=-5s', /argument '-5s' is invalid/],
    ['kubelet.nftables-sync-period=5s', /nftables-sync-period: unknown option/],
    ['kube-proxy.pod-max-pids=5', /pod-max-pids: unknown option/],
    ['apiserver.data-dir=/x', /porthole up decides it itself$/],
    ['apiserver.keep-credentials-', /porthole up decides it itself$/],
    ['controller-manager.leader-elect=false', /porthole up decides it itself$/],
    ['apiserver.bind-address=0.0.0.0', /give porthole up --bind-address$/],
    ['kubelet.eviction-hard=x', /give porthole up --eviction-hard$/],
    ['kubelet.pod-max-pids=0', /argument '0' is invalid\. a count, or -1/],
    ['kubelet.kube-reserved=gpu=1', /cannot reserve "gpu" resource/],
    ['kubelet.node-ip=1.2.3.4', /unknown option/],
    [`apiserver.audit-log-maxage=${'9'.repeat(30_000)}`, /…$/],
  ];
  for (const [text, message] of rows)
    assert.throws(
      () => resolved(text),
      (error: Error) => message.test(error.message) && error.message.length < 800,
      text.slice(0, 80),
    );
});

test('files that the server can not use are told in its words, and nothing is left of the trial', async () => {
  const trials = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('porthole-try-'));
  const before = trials();
  const policy = write(
    'policy.yaml',
    'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Everything}]\n',
  );
  const good = write('good.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n');
  const keys = write(
    'keys.yaml',
    'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{aescbc: {keys: [{name: a, secret: c2hvcnQ=}]}}]}]\n',
  );
  const plugins = write(
    'plugins.yaml',
    'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: PodSecurity, configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: much}}}]\n',
  );
  const rows: [string[], RegExp][] = [
    [
      ['apiserver.audit-policy-file=missing.yaml'],
      /^the server does not start with --audit-policy-file \(--extra-config\): loading audit policy file: failed to read file path .*missing\.yaml/,
    ],
    [[`apiserver.audit-policy-file=${policy}`], /loading audit policy file: .*Everything/s],
    [[`apiserver.audit-policy-file=${good}`, 'apiserver.audit-log-path=.'], / is a folder$/],
    [[`apiserver.audit-policy-file=${good}`, 'apiserver.audit-log-path=good.yaml/x.log'], /ENOTDIR/],
    [
      ['apiserver.audit-log-mode=sometimes', 'apiserver.audit-log-path=x.log'],
      /invalid audit log mode sometimes/,
    ],
    [
      [`apiserver.encryption-provider-config=${keys}`],
      /--encryption-provider-config: error while parsing file .*keys\.yaml/,
    ],
    [
      ['apiserver.encryption-provider-config-automatic-reload=true'],
      /must be set with --encryption-provider-config$/,
    ],
    [
      ['apiserver.enable-admission-plugins=NoSuchPlugin'],
      /enable-admission-plugins plugin "NoSuchPlugin" is unknown$/,
    ],
    [[`apiserver.admission-control-config-file=${plugins}`], /PodSecurity/],
    [['apiserver.authorization-mode=Nobody'], /authorization-mode "Nobody" is not a valid mode$/],
    [
      ['apiserver.oidc-issuer-url=https://x'],
      /oidc-issuer-url and oidc-client-id must be specified together/,
    ],
    [['apiserver.service-account-signing-key-file=good.yaml'], /./],
    [['apiserver.etcd-servers=https://x'], /--etcd-servers is not supported yet/],
  ];
  for (const [texts, message] of rows) {
    const flags = resolved(...texts);
    await assert.rejects(checkExtraConfig(flags, nowhere), { message }, texts.join(' '));
  }
  assert.deepEqual(trials(), before);
});

test('what the server takes is taken, and its files are not begun', async () => {
  const policy = write('ok.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n');
  await checkExtraConfig(
    resolved(
      `apiserver.audit-policy-file=${policy}`,
      'apiserver.audit-log-path=logs/audit.log',
      'apiserver.enable-admission-plugins=AlwaysPullImages',
      'apiserver.anonymous-auth=false',
      'controller-manager.node-eviction-rate=0.5',
      'kubelet.pod-max-pids=100',
    ),
    nowhere,
  );
  assert.ok(!existsSync(join(folder, 'logs')));
});

test('a certificate has to name where the nodes will reach the server, though that address is not there yet', async () => {
  const dates = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const authority = await createCertificateAuthority({ commonName: 'company', ...dates });
  write('root.crt', authority.certificatePem);
  // Of those that are for documents: no machine has it.
  const gateway = '192.0.2.1';
  const checked = async (...more: string[]): Promise<void> => {
    const made = await issueCertificate(authority, {
      commonName: 'company-server',
      usages: ['server'],
      ips: ['127.0.0.1', '10.96.0.1', ...more],
      ...dates,
    });
    write('tls.crt', made.certificatePem);
    write('tls.key', made.privateKeyPem);
    await checkExtraConfig(
      resolved(
        'apiserver.tls-cert-file=tls.crt',
        'apiserver.tls-private-key-file=tls.key',
        'controller-manager.root-ca-file=root.crt',
      ),
      () => Promise.resolve(gateway),
    );
  };
  await assert.rejects(checked(), {
    message:
      /^the server does not start with --tls-cert-file, .*: x509: certificate is valid for 127\.0\.0\.1, 10\.96\.0\.1, not 192\.0\.2\.1: /,
  });
  await checked(gateway);
});
