// What to write where when a registry is refused for want of a certificate: containerd says what is wrong, not what helps.
import { parseImageReference, repositoryOf } from '../../component-helpers/image-reference.ts';
import type { Files } from '../../os/files.ts';
import type { ImageService } from '../../rpc-api/cri.ts';
import { GrpcError } from '../../wire/grpc-client.ts';

const advice: readonly (readonly [said: RegExp, next: (registry: string, folder: string) => string])[] = [
  [
    /x509: certificate signed by unknown authority/,
    (_, folder) => `put the certificate of its authority into ${folder}/ca.crt`,
  ],
  [
    /server gave HTTP response to HTTPS client/,
    (registry, folder) =>
      // containerd 1.6 does not take the scheme of `server`
      `give it a certificate, or let it be asked without one: [host."http://${registry}"] in ${folder}/hosts.toml`,
  ],
  [
    /tls: (bad certificate|certificate required)/,
    (_, folder) =>
      `put a certificate that it takes into ${folder}/client.cert, and its key into ${folder}/client.key`,
  ],
  [
    // What the fabric's rules answer for an address of the machine.
    /: connect: no route to host/,
    () =>
      'a registry on this machine is reached from clusters that were made with porthole up --allow-machine-access',
  ],
];

/** Of what a registry is reached by, not of whether it is. */
const isOfCertificates = (message: string): boolean => !message.includes(': connect: ');

/** containerd reads one folder for a registry: of a cluster whose mirrors have one, the user's is not looked into. */
const mirrorAdvice = (registry: string, folder: string): string =>
  `what porthole up --registry-mirror names is asked without certificates: forget it by --registry-mirror ${registry}=, and name the mirror, with its ca or client, in ${folder}/hosts.toml`;

export interface AskedRegistry {
  /** Of folders named after registries. */
  readonly dir: string;
  readonly isMirrored: boolean;
}

/** Undefined when registries' settings are not what is wrong. */
export function registryAdvice(
  message: string,
  image: string,
  { dir, isMirrored }: AskedRegistry,
): string | undefined {
  const registry = parseImageReference(image)?.registry;
  const found = advice.find(([said]) => said.test(message))?.[1];
  if (registry === undefined || found === undefined) return undefined;
  const folder = `${dir}/${registry}`;
  return isMirrored && isOfCertificates(message) ? mirrorAdvice(registry, folder) : found(registry, folder);
}

/** Images of our own making come from no registry. */
const ownRegistry = 'porthole.local';

/** Undefined for an image that is another's. `there`: names of the node's images. Pure. */
export function ownImageAdvice(image: string, there: readonly string[]): string | undefined {
  if (parseImageReference(image)?.registry !== ownRegistry) return undefined;
  // Something else is wrong.
  if (there.includes(image)) return undefined;
  const others = there.filter((name) => repositoryOf(name) === repositoryOf(image) && !name.includes('@'));
  const step =
    others.length === 0 ? 'porthole image build-samples' : `name what is there: ${others.join(', ')}`;
  return `image ${image} is not on this node; next: ${step}`;
}

/** Without a list nobody can tell what is there. */
async function adviceOfOwn(images: ImageService, image: string): Promise<string | undefined> {
  const there = await images.listImages().catch(() => undefined);
  return (
    there &&
    ownImageAdvice(
      image,
      there.flatMap(({ repoTags }) => repoTags ?? []),
    )
  );
}

/** Of those in containerd's config_path the last one is the user's. */
export const registryFolderOf = (dirs: string): string => dirs.split(':').at(-1) ?? '';

/** One before the user's knows the registry. */
async function isMirrored(files: Pick<Files, 'stat'>, dirs: string, image: string): Promise<boolean> {
  const registry = parseImageReference(image)?.registry;
  const before = dirs.split(':').slice(0, -1);
  const found = await Promise.all(before.map((dir) => files.stat(`${dir}/${registry}`)));
  return found.some((one) => one !== undefined);
}

/**
 * What containerd says of a pull comes with the next step, in events and in the container's status. `dirs`: as containerd's
 * config_path.
 */
export const withRegistryAdvice = (
  images: ImageService,
  files: Pick<Files, 'stat'>,
  dirs: string,
): ImageService => ({
  ...images,
  pullImage: async (spec, auth, sandboxConfig, signal) => {
    try {
      return await images.pullImage(spec, auth, sandboxConfig, signal);
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
      const { image = '' } = spec;
      const own = await adviceOfOwn(images, image);
      if (own !== undefined) throw new GrpcError(error.method, error.code, `${own} (${error.message})`);
      const asked = { dir: registryFolderOf(dirs), isMirrored: await isMirrored(files, dirs, image) };
      const next = registryAdvice(error.message, image, asked);
      if (next === undefined) throw error;
      throw new GrpcError(error.method, error.code, `${error.message}; next step: ${next}`);
    }
  },
});
