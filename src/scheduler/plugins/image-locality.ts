// ImageLocality: prefers nodes that already have the pod's images.
import { taggedImageName } from '../../component-helpers/pod-system.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { skip } from '../framework/status.ts';

const mebibyte = 1024 * 1024;
/** Less than this many bytes of images on the node score 0; the most scores 100 (upstream: 23 MiB and 1000 MiB a container). */
const minThreshold = 23 * mebibyte;
const maxContainerThreshold = 1000 * mebibyte;

interface Spread {
  readonly images: readonly string[];
  /** Share of nodes that have the image: one popular on few nodes should not pull everything there. */
  readonly share: ReadonlyMap<string, number>;
}
const key = stateKey<Spread>('ImageLocality');

export const imageLocality: Plugin = {
  name: 'ImageLocality',
  preScore: (state, pod, nodes) => {
    const images = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((c) =>
      taggedImageName(c.image ?? ''),
    );
    const share = new Map(
      images.map(
        (image) => [image, nodes.filter((node) => node.images.has(image)).length / nodes.length] as const,
      ),
    );
    if ([...share.values()].every((part) => part === 0)) return skip;
    state.write(key, { images, share });
    return undefined;
  },
  score: (state, pod, node) => {
    const spread = state.read(key);
    if (!spread) return 0;
    const sum = spread.images.reduce(
      (bytes, image) => bytes + Math.trunc((node.images.get(image) ?? 0) * (spread.share.get(image) ?? 0)),
      0,
    );
    const maxThreshold =
      maxContainerThreshold * ((pod.spec.initContainers ?? []).length + pod.spec.containers.length);
    const clamped = Math.min(maxThreshold, Math.max(minThreshold, sum));
    return Math.trunc((maxNodeScore * (clamped - minThreshold)) / (maxThreshold - minThreshold));
  },
};
