// What a file says in the place of up's flags.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Command } from 'commander';
import { upCommand } from './commands/up.ts';
import { applyConfig, configExample } from './config-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'config-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'cluster.yaml');
const head = 'apiVersion: cli.porthole.dev/v1\nkind: Cluster\n';

/** `up` with these flags and a file of this text. */
function told(text: string, ...flags: string[]): { nodes: unknown; flags: Record<string, unknown> } {
  const command: Command = upCommand().action(() => {});
  command.parse(flags, { from: 'user' });
  writeFileSync(file, text);
  const nodes = applyConfig(command, file);
  return { nodes, flags: command.opts() };
}

test('settings are the flags, and a flag that is given goes before', () => {
  const text = `${head}name: big\nlinux: 2\nruntime: simulated\nallowMachineAccess: true\nmerge: false\nnodeMonitorGracePeriod: 20s\nregistryMirror: [docker.io=http://localhost:1, quay.io=http://localhost:2]\nregistry: true\n`;
  const { nodes, flags } = told(text, '--linux', '3');
  assert.equal(nodes, undefined);
  assert.deepEqual(
    ['name', 'linux', 'runtime', 'allowMachineAccess', 'merge', 'nodeMonitorGracePeriod', 'registry'].map(
      (key) => flags[key],
    ),
    ['big', 3, 'simulated', true, false, 20_000, true],
  );
  assert.deepEqual(Object.keys(flags['registryMirror'] as object), ['docker.io', 'quay.io']);
});

test('the file in the help of up is one', () => {
  const { nodes, flags } = told(configExample);
  assert.equal((nodes as object[]).length, 2);
  assert.deepEqual(flags['registryMirror'], { 'docker.io': ['http://localhost:5001'] });
  let help = '';
  upCommand()
    .configureOutput({ writeOut: (text) => (help += text) })
    .outputHelp();
  assert.ok(help.endsWith(`${configExample.replaceAll(/^(?=.)/gm, '  ')}`), help);
});

test('nodes have names, systems and builds of their own', () => {
  const text = `${head}nodes:\n- os: linux\n- {name: web, os: windows, windowsBuild: ltsc2019, windowsTaint: true}\n- {os: windows}\n- {os: linux}\n`;
  assert.deepEqual(told(text).nodes, [
    { name: 'linux-1', os: 'linux' },
    { name: 'web', os: 'windows', windowsBuild: 17763, windowsTaint: true },
    { name: 'windows-1', os: 'windows', windowsBuild: 20348 },
    { name: 'linux-2', os: 'linux' },
  ]);
});

test('what can not be is named with its setting', () => {
  const rows: [string, RegExp, ...string[]][] = [
    ['linux: 1\n', /does not begin with apiVersion: cli\.porthole\.dev\/v1 and kind: Cluster$/],
    [`${head}linus: 1\n`, /there is no "linus"; there are nodes, .*linux, windows/],
    [`${head}config: x\n`, /there is no "config"/],
    [`${head}linux: many\n`, /cluster\.yaml: linux: "many": a whole number/],
    [`${head}runtime: docker\n`, /cluster\.yaml: runtime: "docker": Allowed choices are auto/],
    [`${head}windowsTaint: 1\n`, /cluster\.yaml: windowsTaint: 1: true or false/],
    [`${head}linux: true\n`, /cluster\.yaml: linux: true: a text or a number/],
    [`${head}linux: [1, 2]\n`, /cluster\.yaml: linux: \[1,2\]: a text or a number/],
    [`${head}linux: []\n`, /cluster\.yaml: linux: \[\]: a text or a number/],
    [`${head}name: [a, b]\n`, /cluster\.yaml: name: \["a","b"\]: a text or a number/],
    [`${head}name: []\n`, /cluster\.yaml: name: \[\]: a text or a number/],
    [`${head}name:\n`, /cluster\.yaml: name: null: a text or a number/],
    [`${head}registryMirror: [[]]\n`, /cluster\.yaml: registryMirror: \[\[\]\]: a text or a number/],
    [`${head}nodes: 2\n`, /cluster\.yaml: nodes: 2: a list/],
    [`${head}registry: maybe\n`, /cluster\.yaml: registry: "maybe": a port from 1 to 65535, or true\.$/],
    [`${head}nodes: [{}]\n`, /cluster\.yaml: nodes\[0\]: there is no os, which is linux or windows\.$/],
    [
      `${head}nodes: [{os: linux}, {name: web, os: linus}]\n`,
      /: nodes\[1\] \(web\): os: "linus": linux or windows\.$/,
    ],
    [`${head}nodes: [linux]\n`, /cluster\.yaml: nodes\[0\]: "linux": fields name, os/],
    [`${head}nodes: [{os: windows, windowsTaint: yes}]\n`, /nodes\[0\]: windowsTaint: "yes": true or false/],
    [`${head}nodes: [{os: linux, name: {a: 1}}]\n`, /nodes\[0\]: name: {"a":1}: a text/],
    [`${head}---\n${head}name: other\n`, /cluster\.yaml holds more than one document/],
    [`${head}nodes: [{os: linux, build: 1}]\n`, /nodes\[0\]: there is no "build" in a node/],
    [`${head}nodes: [{os: linux, windowsBuild: 20348}]\n`, /linux-1 is no Windows node/],
    [`${head}nodes: [{os: windows, windowsBuild: 7}]\n`, /nodes\[0\]: windowsBuild: 7: known are 17763/],
    [`${head}nodes: [{os: linux, name: A}]\n`, /node name "A"/],
    [`${head}nodes: [{os: linux, name: a}, {os: linux, name: a}]\n`, /nodes\[1\] \(a\): two are called a/],
    [`${head}linux: 1\nnodes: [{os: linux}]\n`, /nodes says which there are; linux says so, too/],
    [`${head}nodes: [{os: linux}]\n`, /windows says so, too/, '--windows', '2'],
    [`${head}linux: [\n`, /cluster\.yaml: YAML: line 4/],
  ];
  for (const [text, says, ...flags] of rows) assert.throws(() => told(text, ...flags), says, text);
});

test('a number where a text belongs is its text', () => {
  const { name, bindAddress } = told(`${head}name: 2024\nbindAddress: 0\n`).flags;
  assert.deepEqual([name, bindAddress], ['2024', '0']);
});

test('no registry is none', () => {
  assert.equal(told(`${head}registry: false\n`).flags['registry'], undefined);
});

test('a file that is not there is named, and what it is for; a document without text is none', () => {
  const command: Command = upCommand().action(() => {});
  const gone = join(folder, 'gone.yaml');
  assert.throws(() => applyConfig(command, gone), { message: `--config ${gone}: there is no such file` });
  assert.throws(() => applyConfig(command, folder), /: EISDIR/);
  assert.equal(told(`# mine\n---\n${head}linux: 2\n---\n`).flags['linux'], 2);
});
