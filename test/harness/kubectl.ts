// The real kubectl, as a user runs it.

import { ensureKubectl, ensureOldKubectl } from '../../src/cmd/setup/kubectl.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type EventuallyOptions, eventually } from './eventually.ts';

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunKubectl {
  readonly input?: string;
  readonly timeoutMs?: number;
}

export interface Kubectl {
  /** Path of the program. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** The whole outcome, whatever the code. */
  run(args: readonly string[], options?: RunKubectl): Promise<KubectlResult>;
  /** Standard output of a run that must succeed. */
  ok(args: readonly string[], options?: RunKubectl): Promise<string>;
  json<T>(args: readonly string[]): Promise<T>;
  /**
   * What `attempt` returns of the first state of an object for which it does not throw; its last error after the time. Watches (`get pod x -w`)
   * instead of asking again and again: to start kubectl costs more than most of what is waited for.
   */
  until<T, R>(
    object: readonly [kind: string, name: string, ...more: string[]],
    attempt: (state: T) => R,
    options?: EventuallyOptions,
  ): Promise<R>;
  apply(manifest: string): Promise<string>;
}

const quiet = (): void => undefined;

/** The first outcome of `attempt`, over states as `kubectl get -w -o json` prints them: one after another, each ending in a line of its own. */
async function firstThatHolds<T, R>(
  states: AsyncIterable<Buffer>,
  attempt: (state: T) => R,
): Promise<{ readonly value: R } | { readonly error: unknown }> {
  let text = '';
  let error: unknown;
  for await (const part of states) {
    text += part.toString();
    for (let end = text.indexOf('\n}\n'); end >= 0; end = text.indexOf('\n}\n')) {
      const state = JSON.parse(text.slice(0, end + 3)) as T;
      text = text.slice(end + 3);
      try {
        return { value: attempt(state) };
      } catch (failure) {
        error = failure;
      }
    }
  }
  return { error };
}

/** `version` 1.36 speaks WebSocket, 1.20 SPDY. */
export async function kubectlFor(kubeconfig: string, version: '1.36' | '1.20' = '1.36'): Promise<Kubectl> {
  const path =
    version === '1.36'
      ? (await ensureKubectl(linuxProcesses, portholeCache(), quiet)).kubectl
      : await ensureOldKubectl(linuxProcesses, portholeCache(), quiet);
  const env = { KUBECONFIG: kubeconfig, HOME: '/nonexistent' };
  const run: Kubectl['run'] = async (args, options = {}) => {
    const { code, stdout, stderr } = await linuxProcesses.run(path, args, { env, ...options });
    return { code, stdout: stdout.toString(), stderr: stderr.toString() };
  };
  const ok: Kubectl['ok'] = async (args, options) => {
    const { code, stdout, stderr } = await run(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  const watch = async <T, R>(
    [kind, name, ...more]: Parameters<Kubectl['until']>[0],
    attempt: (state: T) => R,
    until: number,
  ): Promise<R> => {
    const timeout = `--request-timeout=${Math.max(1, Math.ceil((until - performance.now()) / 1000))}s`;
    // By a selector: of `get pod x -w` kubectl shows what it got, watches from now on and leaves out the first event, and with it
    // whatever changed between the two.
    const object = [kind, '--field-selector', `metadata.name=${name}`, ...more];
    const child = linuxProcesses.spawn(path, ['get', ...object, '-o', 'json', '-w', timeout], { env });
    try {
      const said = child.stderr?.toArray();
      const outcome = await firstThatHolds(child.stdout!, attempt);
      if ('value' in outcome) return outcome.value;
      throw outcome.error ?? new Error(`kubectl get ${object.join(' ')}: ${(await said)?.join('')}`);
    } finally {
      child.kill('SIGKILL');
      await child.exited;
    }
  };
  const until: Kubectl['until'] = (object, attempt, options = {}) => {
    const end = performance.now() + (options.timeoutMs ?? 90_000);
    return eventually(() => watch(object, attempt, end), options);
  };
  return {
    path,
    env,
    run,
    ok,
    until,
    json: async <T>(args: readonly string[]) => JSON.parse(await ok([...args, '-o', 'json'])) as T,
    apply: (manifest) => ok(['apply', '-f', '-'], { input: manifest }),
  };
}
