// Images on the nodes of a running cluster: what fits a node is loaded into its containerd.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { fullNameOf, parseImageReference } from '../../component-helpers/image-reference.ts';
import { matchWindowsImage } from '../../component-helpers/windows-image-match.ts';
import { archiveBytes } from '../../images/archive-entries.ts';
import { checkArchiveFile } from '../../images/archive-file.ts';
import { isReserved, refuseReserved } from '../../images/archive-names.ts';
import { type CheckedArchive, type CheckedImage, checkImageArchive } from '../../images/check-archive.ts';
import { ctr } from '../../images/ctr.ts';
import { type HeldImage, heldImage } from '../../images/held-image.ts';
import { type ImageForNode, imageForNode } from '../../images/image-for-node.ts';
import { ImageError, type NodePlatform } from '../../images/image-index.ts';
import { loadImage, loadKept } from '../../images/load-image.ts';
import { type SampleImage, sampleImages } from '../../images/sample-images.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { createGrpcClient } from '../../wire/grpc-client.ts';
import type { Progress } from '../progress.ts';
import { clusterPaths, type NodeRecord, workableCluster } from './cluster-state.ts';
import { nodeLayout } from './node-layout.ts';
import { startTicksOf } from './own-processes.ts';
import { nativeDir } from './prepare-machine.ts';

export interface NodeImage {
  readonly node: string;
  readonly image: string;
}

interface Where {
  readonly name: string;
  readonly home: string;
}

interface Target extends NodeRecord {
  /** containerd's socket. */
  readonly address: string;
  /** containerd's root folder. */
  readonly contentRoot: string;
}

function targetsOf(where: Where): Target[] {
  const state = workableCluster(where);
  if (state.runtime !== 'containerd')
    throw new Error(`cluster ${JSON.stringify(where.name)} has the simulated runtime: it needs no images`);
  const paths = clusterPaths(where.home, where.name);
  return state.nodes.map((node) => {
    const { containerdRoot, containerdSocket } = nodeLayout(paths.node(node.name));
    return { ...node, address: containerdSocket, contentRoot: containerdRoot };
  });
}

/** All have ended when it throws: no node works on with what its caller then takes away. */
async function onEach(
  nodes: readonly Target[],
  imagesOf: (node: Target) => Promise<readonly string[]>,
): Promise<NodeImage[]> {
  const ended = await Promise.allSettled(nodes.map(imagesOf));
  const failures = ended.flatMap((one, at) =>
    one.status === 'rejected' ? [`${nodes[at]!.name}: ${(one.reason as Error).message}`] : [],
  );
  if (failures.length > 0) throw new Error(failures.join('\n'));
  return ended.flatMap((one, at) =>
    one.status === 'fulfilled' ? one.value.map((image) => ({ node: nodes[at]!.name, image })) : [],
  );
}

/** Why no platform of the image runs on the node; undefined when one does. */
function reasonAgainst(
  image: CheckedImage,
  node: Pick<NodeRecord, 'os' | 'windowsBuild'>,
): string | undefined {
  const sameSystem = image.platforms.filter(
    (platform) => platform.os === node.os && platform.architecture === 'amd64',
  );
  if (sameSystem.length === 0) {
    return `it is for ${image.platforms.map((platform) => `${platform.os}/${platform.architecture}`).join(', ') || 'no known platform'}, the node is ${node.os}/amd64`;
  }
  if (node.os === 'linux') return undefined;
  const matches = sameSystem.map((platform) => matchWindowsImage(node.windowsBuild ?? 0, platform.osVersion));
  const refused = matches.flatMap((match) => (match.fits ? [] : [match.reason]));
  return refused.length < matches.length ? undefined : refused[0];
}

/** On what was loaded here: a node that comes later gets it, and nothing that can be pulled. */
const loadedLabel = 'porthole.dev/loaded';

async function labelled(address: string, names: readonly string[]): Promise<readonly string[]> {
  // Each node has the sandbox's image of its own.
  for (const name of names.filter((one) => !isReserved(one)))
    await ctr(linuxProcesses, address, ['images', 'label', name, `${loadedLabel}=true`]);
  return names;
}

