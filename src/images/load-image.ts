// Puts an image archive into containerd's store, where its CRI finds it.
import { type Processes, runOrThrow } from '../os/processes.ts';
import { checkImageArchive } from './check-archive.ts';

export interface LoadOptions {
  readonly processes: Processes;
  /** containerd's socket. */
  readonly address: string;
  readonly file: string;
  /** `windows/amd64` also imports and unpacks on Linux; without it such an image is left out. */
  readonly platform: string;
  /** True for an archive that was checked already or that we made ourselves. */
  readonly checked?: boolean;
  /** Default `ctr`, looked up in PATH. */
  readonly ctr?: string;
}

/** Checks, imports and unpacks; returns the names of the images. Throws ImageError for an archive that is not to be trusted. */
export async function loadImage(options: LoadOptions): Promise<readonly string[]> {
  const { processes, address, file, platform, ctr = 'ctr' } = options;
  if (!/^(linux|windows)\/[a-z0-9]+$/.test(platform))
    throw new Error(`invalid platform ${JSON.stringify(platform)}`);
  if (options.checked !== true) await checkImageArchive(file);
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
