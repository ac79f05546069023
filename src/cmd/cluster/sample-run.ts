// The sample of `npm start`: a Windows and a Linux program that talk to each other through Services.
import { join } from 'node:path';
import type { Processes } from '../../os/processes.ts';
import type { Progress } from '../progress.ts';
import { packageRoot } from '../setup/package-root.ts';

export interface SampleRun {
  readonly processes: Processes;
  readonly kubectl: string;
  readonly kubeconfig: string;
  readonly runtime: 'containerd' | 'simulated';
}

/** What was asked, as the user could type it, and what came back. */
export interface Shown {
  readonly command: string;
  readonly output: string;
}

const rolloutTimeout = '120s';
const deployments = ['linux-web', 'windows-web'];

/** Applies examples/hello.yaml, waits for it, and calls one program from the other, both ways. */
export async function runSample(run: SampleRun, progress: Progress): Promise<Shown[]> {
  const kubectl = async (...args: string[]): Promise<string> => {
    const result = await run.processes.run(run.kubectl, args, {
      env: { KUBECONFIG: run.kubeconfig },
      timeoutMs: 180_000,
    });
    if (result.code !== 0) {
      const said = result.stderr.toString().trim();
      throw new Error(
        `kubectl ${args.join(' ')}: ${said}\nnext step: kubectl describe pods; kubectl get events`,
      );
    }
    return result.stdout.toString().replaceAll('\r\n', '\n').trimEnd();
  };
  const show = async (...args: string[]): Promise<Shown> => ({
    command: `kubectl ${args.map((arg) => (/[\s()']/.test(arg) ? JSON.stringify(arg) : arg)).join(' ')}`,
    output: await kubectl(...args),
  });
  await progress.step('a Windows web server and a Linux web server, each behind a Service', async () => {
    await kubectl('apply', '-f', join(packageRoot(), 'examples/hello.yaml'));
    for (const name of deployments)
      await kubectl('rollout', 'status', `deployment/${name}`, `--timeout=${rolloutTimeout}`);
  });
  const shown = [await show('get', 'nodes', '-o', 'wide'), await show('get', 'pods', '-o', 'wide')];
  if (run.runtime === 'simulated') return shown;
  return progress.step('they call each other by name', async () => [
    ...shown,
    await show('exec', 'deploy/linux-web', '--', 'wget', '-qO-', 'http://windows-web/'),
    await show(
      'exec',
      'deploy/windows-web',
      '--',
      'node',
      '-e',
      "fetch('http://linux-web/').then(r => r.text()).then(console.log)",
    ),
    await show('exec', 'deploy/windows-web', '--', 'cmd', '/c', 'ver'),
  ]);
}
