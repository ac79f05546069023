// Makes sure that a container's image is on the node, by its pull policy, with back-off.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { formatGoDuration } from '../../base/go-duration.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { parseImageReference } from '../../component-helpers/image-reference.ts';
import type { ImageService } from '../../rpc-api/cri.ts';
import type { Image, PodSandboxConfig } from '../../rpc-api/generated/cri-v1.ts';
import { isGrpcError } from '../../wire/grpc-client.ts';
import type { PullDurations } from '../metrics/pull-durations.ts';
import { type AnyContainer, failureText } from '../pod-format.ts';
import type { ImageAccess } from './image-access.ts';
import type { PullCredential } from './image-credentials.ts';
import type { PullFailure, PullFailures } from './pull-failures.ts';
import { StartError } from './start-error.ts';

export interface ImagePullerDeps {
  readonly images: ImageService;
  readonly clock: Clock;
  readonly event: (
    pod: Pod,
    event: { type: 'Normal' | 'Warning'; reason: string; message: string; container: string },
  ) => void;
  /** Credentials of the pod's imagePullSecrets for an image. */
  readonly credentials: (pod: Pod, image: string) => Promise<readonly PullCredential[]>;
  readonly access: ImageAccess;
  readonly durations: Pick<PullDurations, 'pulled'>;
}

/** Who wants an image, for as long as the signal does not say otherwise. */
export interface ImageWish {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly sandboxConfig: PodSandboxConfig;
  /** The pod's own: nothing of it is kept here once the pod has gone. */
  readonly failures: PullFailures;
  readonly signal: AbortSignal;
}

export interface ImagePuller {
  /** The image's entry; throws StartError, or the signal's reason. */
  ensure(wish: ImageWish): Promise<Image>;
}

interface Pulled {
  readonly ref: string;
  /** Which of the credentials opened the registry. */
  readonly index: number;
}

const pullPolicyOf = (container: AnyContainer, tag: string): string =>
  container.imagePullPolicy ?? (tag === 'latest' ? 'Always' : 'IfNotPresent');

interface PullInput {
  readonly credentials: readonly PullCredential[];
  readonly image: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly signal: AbortSignal;
}

type Pull = (input: PullInput) => Promise<Pulled>;
type Say = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

const sayer =
  (deps: ImagePullerDeps, { pod, container }: ImageWish): Say =>
  (type, reason, message) =>
    deps.event(pod, { type, reason, message, container: container.name });

