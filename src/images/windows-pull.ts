// Pulls for a Windows node that is emulated: of an index the entry that its build runs. containerd, on Linux, chooses for Linux.
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { fullNameOf, parseImageReference, repositoryOf } from '../component-helpers/image-reference.ts';
import { withLease } from '../rpc-api/containerd-leases.ts';
import { createCri, type ImageService } from '../rpc-api/cri.ts';
import { type GrpcClient, GrpcError } from '../wire/grpc-client.ts';
import { criNamespace } from './ctr.ts';
import {
  ImageError,
  indexEntries,
  type ManifestEntry,
  type NodePlatform,
  selectManifest,
} from './image-index.ts';

export interface WindowsPullDeps {
  readonly node: NodePlatform;
  readonly grpc: GrpcClient;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>;
  readonly random: Pick<Random, 'uuid'>;
  /** A small blob of the node's content store; undefined for one that is large, or not there. */
  readonly readBlob: (digest: string) => Promise<Buffer | undefined>;
  /** Gives an image one more name, and takes that from another. */
  readonly tag: (from: string, to: string) => Promise<void>;
  /** Takes these names, and no other that their image has. */
  readonly untag: (names: readonly string[]) => Promise<void>;
}

type Asked = Parameters<ImageService['pullImage']>;

/** containerd's CRI hears of a new name by an event. */
const nameTimeoutMs = 30_000;
const lookEveryMs = 20;
const method = '/runtime.v1.ImageService/PullImage';
const noMatchText = 'no match for platform in manifest';

interface Names {
  readonly repository: string;
  /** As containerd keeps it. */
  readonly whole: string;
}

const namesOf = (image: string): Names | undefined =>
  parseImageReference(image) && { repository: repositoryOf(image), whole: fullNameOf(image) };

/** What a pull came to: an image, or none because an index has nothing for Linux. */
type Outcome = { readonly ref: string } | { readonly failure: GrpcError };

async function attempt(images: ImageService, asked: Asked): Promise<Outcome> {
  try {
    return { ref: await images.pullImage(...asked) };
  } catch (error) {
    if (error instanceof GrpcError && error.message.includes(noMatchText)) return { failure: error };
    throw error;
  }
}

/** Undefined for a layer. */
function parsed(bytes: Buffer | undefined): unknown {
  if (bytes?.toString('latin1', 0, 1) !== '{') return undefined;
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}

interface Index {
  readonly digest: string;
  readonly entries: readonly ManifestEntry[];
}

/** The first index among the blobs of a pull; undefined when it found a manifest at once. */
async function indexAmong(
  { readBlob }: WindowsPullDeps,
  digests: readonly string[],
): Promise<Index | undefined> {
  for (const digest of digests) {
    const entries = indexEntries(parsed(await readBlob(digest)));
    if (entries) return { digest, entries: entries.filter((entry) => !entry.isAttestation) };
  }
  return undefined;
}

/** Throws in containerd's words, with what there is. */
function choose(
  { node }: WindowsPullDeps,
  entries: readonly ManifestEntry[],
  names: Names,
  outcome: Outcome,
): string {
  try {
    return selectManifest(entries, node).digest;
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    const said =
      'failure' in outcome
        ? outcome.failure.message
        : `failed to pull and unpack image "${names.whole}": ${noMatchText}: not found`;
    throw new GrpcError(method, 'NotFound', `${said}: ${error.message}`);
  }
}

async function untilNames(
  images: ImageService,
  deps: WindowsPullDeps,
  name: string,
  isMeant: (id: string | undefined) => boolean,
): Promise<void> {
  const until = deps.clock.monotonic() + nameTimeoutMs;
  while (!isMeant((await images.imageStatus({ image: name }))?.id)) {
    if (deps.clock.monotonic() > until)
      throw new GrpcError(
        method,
        'DeadlineExceeded',
        `image ${name} was pulled, and is not known by its name`,
      );
    await deps.clock.sleep(lookEveryMs);
  }
}

/**
 * Of what was pulled for Linux the names that the pull made: the one asked for, the index's digest and the image's id. CRI
 * would take all that the image has: other people's too, who have the same image, or whose image an index only claims to name.
 */
async function unname(
  images: ImageService,
  deps: WindowsPullDeps,
  { repository, whole }: Names,
  { digest, ref }: { readonly digest: string; readonly ref: string },
): Promise<void> {
  await deps.untag([whole, `${repository}@${digest}`, ref]);
  await untilNames(images, deps, whole, (id) => id !== ref);
}

/** Under a lease: it knows which index was read, and nothing of it is collected before it has its name. */
async function pullChosen(
  images: ImageService,
  leased: { readonly images: ImageService; readonly content: () => Promise<readonly string[]> },
  deps: WindowsPullDeps,
  names: Names,
  [spec, ...rest]: Asked,
): Promise<string> {
  const outcome = await attempt(leased.images, [spec, ...rest]);
  const index = await indexAmong(deps, await leased.content());
  if (index === undefined) {
    if ('failure' in outcome) throw outcome.failure;
    return outcome.ref;
  }
  // An index for Linux as well: what was pulled is nothing for this node.
  if ('ref' in outcome) await unname(images, deps, names, { digest: index.digest, ref: outcome.ref });
  const chosen = `${names.repository}@${choose(deps, index.entries, names, outcome)}`;
  const ref = await leased.images.pullImage({ ...spec, image: chosen }, ...rest);
  await deps.tag(chosen, names.whole);
  await untilNames(images, deps, names.whole, (id) => id === ref);
  return ref;
}

/** The pull of what is for Linux moved a name that the node had: one that comes to nothing leaves it what it was. */
async function orAsBefore(
  images: ImageService,
  deps: WindowsPullDeps,
  whole: string,
  pull: () => Promise<string>,
): Promise<string> {
  const before = (await images.imageStatus({ image: whole }))?.id;
  try {
    return await pull();
  } catch (error) {
    const isMoved = before !== undefined && (await images.imageStatus({ image: whole }))?.id !== before;
    if (isMoved) {
      // CRI keeps each image by its id as well.
      await deps.tag(before, whole);
      await untilNames(images, deps, whole, (id) => id === before);
    }
    throw error;
  }
}

export const withWindowsIndexes = (images: ImageService, deps: WindowsPullDeps): ImageService => ({
  ...images,
  pullImage: async (...asked) => {
    const names = namesOf(asked[0].image ?? '');
    if (names === undefined) return images.pullImage(...asked);
    const place = { ...deps, namespace: criNamespace };
    return orAsBefore(images, deps, names.whole, () =>
      withLease(deps.grpc, place, ({ grpc, content }) =>
        pullChosen(images, { images: createCri(grpc).images, content }, deps, names, asked),
      ),
    );
  },
});
