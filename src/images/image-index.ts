// Reads OCI and Docker indexes and manifests, and chooses the manifest that a node can run. Pure.
import {
  fittingWindowsEntries,
  type ImagePlatform,
  matchWindowsImage,
  windowsBuildLabel,
} from '../component-helpers/windows-image-match.ts';

export class ImageError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ImageError';
  }
}

export interface ManifestEntry {
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
  readonly platform: ImagePlatform;
  /** What docker buildx says of how an image was built: in an index like an image, but nothing that can run. */
  readonly isAttestation: boolean;
}

type Json = { readonly [name: string]: unknown };

export const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A descriptor with a SHA-256 digest, or an error that says what is wrong. */
export function descriptorOf(
  value: unknown,
  what: string,
): Pick<ManifestEntry, 'digest' | 'size' | 'mediaType'> {
  const descriptor = isRecord(value) ? value : {};
  const digest = textOf(descriptor['digest']);
  const size = descriptor['size'];
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) {
    throw new ImageError(`${what}: invalid digest ${JSON.stringify(digest.slice(0, 100))}`);
  }
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw new ImageError(`${what}: invalid size`);
  }
  return { digest, size, mediaType: textOf(descriptor['mediaType']) };
}

export function platformOf(value: unknown): ImagePlatform {
  const platform = isRecord(value) ? value : {};
  const osVersion = textOf(platform['os.version']);
  const variant = textOf(platform['variant']);
  return {
    os: textOf(platform['os']),
    architecture: textOf(platform['architecture']),
    ...(osVersion === '' ? {} : { osVersion }),
    ...(variant === '' ? {} : { variant }),
  };
}

/** By its platform alone, which is what keeps containerd from taking it: annotations can be on an image that runs. */
const isAttestation = ({ os, architecture }: ImagePlatform): boolean =>
  os === 'unknown' && architecture === 'unknown';

/** The entries of an index (`manifests`); nothing for another document. */
export function indexEntries(document: unknown): readonly ManifestEntry[] | undefined {
  const manifests = isRecord(document) ? document['manifests'] : undefined;
  if (!Array.isArray(manifests)) return undefined;
  if (manifests.length > 1000) throw new ImageError('an index of over 1000 manifests');
  return manifests.map((entry: unknown) => {
    const platform = platformOf(isRecord(entry) ? entry['platform'] : undefined);
    return { ...descriptorOf(entry, 'index'), platform, isAttestation: isAttestation(platform) };
  });
}

export interface NodePlatform {
  readonly os: 'linux' | 'windows';
  readonly architecture: string;
  /** Windows only. */
  readonly build?: number;
}

const platformText = (platform: ImagePlatform): string =>
  [platform.os, platform.architecture].join('/') + (platform.osVersion ? ` ${platform.osVersion}` : '');

/** The manifest of an index that this node runs: for Windows the newest that fits its build. */
export function selectManifest(entries: readonly ManifestEntry[], node: NodePlatform): ManifestEntry {
  const fitting =
    node.os === 'windows'
      ? fittingWindowsEntries(entries, { build: node.build ?? 0, architecture: node.architecture })
      : entries.filter(
          ({ platform }) => platform.os === node.os && platform.architecture === node.architecture,
        );
  const [best] = fitting;
  if (best) return best;
  const wanted =
    node.os === 'windows'
      ? `windows/${node.architecture} ${windowsBuildLabel(node.build ?? 0)}`
      : `${node.os}/${node.architecture}`;
  const offered = entries.map(({ platform }) => platformText(platform)).join(', ');
  const hint = windowsHint(entries, node);
  throw new ImageError(
    `no matching manifest for ${wanted} in the manifest list entries: it offers ${offered || 'none'}${hint}`,
  );
}

function windowsHint(entries: readonly ManifestEntry[], node: NodePlatform): string {
  const [windows] = entries.filter(({ platform }) => platform.os === 'windows');
  if (node.os !== 'windows' || !windows) return '';
  const match = matchWindowsImage(node.build ?? 0, windows.platform.osVersion);
  return match.fits ? '' : `. ${match.reason}`;
}
