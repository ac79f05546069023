// A server or an agent that can't start says why and what to do, and ends at once with its exit code.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { scratchDirectory } from '../harness/scratch.ts';

/** The launcher: the bundle starts in a fraction of the sources' time. */
const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));
/** Only for a start that hangs: it fails the test. */
const patienceMs = 120_000;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
}

function run(args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(launcher, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.on('data', (data) => {
      said += String(data);
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, said });
    });
  });
}

const folder = scratchDirectory('failed-starts');
const scratch = folder.path;
const good = join(scratch, 'good');
const taken = createServer();
let takenPort = 0;

before(async () => {
  const server = await startServer({
    dataDir: good,
    securePort: 0,
    bindAddress: '127.0.0.1',
    log: silentLogger,
  });
  await server.ready;
  await server.stop();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  takenPort = (taken.address() as AddressInfo).port;
  taken.unref();
});

after(() => folder.remove());

const copy = (name: string): string => {
  const dir = join(scratch, name);
  cpSync(good, dir, { recursive: true });
  return dir;
};
const file = (name: string, text: string): string => {
  const path = join(scratch, name);
  mkdirSync(scratch, { recursive: true });
  writeFileSync(path, text);
  return path;
};
const server = (dataDir: string, port = '0'): string[] => [
  'server',
  '--data-dir',
  dataDir,
  '--secure-port',
  port,
  '--bind-address',
  '127.0.0.1',
];
const agent = (kubeconfig: string, dataDir: string): string[] => [
  'agent',
  '--kubeconfig',
  kubeconfig,
  '--node-name',
  'a',
  '--node-ip',
  '127.0.0.1',
  '--runtime',
  'simulated',
  '--data-dir',
  dataDir,
];

function folderInPlaceOf(name: string): string[] {
  const dir = copy(`folder-${name.replaceAll('/', '-')}`);
  rmSync(join(dir, name));
  mkdirSync(join(dir, name));
  return server(dir);
}

interface Row {
  readonly what: string;
  readonly args: () => string[];
  readonly says: RegExp;
}

