// Names of images. Pure.

const domain =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?$|^\[[0-9a-fA-F:]+\](?::[0-9]+)?$/;
const component = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const tag = /^\w[\w.-]{0,127}$/;
const id = /^[0-9a-f]{64}$/;
const digest = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const dockerHub = 'docker.io';
/** Its name of once; containerd keeps no image by it. */
const dockerHubOnce = 'index.docker.io';
const longestPath = 255;

export interface ImageReference {
  readonly registry: string;
  readonly path: string;
  readonly tag: string;
  readonly digest: string;
}

const isRegistry = (text: string): boolean =>
  text.includes('.') || text.includes(':') || text === 'localhost' || text !== text.toLowerCase();

/** Undefined when it can't name an image; docker.io, its `library/` and `latest` are filled in, as containerd does. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (text.length > 1024 || id.test(text)) return undefined;
  const [nameAndTag = '', digestPart] = text.split('@', 2) as [string, string?];
  if (text.split('@').length > 2 || (digestPart !== undefined && !digest.test(digestPart))) return undefined;
  const slash = nameAndTag.lastIndexOf('/');
  const colon = nameAndTag.indexOf(':', slash + 1);
  const name = colon < 0 ? nameAndTag : nameAndTag.slice(0, colon);
  const tagPart = colon < 0 ? undefined : nameAndTag.slice(colon + 1);
  if (tagPart !== undefined && !tag.test(tagPart)) return undefined;
  const parts = name.split('/');
  const host = parts.length > 1 && isRegistry(parts[0]!) ? parts.shift()! : dockerHub;
  if (!domain.test(host) || parts.some((part) => !component.test(part))) return undefined;
  const registry = host === dockerHubOnce ? dockerHub : host;
  const path = registry === dockerHub && parts.length === 1 ? `library/${parts[0]}` : parts.join('/');
  if (path.length > longestPath) return undefined;
  return {
    registry,
    path,
    tag: tagPart ?? (digestPart === undefined ? 'latest' : ''),
    digest: digestPart ?? '',
  };
}

/** The name without tag and digest, as credentials and records are kept by; what names no image is its own. */
export function repositoryOf(image: string): string {
  const reference = parseImageReference(image);
  return reference ? `${reference.registry}/${reference.path}` : image;
}

/** As a runtime keeps it: with its registry, by its digest, and `latest` where it says neither that nor a tag. */
export function fullNameOf(image: string): string {
  const reference = parseImageReference(image);
  if (!reference) return image;
  const { tag, digest } = reference;
  return `${repositoryOf(image)}${digest === '' ? `:${tag}` : `@${digest}`}`;
}
