// The real kubectl, as a user runs it.

import { ensureKubectl, ensureOldKubectl } from '../../src/cmd/setup/kubectl.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';

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
  apply(manifest: string): Promise<string>;
}

const quiet = (): void => undefined;

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
  return {
    path,
    env,
    run,
    ok,
    json: async <T>(args: readonly string[]) => JSON.parse(await ok([...args, '-o', 'json'])) as T,
    apply: (manifest) => ok(['apply', '-f', '-'], { input: manifest }),
  };
}