const rows: readonly Row[] = [
  {
    what: 'a server whose port is in use',
    args: () => server(copy('port'), String(takenPort)),
    says: /EADDRINUSE.*\n {2}next: end the program that has the port \("ss -ltnp 'sport = :\d+'"/,
  },
  {
    what: 'a server on an address that the machine does not have',
    args: () => [...server(copy('address')).slice(0, -1), '192.0.2.77'],
    says: /^porthole: --bind-address 192\.0\.2\.77 is no address of this machine; this machine has .*127\.0\.0\.1.*\n$/,
  },
  {
    what: 'a server that is told to do without an admission plugin that there is not (N20)',
    args: () => [...server(copy('plugin')), '--disable-admission-plugins', 'Foo'],
    says: /disable-admission-plugins plugin "Foo" is unknown/,
  },
  {
    what: 'a server whose audit policy is wrong: said once, with the file',
    args: () => [
      ...server(copy('policy')),
      `--audit-policy-file=${file('policy.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n')}`,
    ],
    says: /^porthole: loading audit policy file: rules\[0\]\.level: Unsupported value: "All": .*: from file \S+policy\.yaml\n$/,
  },
  {
    what: 'a server whose authorization configuration is wrong',
    args: () => [
      ...server(copy('authorizers')),
      `--authorization-config=${file('authz.yaml', 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: Webhook, name: x}]\n')}`,
    ],
    says: /^porthole: --authorization-config \S+authz\.yaml: authorizers\[0\]\.webhook: Required value: required when type=Webhook\n$/,
  },
  {
    what: 'a server whose authentication configuration is wrong',
    args: () => [
      ...server(copy('providers')),
      `--authentication-config=${file('authn.yaml', 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{}]\n')}`,
    ],
    says: /^porthole: --authentication-config \S+authn\.yaml: \[jwt\[0\]\.issuer\.url: Required value/,
  },
  {
    what: 'a server whose file of tokens is not there',
    args: () => [...server(copy('tokens')), '--token-auth-file=/nonexistent/tokens.csv'],
    says: /^porthole: --token-auth-file \/nonexistent\/tokens\.csv: ENOENT: .*\n {2}next: check the path \/nonexistent\/tokens\.csv\n$/,
  },
  {
    what: 'a server without pki/ca.key',
    args: () => {
      const dir = copy('no-key');
      rmSync(join(dir, 'pki/ca.key'));
      return server(dir);
    },
    says: /pki\/ca\.key is missing from .*no-key, which was in use: bring it back \(porthole restore/,
  },
  {
    what: 'a server whose db folder is empty, as where a disk is not mounted (R13)',
    args: () => {
      const dir = copy('no-disk');
      rmSync(join(dir, 'db'), { recursive: true });
      mkdirSync(join(dir, 'db/lost+found'), { recursive: true });
      return server(dir);
    },
    says: /db is missing from .*no-disk, which was in use: bring it back \(porthole restore/,
  },
  {
    what: 'a server whose contents.json lists nothing',
    args: () => {
      const dir = copy('no-list');
      writeFileSync(join(dir, 'contents.json'), 'null\n');
      return server(dir);
    },
    says: /contents\.json cannot be read: .*\n {2}because: it does not list the keys/,
  },
  {
    what: 'a server with garbage for pki/ca.crt',
    args: () => {
      const dir = copy('bad-crt');
      writeFileSync(join(dir, 'pki/ca.crt'), 'garbage\n');
      return server(dir);
    },
    says: /pki\/ca\.crt is damaged .*put it back from a backup/,
  },
  {
    what: 'a server with garbage for pki/sa.key',
    args: () => {
      const dir = copy('bad-sa');
      writeFileSync(join(dir, 'pki/sa.key'), 'garbage\n');
      return server(dir);
    },
    says: /pki\/sa\.key is damaged .*put it back from a backup/,
  },
  {
    what: 'a server with a folder in the place of pki/ca.crt (B8)',
    args: () => folderInPlaceOf('pki/ca.crt'),
    says: /pki\/ca\.crt is a folder\n.*next: move .*pki\/ca\.crt away, and put the file back from a backup\n/s,
  },
  {
    what: 'a server with a folder in the place of db/state.db (B8)',
    args: () => folderInPlaceOf('db/state.db'),
    says: /db\/state\.db is a folder: move it away, and put the file back or restore a backup\n/,
  },
  {
    what: 'a server with garbage for its lock (B8)',
    args: () => {
      const dir = copy('bad-lock');
      writeFileSync(join(dir, 'lock'), 'garbage\n'.repeat(1000));
      return server(dir);
    },
    says: /bad-lock\/lock: file is not a database\n.*next: remove .*bad-lock\/lock while nothing uses its folder/s,
  },
  {
    what: 'a server whose data directory is a file',
    args: () => server(file('a-file', '')),
    says: /EEXIST.*\n {2}next: choose a folder, or move away what lies at .*a-file/,
  },
  {
    what: 'an agent without a kubeconfig',
    args: () => agent(join(scratch, 'none'), join(scratch, 'node')),
    says: /error loading config file .*\n {2}because: ENOENT.*\n {2}next: check the path .*none/,
  },
  {
    what: 'an agent with garbage for a kubeconfig',
    args: () => agent(file('garbage', '\u0000\u0001: ['), join(scratch, 'node')),
    says: /error loading config file/,
  },
  {
    what: 'an agent without its serving certificate',
    args: () => agent(join(good, 'admin.kubeconfig'), join(scratch, 'node')),
    says: /ENOENT.*kubelet-server-current\.pem.*\n {2}next: check the path .*kubelet-server-current\.pem/,
  },
];

for (const { what, args, says } of rows) {
  test(`${what} says so and ends`, async () => {
    const ended = await run(args());
    assert.equal(ended.signal, null, `it did not end by itself:\n${ended.said}`);
    assert.equal(ended.code, 1, ended.said);
    assert.match(ended.said, says);
  });
}
