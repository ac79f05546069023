// What nodes are told of registries, as containerd reads it.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostsFilesOf, portsOfMirrors, writeHostsFiles } from './hosts-files.ts';

const gateway = '172.30.0.1';
const table = (url: string): string => `[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`;

test('the loopback of this machine is its address on the network of the nodes; others are as they were said', () => {
  const mirrors = {
    'docker.io': ['http://localhost:5001', 'https://127.0.0.1', 'https://mirror.example/cache'],
  };
  const files = hostsFilesOf({ gateway, registryPort: 5000, mirrors });
  const own = `server = "http://172.30.0.1:5000"\n${table('http://172.30.0.1:5000')}`;
  assert.deepEqual(Object.fromEntries(files), {
    'localhost:5000': own,
    '127.0.0.1:5000': own,
    'docker.io': [
      table('http://172.30.0.1:5001'),
      table('https://172.30.0.1'),
      table('https://mirror.example/cache'),
    ].join('\n'),
  });
  assert.deepEqual(portsOfMirrors(mirrors), [5001, 443]);
});

test('the folder holds these and no others, for its owner only', () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-hosts-'));
  try {
    const certs = join(folder, 'certs.d');
    mkdirSync(join(certs, 'earlier.example'), { recursive: true });
    writeHostsFiles(certs, new Map([['docker.io', 'x']]));
    assert.deepEqual(readdirSync(certs), ['docker.io']);
    const file = join(certs, 'docker.io/hosts.toml');
    assert.equal(readFileSync(file, 'utf8'), 'x');
    assert.equal(statSync(file).mode & 0o077, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
