// Puts an image archive into containerd's store, where its CRI finds it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Processes, runOrThrow } from '../os/processes.ts';
import { checkImageArchive } from './check-archive.ts';
import { rewriteArchive } from './plain-archive.ts';

export interface LoadOptions {
  readonly processes: Processes;
  /** containerd's socket. */
  readonly address: string;
  readonly file: string;
  /** `windows/amd64` also imports and unpacks on Linux; without it such an image is left out. */
  readonly platform: string;
  /** True for an archive that was checked and written anew already, or that we made ourselves. */
  readonly checked?: boolean;
  /** Default `ctr`, looked up in PATH. */
  readonly ctr?: string;
}

/** Checks, imports and unpacks; returns the names of the images. Throws ImageError for an archive that is not to be trusted. */
export async function loadImage(options: LoadOptions): Promise<readonly string[]> {
  const { file, platform } = options;
  if (!/^(linux|windows)\/[a-z0-9]+$/.test(platform))
    throw new Error(`invalid platform ${JSON.stringify(platform)}`);
  if (options.checked === true) return importArchive(options, file);
  await checkImageArchive(file);
  const work = await mkdtemp(join(tmpdir(), 'porthole-load-'));
  try {
    const plain = join(work, 'image.tar');
    await rewriteArchive(file, plain);
    return await importArchive(options, plain);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function importArchive(
  { processes, address, platform, ctr = 'ctr' }: LoadOptions,
  file: string,
): Promise<readonly string[]> {
  const args = [
    '--address',
    address,
    '--namespace',
    'k8s.io',
    'images',
    'import',
    '--platform',
    platform,
    file,
  ];
  const output = await runOrThrow(processes, ctr, args, { timeoutMs: 600_000 });
  return [...output.matchAll(/^unpacking (\S+) \(/gm)].map((match) => match[1] ?? '');
}
