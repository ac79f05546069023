// The README's "What next", word for word, beside the cluster of `npm start`: two clusters are up, and both answer.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { RunResult } from '../../src/os/processes.ts';
import { kubectlFor } from '../harness/kubectl.ts';
import { machineTraces } from '../harness/machine-traces.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 540_000 };
const root = fileURLToPath(new URL('../..', import.meta.url));
const home = scratchDirectory('next');
const env = { PORTHOLE_HOME: home.path, PORTHOLE_CACHE: portholeCache() };
const porthole = (...args: string[]): Promise<RunResult> =>
  linuxProcesses.run(join(root, 'bin/porthole'), args, { env, timeoutMs: 300_000, cwd: root });

/** The commands of the block below the heading, without their remarks. */
function commandsOf(heading: string): string[] {
  const text = readFileSync(join(root, 'README.md'), 'utf8').split(`## ${heading}\n`)[1] ?? '';
  const block = /```sh\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  return block.split('\n').flatMap((line) => line.replace(/ *#.*/, '').trim() || []);
}

let found: Record<string, string[]>;
before(async () => {
  found = await machineTraces([]);
}, limit);
after(async () => {
  for (const name of ['big', 'default']) await porthole('down', '--name', name);
  home.remove();
}, limit);

test(
  "README's What next: a second cluster comes and goes beside the first, and both answer by name",
  limit,
  async () => {
    const started = await porthole('start');
    assert.equal(started.code, 0, started.stderr.toString());
    const kubeconfig = (await porthole('kubeconfig', '--path')).stdout.toString().trim();
    const first = await kubectlFor(kubeconfig);
    let answers = 0;
    const bothAnswer = async (): Promise<void> => {
      for (let i = 0; i < 5; i++) {
        const windows = ['exec', 'deploy/linux-web', '--', 'wget', '-qO-', 'http://windows-web/'];
        assert.match(await first.ok(windows), /Hello from a Windows container/);
        answers++;
      }
    };
    const commands = commandsOf('What next');
    assert.ok(commands.length >= 5, commands.join('\n'));
    const ran: string[] = [];
    for (const command of commands) {
      await bothAnswer();
      if (!command.startsWith('porthole ')) continue; // the shell's own, and a prompt for a person
      const words = command.split(/\s+/).slice(1);
      if (words.includes('my-windows-image.tar')) {
        // the reader's own image: here it is one that is not there
        const result = await porthole(...words);
        assert.notEqual(result.code, 0);
        assert.match(result.stderr.toString(), /my-windows-image\.tar/);
      } else {
        const result = await porthole(...words);
        assert.equal(result.code, 0, `${command}: ${result.stderr}`);
      }
      ran.push(words.slice(0, 2).join(' '));
    }
    await bothAnswer();
    assert.deepEqual(ran, ['up --name', 'image load', 'down --name']);
    console.log(`${answers} answers by name while a second cluster came and went`);
    const stopped = await porthole('stop');
    assert.equal(stopped.code, 0, stopped.stderr.toString());
    assert.deepEqual(readdirSync(home.path), []);
    assert.equal(existsSync('/run/porthole'), false);
    assert.deepEqual(await machineTraces([]), found);
  },
);
