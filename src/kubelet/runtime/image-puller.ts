// Makes sure that a container's image is on the node, by its pull policy, with back-off.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { formatGoDuration } from '../../base/go-duration.ts';
import type { ImageService } from '../../rpc-api/cri.ts';
import type { Image, PodSandboxConfig } from '../../rpc-api/generated/cri-v1.ts';
import { type AnyContainer, failureText } from '../pod-format.ts';
import type { ImageAccess } from './image-access.ts';
import type { PullCredential } from './image-credentials.ts';
import { parseImageReference } from './image-reference.ts';
import { RestartBackoff } from './restart-backoff.ts';

/** A container that can't start; `reason` is shown in its status, `retryMs` when to try again. */
export class StartError extends Error {
  readonly reason: string;
  readonly retryMs: number;
  constructor(reason: string, message: string, retryMs: number) {
    super(message);
    this.name = 'StartError';
    this.reason = reason;
    this.retryMs = retryMs;
  }
}

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
}

export interface ImagePuller {
  /** The image's entry; throws StartError. */
  ensure(pod: Pod, container: AnyContainer, sandboxConfig: PodSandboxConfig): Promise<Image>;
}

interface Pulled {
  readonly ref: string;
  /** Which of the credentials opened the registry. */
  readonly index: number;
}

const pullPolicyOf = (container: AnyContainer, tag: string): string =>
  container.imagePullPolicy ?? (tag === 'latest' ? 'Always' : 'IfNotPresent');

export function createImagePuller(deps: ImagePullerDeps): ImagePuller {
  const backoff = new RestartBackoff();
  const failures = new Map<string, { atMs: number; message: string }>();
  const underWay = new Map<string, Promise<Pulled>>();

  async function pullOnce(
    credentials: readonly PullCredential[],
    image: string,
    sandboxConfig: PodSandboxConfig,
  ): Promise<Pulled> {
    const tries = credentials.length === 0 ? [undefined] : credentials.map(({ auth }) => auth);
    let failure: unknown;
    for (const [index, auth] of tries.entries()) {
      try {
        return { ref: await deps.images.pullImage({ image }, auth, sandboxConfig), index };
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  /** Two containers that want one image share one pull, unless they have not the same credentials. */
  async function pullShared(
    credentials: readonly PullCredential[],
    image: string,
    sandboxConfig: PodSandboxConfig,
  ): Promise<Pulled> {
    const key = JSON.stringify([image, credentials.map(({ auth }) => auth)]);
    const known = underWay.get(key);
    if (known) return known;
    const work = pullOnce(credentials, image, sandboxConfig).finally(() => underWay.delete(key));
    underWay.set(key, work);
    return work;
  }

  /** The image is on record as its pullers' before and after. */
  async function pull(pod: Pod, image: string, sandboxConfig: PodSandboxConfig): Promise<Image> {
    const credentials = await deps.credentials(pod, image);
    await deps.access.intend(image);
    let there: Image | undefined;
    try {
      const { ref, index } = await pullShared(credentials, image, sandboxConfig);
      there = await deps.images.imageStatus({ image: ref });
      if (!there) throw new Error(`image ${ref} is not there after it was pulled`);
      await deps.access.pulled(image, there.id ?? ref, credentials[index]);
      return there;
    } finally {
      if (!there) await deps.access.failed(image);
    }
  }

  async function pullOrBackOff(
    pod: Pod,
    container: AnyContainer,
    sandboxConfig: PodSandboxConfig,
  ): Promise<Image> {
    const image = container.image ?? '';
    const key = `${pod.metadata.uid}_${image}`;
    const say = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
      deps.event(pod, { type, reason, message, container: container.name });
    const last = failures.get(key);
    const remaining = last ? backoff.remainingMs(key, last.atMs, deps.clock.now()) : 0;
    if (last && remaining > 0) {
      const message = `Back-off pulling image "${image}"`;
      say('Normal', 'BackOff', message);
      say('Warning', 'Failed', 'Error: ImagePullBackOff');
      throw new StartError('ImagePullBackOff', `${message}: ErrImagePull: ${last.message}`, remaining);
    }
    say('Normal', 'Pulling', `Pulling image "${image}"`);
    const began = deps.clock.monotonic();
    try {
      const there = await pull(pod, image, sandboxConfig);
      failures.delete(key);
      backoff.reset(key);
      const took = formatGoDuration(Math.round(deps.clock.monotonic() - began));
      say(
        'Normal',
        'Pulled',
        `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${there.size ?? 0} bytes.`,
      );
      return there;
    } catch (error) {
      const now = deps.clock.now();
      const message = failureText(error);
      say('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
      say('Warning', 'Failed', 'Error: ErrImagePull');
      backoff.next(key, last?.atMs ?? now, now);
      failures.set(key, { atMs: now, message });
      // The next look, a moment later, shows the back-off, as upstream's next sync does.
      throw new StartError('ErrImagePull', message, Math.min(backoff.delayMs(key), 5000));
    }
  }

  return {
    ensure: async (pod, container, sandboxConfig) => {
      const image = container.image ?? '';
      const say = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
        deps.event(pod, { type, reason, message, container: container.name });
      const reference = parseImageReference(image);
      if (!reference && !/^(sha256:)?[0-9a-f]{64}$/.test(image)) {
        const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`;
        say('Warning', 'InspectFailed', message);
        say('Warning', 'Failed', 'Error: InvalidImageName');
        throw new StartError('InvalidImageName', message, 60_000);
      }
      const policy = pullPolicyOf(container, reference?.tag ?? '');
      if (policy === 'Always') return pullOrBackOff(pod, container, sandboxConfig);
      let there: Image | undefined;
      try {
        there = await deps.images.imageStatus({ image });
      } catch (error) {
        const message = `Failed to inspect image "${image}": ${failureText(error)}`;
        say('Warning', 'InspectFailed', message);
        throw new StartError('ImageInspectError', message, 10_000);
      }
      const credentials = (): Promise<readonly PullCredential[]> => deps.credentials(pod, image);
      if (there && !(await deps.access.mustPull(image, there.id ?? '', credentials))) {
        say(
          'Normal',
          'Pulled',
          `Container image "${image}" already present on machine and can be accessed by the pod`,
        );
        return there;
      }
      if (policy !== 'Never') return pullOrBackOff(pod, container, sandboxConfig);
      // As upstream also of one that is there, but not for this pod.
      const message = `Container image "${image}" is not present with pull policy of Never`;
      say('Warning', 'ErrImageNeverPull', message);
      say('Warning', 'Failed', 'Error: ErrImageNeverPull');
      throw new StartError('ErrImageNeverPull', message, 60_000);
    },
  };
}
