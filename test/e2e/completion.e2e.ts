// TAB in the real shells, typed on a terminal: commands, flags, files, and names of clusters and nodes.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths, writeClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { simulatedState } from '../../src/cmd/cluster/testing/simulated-state.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { onTerminal, type Typed } from '../harness/terminal.ts';

const limit = { timeout: 120_000 };
const scratch = scratchDirectory('completion');
const env = {
  HOME: scratch.path,
  PATH: `${scratch.path}/bin:${process.env['PATH']}`,
  PORTHOLE_HOME: join(scratch.path, 'home'),
  PORTHOLE_CACHE: portholeCache(),
  TERM: 'dumb',
};

before(async () => {
  mkdirSync(join(scratch.path, 'bin'));
  const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));
  symlinkSync(launcher, join(scratch.path, 'bin/porthole'));
  writeFileSync(join(scratch.path, 'an-image.tar'), '');
  const nodes = [{ name: 'windows-7', os: 'windows', ip: '', windowsBuild: 20348 }] as const;
  writeClusterState(clusterPaths(env.PORTHOLE_HOME, 'nightly'), {
    ...simulatedState,
    name: 'nightly',
    nodes,
  });
  // So that the first TAB does not wait for a bundle.
  assert.equal((await linuxProcesses.run(launcher, ['version'], { env })).code, 0);
}, limit);
after(() => scratch.remove());

/** What is typed up to TAB, and what stands there then. */
const rows: readonly [string, RegExp][] = [
  ['porthole kubec', /porthole kubeconfig /],
  ['porthole down --ke', /porthole down --keep /],
  ['porthole down --name ni', /porthole down --name nightly /],
  ['porthole down --name=ni', /porthole down --name=nightly/],
  ['porthole node remove --name nightly wi', /node remove --name nightly windows-7 /],
  ['porthole up --runtime sim', /porthole up --runtime simulated /],
  ['porthole image load an-', /porthole image load an-image\.tar /],
];
const clearLine = '\u0015';

/** Types each row at a prompt, and goes on when the shell has completed it. */
async function typeAll(shell: readonly string[], source: string): Promise<void> {
  const atPrompt = (keys: string): Typed => ({ cue: /# (\u001b\[\?2004h)?$/, keys });
  const lines = rows.flatMap(([typed, completed]) => [
    atPrompt(`${typed}\t`),
    { cue: completed, keys: `${clearLine}\r` },
  ]);
  const steps = [atPrompt(`cd ${scratch.path} && ${source}\r`), ...lines, atPrompt('exit\r')];
  await onTerminal(shell, steps, { env, timeoutMs: 60_000 });
}

test('bash', limit, () =>
  typeAll(['bash', '--norc', '--noprofile', '-i'], 'source <(porthole completion bash)'),
);

test('zsh', limit, () =>
  typeAll(['zsh', '-f', '-i'], 'autoload -Uz compinit && compinit -u && source <(porthole completion zsh)'),
);

test('fish', limit, async () => {
  for (const [typed, completed] of rows) {
    const program = `porthole completion fish | source; complete -C '${typed}'`;
    const { stdout, stderr } = await linuxProcesses.run('fish', ['--no-config', '-c', program], {
      env,
      cwd: scratch.path,
    });
    const [offered = '', ...more] = stdout.toString().trimEnd().split('\n');
    assert.deepEqual(more, [], typed);
    const words = typed.split(' ');
    words.splice(-1, 1, offered.split('\t')[0]!);
    assert.match(`${words.join(' ')} `, completed, `${typed}: ${stdout}${stderr}`);
  }
});