/** `file` is checked or of our own making. */
async function importInto(node: Target, file: string): Promise<readonly string[]> {
  const { address } = node;
  const platform = `${node.os}/amd64`;
  return labelled(
    address,
    await loadImage({ processes: linuxProcesses, address, file, platform, checked: true }),
  );
}

const platformOf = ({ os, windowsBuild = 0 }: Target): NodePlatform => ({
  os,
  architecture: 'amd64',
  build: windowsBuild,
});

/** Of an index only what the node runs, which is what was checked: containerd, on Linux, knows nothing of Windows versions. */
async function loadInto(node: Target, image: ImageForNode, work: string): Promise<readonly string[]> {
  const { address, contentRoot } = node;
  const grpc = createGrpcClient(systemClock, `unix://${address}`);
  try {
    const names = await loadKept({
      processes: linuxProcesses,
      address,
      platform: `${node.os}/amd64`,
      grpc,
      clock: systemClock,
      random: systemRandom,
      contentRoot,
      image,
      work: join(work, node.name),
    });
    return await labelled(address, names);
  } finally {
    grpc.close();
  }
}

/** What a load that was interrupted left; its process stands in the name. */
async function removeAbandoned(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = /^load-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && startTicksOf(Number(pid)) === undefined)
      await rm(join(directory, name), { recursive: true, force: true });
  }
}

/** On the disk of the nodes, so that they can share what is in it; nothing of it stays. */
async function withWorkFolder<T>(directory: string, use: (work: string) => Promise<T>): Promise<T> {
  await removeAbandoned(directory);
  const work = await mkdtemp(join(directory, `load-${process.pid}-`));
  try {
    return await use(work);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

export interface LoadArchive extends Where {
  readonly archive: string;
  /** Load into this node even when its Windows build does not fit: to see what happens. */
  readonly node?: string | undefined;
  /** The image's name, instead of what the archive says. */
  readonly tag?: string | undefined;
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);

/** Reads it once: what is kept in `work` is what was checked. */
async function checkInto(archive: string, work: string, progress: Progress): Promise<CheckedArchive> {
  checkArchiveFile(archive);
  const whole = megabytes(archiveBytes(archive));
  return progress.step('the archive is sound', (detail) =>
    checkImageArchive(archive, {
      keepLayersIn: work,
      onRead: (bytes) => detail(`${megabytes(bytes)} of ${whole} MB`),
    }),
  );
}

/** Throws Error with the next step: a pod names an image by its whole name, so one without is nobody's. */
function nameFor({ archive, tag }: LoadArchive, { names }: CheckedImage): string | undefined {
  const several = new Set(names).size;
  if (tag === undefined && several > 0) return undefined;
  if (tag === undefined)
    throw Object.assign(new Error('the archive gives its image no name, or a tag without a repository'), {
      next: `porthole image load ${archive} --tag <name>:<tag>`,
    });
  if (parseImageReference(tag) === undefined)
    throw new Error(`--tag ${JSON.stringify(tag)}: want the name of an image, such as example.com/app:1`);
  if (several > 1)
    throw new Error(
      `--tag names one image, and the archive has ${several}: ${[...new Set(names)].join(', ')}`,
    );
  refuseReserved([tag, fullNameOf(tag)]);
  return fullNameOf(tag);
}

/** Throws when the archive is broken or hostile, or when no node can run what is in it. */
export async function loadArchive(options: LoadArchive, progress: Progress): Promise<NodeImage[]> {
  const targets = targetsOf(options).filter(
    (node) => options.node === undefined || node.name === options.node,
  );
  if (targets.length === 0)
    throw new Error(`cluster ${JSON.stringify(options.name)} has no node ${JSON.stringify(options.node)}`);
  const directory = clusterPaths(options.home, options.name).root;
  return withWorkFolder(directory, async (work) => {
    const image = await checkInto(options.archive, work, progress);
    const tag = nameFor(options, image);
    const judged = targets.map((node) => ({
      node,
      reason: options.node === undefined ? reasonAgainst(image, node) : undefined,
    }));
    const fitting = judged.filter(({ reason }) => reason === undefined).map(({ node }) => node);
    const refusals = judged.flatMap(({ node, reason }) =>
      reason === undefined ? [] : [`not into ${node.name}: ${reason}`],
    );
    if (fitting.length === 0) throw new Error(`no node can run this image\n${refusals.join('\n')}`);
    const names = fitting.map((node) => node.name).join(', ');
    const loaded = await progress.step(`loaded into ${names}`, () =>
      onEach(fitting, (node) => loadInto(node, imageForNode(image, platformOf(node), tag), work)),
    );
    for (const refusal of refusals) progress.say(`  ${refusal}`);
    return loaded;
  });
}

const fits = (image: SampleImage, node: NodeRecord): boolean =>
  image.platform.startsWith(`${node.os}/`) &&
  (node.os === 'linux' || matchWindowsImage(node.windowsBuild ?? 0, image.osVersion).fits);

export async function buildSamples(
  where: Where & { readonly cache: string },
  progress: Progress,
): Promise<NodeImage[]> {
  const targets = targetsOf(where);
  const windowsBuilds = [...new Set(targets.flatMap((node) => node.windowsBuild ?? []))];
  const images = await progress.step('sample images are built', (detail) =>
    sampleImages({
      processes: linuxProcesses,
      cacheDir: where.cache,
      nativeDir: nativeDir(),
      windowsBuilds,
      onProgress: detail,
    }),
  );
  return progress.step('sample images are loaded', async (detail) => {
    const loaded: NodeImage[] = [];
    for (const node of targets) {
      for (const image of images.filter((one) => fits(one, node))) {
        detail(`${image.reference} into ${node.name}`);
        await importInto(node, image.file);
        loaded.push({ node: node.name, image: image.reference });
      }
    }
    return loaded;
  });
}

/** What the nodes have, without the sandbox's digests. */
export async function listImages(where: Where): Promise<NodeImage[]> {
  return onEach(targetsOf(where), async ({ address }) => {
    const text = await ctr(linuxProcesses, address, ['images', 'ls', '-q']);
    return text.split('\n').filter((name) => name !== '' && !name.startsWith('sha256:'));
  });
}

/** What was loaded into a node, as `ctr images ls` prints it: name, type and digest first. */
async function loadedImages({ address }: Target): Promise<HeldImage[]> {
  const table = await ctr(linuxProcesses, address, ['images', 'ls', `labels."${loadedLabel}"==true`]);
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/))
    .flatMap(([name, , digest]) => (name && digest ? [{ name, digest }] : []));
}