/** With one of these credentials after the other. */
const pullWithAny =
  (images: ImageService): Pull =>
  async ({ credentials, image, sandboxConfig, signal }) => {
    const tries = credentials.length === 0 ? [undefined] : credentials.map(({ auth }) => auth);
    let failure: unknown;
    for (const [index, auth] of tries.entries()) {
      signal.throwIfAborted();
      try {
        return { ref: await images.pullImage({ image }, auth, sandboxConfig, signal), index };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };

interface SharedPull {
  readonly work: Promise<Pulled>;
  readonly cancel: AbortController;
  waiting: number;
}

/** Two containers that want one image share one pull, unless they have not the same credentials. It ends when nobody wants it any more. */
function shared(pull: Pull): Pull {
  const underWay = new Map<string, SharedPull>();

  function begin(key: string, input: PullInput): SharedPull {
    const cancel = new AbortController();
    const begun: SharedPull = {
      cancel,
      waiting: 0,
      work: pull({ ...input, signal: cancel.signal }).finally(() => forget(key, begun)),
    };
    underWay.set(key, begun);
    return begun;
  }
  function forget(key: string, ended: SharedPull): void {
    // Who comes after the last one has left begins a pull of its own, although this one may not have ended yet.
    if (underWay.get(key) === ended) underWay.delete(key);
  }

  return async (input) => {
    const { image, credentials, signal } = input;
    const key = JSON.stringify([image, credentials.map(({ auth }) => auth)]);
    const joined = underWay.get(key) ?? begin(key, input);
    joined.waiting++;
    try {
      return await untilAborted(joined.work, signal);
    } finally {
      joined.waiting--;
      if (joined.waiting === 0) {
        forget(key, joined);
        joined.cancel.abort();
      }
    }
  };
}

/** Of what an image says that its programs run as; a Windows account and its domain have at most 360 characters, too. */
const maxUserBytes = 512;

/** The runtime tells the users of all images in one list, which a few that are megabytes long would make too long to be sent. */
async function refuseLongUser(
  images: ImageService,
  image: string,
  { id = '', username }: Image,
): Promise<void> {
  const bytes = Buffer.byteLength(username ?? '');
  if (bytes <= maxUserBytes) return;
  await images.removeImage({ image: id });
  throw new Error(
    `image "${image}" was removed: the user in its configuration has ${bytes} bytes, at most ${maxUserBytes} are allowed`,
  );
}

/** The runtime said nothing of how it ended. */
const isUnheard = (error: unknown): boolean =>
  ['Cancelled', 'DeadlineExceeded', 'Unavailable'].some((code) => isGrpcError(error, code));

/** The image is on record as its pullers' before and after. Runs to its end, whoever waits for it: each intent has one. */
async function recordedPull(
  { images, access }: ImagePullerDeps,
  pull: Pull,
  input: PullInput,
): Promise<Image> {
  const { image, credentials, signal } = input;
  await access.intend(image);
  if (signal.aborted) {
    await access.failed(image);
    throw signal.reason;
  }
  let isPulled = false;
  try {
    const { ref, index } = await pull(input);
    isPulled = true;
    const there = await images.imageStatus({ image: ref });
    if (!there) throw new Error(`image ${ref} is not there after it was pulled`);
    await refuseLongUser(images, image, there);
    await access.pulled(image, there, credentials[index]);
    return there;
  } catch (error) {
    const isOpen = isPulled || signal.aborted || isUnheard(error);
    await (isOpen ? access.abandoned(image) : access.failed(image));
    throw error;
  }
}

const recorded =
  (deps: ImagePullerDeps, pull: Pull) =>
  async ({ pod, container, sandboxConfig, signal }: ImageWish): Promise<Image> => {
    const image = container.image ?? '';
    const credentials = await untilAborted(deps.credentials(pod, image), signal);
    return untilAborted(recordedPull(deps, pull, { credentials, image, sandboxConfig, signal }), signal);
  };

/** Throws StartError while it is too early for another try. */
function refuseEarly(image: string, last: PullFailure | undefined, say: Say): void {
  if (!last || last.remainingMs <= 0) return;
  const message = `Back-off pulling image "${image}"`;
  say('Normal', 'BackOff', message);
  say('Warning', 'Failed', 'Error: ImagePullBackOff');
  throw new StartError('ImagePullBackOff', `${message}: ErrImagePull: ${last.message}`, last.remainingMs);
}

/** What failed for a pod is tried again ever later. */
function withBackOff(
  deps: ImagePullerDeps,
  pull: ReturnType<typeof recorded>,
): (wish: ImageWish) => Promise<Image> {
  return async (wish) => {
    const { container, failures, signal } = wish;
    const image = container.image ?? '';
    const say = sayer(deps, wish);
    refuseEarly(image, failures.last(image, deps.clock.monotonic()), say);
    say('Normal', 'Pulling', `Pulling image "${image}"`);
    const began = deps.clock.monotonic();
    try {
      const there = await pull(wish);
      failures.succeeded(image);
      const tookMs = deps.clock.monotonic() - began;
      deps.durations.pulled(there.size ?? 0, tookMs);
      const took = formatGoDuration(Math.round(tookMs));
      say(
        'Normal',
        'Pulled',
        `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${there.size ?? 0} bytes.`,
      );
      return there;
    } catch (error) {
      signal.throwIfAborted(); // nobody waits for it: that is no failure
      const message = failureText(error);
      say('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
      say('Warning', 'Failed', 'Error: ErrImagePull');
      const delayMs = failures.failed(image, message, deps.clock.monotonic());
      // The next look, a moment later, shows the back-off, as upstream's next sync does.
      throw new StartError('ErrImagePull', message, Math.min(delayMs, 5000));
    }
  };
}

/** Its tag, `` when it has none; throws StartError when it is no image's name. */
function tagOf(image: string, say: Say): string {
  const reference = parseImageReference(image);
  if (reference || /^(sha256:)?[0-9a-f]{64}$/.test(image)) return reference?.tag ?? '';
  const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`;
  say('Warning', 'InspectFailed', message);
  say('Warning', 'Failed', 'Error: InvalidImageName');
  throw new StartError('InvalidImageName', message, 60_000);
}

async function inspect(
  images: ImageService,
  image: string,
  say: Say,
  signal: AbortSignal,
): Promise<Image | undefined> {
  try {
    return await untilAborted(images.imageStatus({ image }), signal);
  } catch (error) {
    signal.throwIfAborted();
    const message = `Failed to inspect image "${image}": ${failureText(error)}`;
    say('Warning', 'InspectFailed', message);
    throw new StartError('ImageInspectError', message, 10_000);
  }
}

export function createImagePuller(deps: ImagePullerDeps): ImagePuller {
  const pullOrBackOff = withBackOff(deps, recorded(deps, shared(pullWithAny(deps.images))));
  return {
    ensure: async (wish) => {
      const { pod, container, signal } = wish;
      const image = container.image ?? '';
      const say = sayer(deps, wish);
      const policy = pullPolicyOf(container, tagOf(image, say));
      if (policy === 'Always') return pullOrBackOff(wish);
      const there = await inspect(deps.images, image, say, signal);
      const credentials = (): Promise<readonly PullCredential[]> => deps.credentials(pod, image);
      if (there && !(await untilAborted(deps.access.mustPull(image, there, credentials), signal))) {
        say(
          'Normal',
          'Pulled',
          `Container image "${image}" already present on machine and can be accessed by the pod`,
        );
        return there;
      }
      if (policy !== 'Never') return pullOrBackOff(wish);
      // As upstream also of one that is there, but not for this pod.
      const message = `Container image "${image}" is not present with pull policy of Never`;
      say('Warning', 'ErrImageNeverPull', message);
      say('Warning', 'Failed', 'Error: ErrImageNeverPull');
      throw new StartError('ErrImageNeverPull', message, 60_000);
    },
  };
}
