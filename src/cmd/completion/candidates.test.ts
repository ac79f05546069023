// What TAB offers, by the real commands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgram } from '../program.ts';
import { candidatesAt } from './candidates.ts';

const program = await createProgram(undefined);
const there = {
  clusters: () => ['default', 'big'],
  nodes: (cluster: string) => (cluster === 'big' ? ['linux-1', 'windows-1'] : ['linux-9']),
  logs: (cluster: string) => (cluster === 'big' ? ['server', 'registry', 'linux-1'] : ['server']),
};
const offered = (...words: string[]): readonly string[] | 'files' => {
  const found = candidatesAt(program, words, there);
  return found === 'files' ? found : found.map(({ value }) => value);
};

test('commands, and of them those that begin as typed', () => {
  assert.ok(offered('').includes('up') && offered('').includes('completion'));
  assert.deepEqual(offered('ku'), ['kubeconfig']);
  assert.deepEqual(offered('node', ''), ['add', 'remove', 'list', 'help']);
  assert.ok(!offered('envtest', '').includes('etcd'), 'hidden ones stay hidden');
});

test('flags of the command that is typed, with what they are', () => {
  assert.deepEqual(offered('down', '--'), ['--name', '--keep', '--help']);
  assert.deepEqual(offered('up', '--windows-b'), ['--windows-build']);
  assert.ok(candidatesAt(program, ['down', '--keep'], there)[0] !== undefined);
});

test('values of flags: choices, clusters, nodes of the cluster that is typed, files', () => {
  assert.deepEqual(offered('up', '--runtime', ''), ['auto', 'containerd', 'simulated']);
  assert.deepEqual(offered('up', '--runtime', 's'), ['simulated']);
  assert.deepEqual(offered('down', '--name', ''), ['default', 'big']);
  assert.deepEqual(offered('down', '--name=b'), ['--name=big']);
  assert.deepEqual(offered('image', 'load', '--name', 'big', '--node', 'l'), ['linux-1']);
  assert.equal(offered('up', '--kubeconfig', ''), 'files');
  assert.equal(offered('image', 'load', ''), 'files');
  assert.deepEqual(offered('up', '--linux', ''), [], 'a number is not guessed');
  for (const command of [['up'], ['node', 'add'], ['agent']])
    assert.deepEqual(offered(...command, '--windows-build', 'ltsc2'), ['ltsc2019', 'ltsc2022', 'ltsc2025']);
  assert.deepEqual(offered('node', 'add', '--build=2'), [
    '--build=20348',
    '--build=25398',
    '--build=23h2',
    '--build=26100',
  ]);
});

test('arguments: nodes of the cluster that is typed, parts of a cluster, choices', () => {
  assert.deepEqual(offered('node', 'remove', ''), ['linux-9']);
  assert.deepEqual(offered('node', 'remove', '--name', 'big', 'w'), ['windows-1']);
  assert.deepEqual(offered('node', 'add', ''), [], 'its name is new');
  assert.deepEqual(offered('logs', '--name=big', ''), ['server', 'registry', 'linux-1']);
  assert.deepEqual(offered('logs', 'server', ''), [], 'there is one');
  assert.deepEqual(offered('completion', ''), ['bash', 'zsh', 'fish']);
});
