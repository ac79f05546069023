// Puts images into containerd's store, where its CRI finds them.
import { constants } from 'node:fs';
import { chmod, copyFile, link, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import type { Processes } from '../os/processes.ts';
import { announceBlob, blobFile } from '../rpc-api/containerd-content.ts';
import { type Lease, type LeasePlace, withLease } from '../rpc-api/containerd-leases.ts';
import type { GrpcClient } from '../wire/grpc-client.ts';
import { checkImageArchive } from './check-archive.ts';
import { criNamespace, ctr } from './ctr.ts';
import type { ImageForNode, KeptBlob } from './image-for-node.ts';

export interface LoadOptions {
  readonly processes: Processes;
  /** containerd's socket. */
  readonly address: string;
  readonly file: string;
  /** `windows/amd64` also imports and unpacks on Linux; without it such an image is left out. */
  readonly platform: string;
  /** True for an archive that was checked already or that we made ourselves. */
  readonly checked?: boolean;
}

/** Checks, imports and unpacks; returns the names of the images. Throws ImageError for an archive that is not to be trusted. */
export async function loadImage(options: LoadOptions): Promise<readonly string[]> {
  const { processes, address, file, platform } = options;
  if (!/^(linux|windows)\/[a-z0-9]+$/.test(platform))
    throw new Error(`invalid platform ${JSON.stringify(platform)}`);
  if (options.checked !== true) await checkImageArchive(file);
  const args = ['images', 'import', '--platform', platform, file];
  const output = await ctr(processes, address, args, { timeoutMs: 600_000 });
  return [...output.matchAll(/^unpacking (\S+) \(/gm)].map((match) => match[1] ?? '');
}

export interface LoadKept extends Omit<LoadOptions, 'file' | 'checked'>, Omit<LeasePlace, 'namespace'> {
  readonly grpc: GrpcClient;
  /** containerd's root folder. */
  readonly contentRoot: string;
  readonly image: ImageForNode;
  /** A folder of ours on the same disk, for the time being. */
  readonly work: string;
}

/** The file itself, if both are on one disk: what several nodes have is there once. */
async function place(contentRoot: string, { digest, file }: KeptBlob): Promise<void> {
  const target = blobFile(contentRoot, digest);
  await mkdir(dirname(target), { recursive: true });
  try {
    await link(file, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'EXDEV' && code !== 'EMLINK') throw error;
    const copy = `${target}.new`;
    await copyFile(file, copy, constants.COPYFILE_FICLONE);
    await chmod(copy, 0o444);
    await rename(copy, target);
  }
}

/** What lies there before anybody has announced it may be collected in between. */
async function announceInPlace(contentRoot: string, layer: KeptBlob, lease: Lease): Promise<void> {
  const announce = async (): Promise<void> => {
    await place(contentRoot, layer);
    await announceBlob(lease, layer);
  };
  await announce().catch(announce);
}

async function writeDocuments(documents: ImageForNode['documents'], file: string): Promise<void> {
  const tar = pack();
  for (const [name, bytes] of documents) tar.entry({ name }, bytes);
  tar.finalize();
  await writeFile(file, await buffer(tar), { mode: 0o600 });
}

/**
 * The layers of an image, which were checked, are linked into containerd's store and made known to it; what it imports is the few
 * documents about them. They are not read again but to be unpacked. Returns the names of the images.
 */
export async function loadKept(options: LoadKept): Promise<readonly string[]> {
  const { clock, contentRoot, grpc, image, random, work, ...common } = options;
  const file = join(work, 'documents.tar');
  await mkdir(work, { recursive: true });
  await writeDocuments(image.documents, file);
  try {
    // No image names a layer before the documents are there: meanwhile the lease does.
    return await withLease(grpc, { namespace: criNamespace, clock, random }, async (lease) => {
      for (const layer of image.layers) await announceInPlace(contentRoot, layer, lease);
      return loadImage({ ...common, file, checked: true });
    });
  } finally {
    await rm(file, { force: true });
  }
}