/**
 * What was loaded into other nodes of its kind comes to a node that was added: their layers are linked, not copied. Throws Error
 * with the next step when one does not come; the others do.
 */
export async function shareLoadedImages(
  where: Where & { readonly node: string },
  progress: Progress,
): Promise<void> {
  const targets = targetsOf(where);
  const node = targets.find(({ name }) => name === where.node)!;
  const alike = targets.filter(
    (one) => one !== node && one.os === node.os && one.windowsBuild === node.windowsBuild,
  );
  const missing = new Map<string, () => ImageForNode>();
  for (const one of alike)
    for (const held of await loadedImages(one))
      missing.set(held.name, () => heldImage(one.contentRoot, held, platformOf(node)));
  for (const { name } of await loadedImages(node)) missing.delete(name);
  if (missing.size === 0) return;
  const what = missing.size === 1 ? 'the image that was' : `the ${missing.size} images that were`;
  await progress.step(`${what} loaded into others of its kind`, async (detail) =>
    withWorkFolder(clusterPaths(where.home, where.name).root, async (work) => {
      const failures: string[] = [];
      let cause: unknown;
      for (const [name, image] of missing) {
        detail(name);
        try {
          await loadInto(node, image(), work);
        } catch (error) {
          cause ??= error;
          failures.push(`${name} does not come to ${node.name}: ${(error as Error).message}`);
        }
      }
      if (failures.length > 0)
        throw Object.assign(new ImageError(failures.join('\n'), cause), {
          next: `porthole image load <archive> --name ${where.name} --node ${node.name}`,
        });
    }),
  );
}
