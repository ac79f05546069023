// What the kubelet knows of the images it pulled, in upstream's files and format (kubelet.config.k8s.io, KEP 2535).
import { isObject } from '../../apimachinery/json-access.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { Files } from '../../os/files.ts';

/** A secret that opened a registry, and a hash of what it said then. */
export interface PullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}

/** Who may use an image under one name: all pods of the node, or those that have one of these secrets. */
export interface PullCredentials {
  readonly nodePodsAccessible?: boolean;
  readonly kubernetesSecrets?: readonly PullSecret[];
}

export interface PulledRecord {
  readonly imageRef: string;
  readonly lastUpdatedTime: string;
  /** By the image's name without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, PullCredentials>>;
}

/** Intents are written before a pull: an image that is there with one was pulled, even if the agent ended before it said so. */
export interface PullRecords {
  intents(): Promise<readonly string[]>;
  hasIntent(image: string): Promise<boolean>;
  writeIntent(image: string): Promise<void>;
  removeIntent(image: string): Promise<void>;
  /** Throws when there is one that can't be read. */
  pulled(imageRef: string): Promise<PulledRecord | undefined>;
  /** References of all that can be read. */
  pulledRefs(): Promise<readonly string[]>;
  writePulled(record: PulledRecord): Promise<void>;
  removePulled(imageRef: string): Promise<void>;
}

const apiVersion = 'kubelet.config.k8s.io/v1beta1';
const nameOf = (key: string): string => `sha256-${sha256Hex(key)}`;
const isRecordName = (name: string): boolean => /^sha256-[0-9a-f]{64}$/.test(name);

/** Throws SyntaxError: a record that says less than it should must not open an image. */
function parsed(text: Buffer, kind: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text.toString('utf8'));
  if (!isObject(value) || value['kind'] !== kind) throw new SyntaxError(`it is no ${kind}`);
  return value;
}

function pulledRecordOf(text: Buffer): PulledRecord {
  const { imageRef, lastUpdatedTime, credentialMapping = {} } = parsed(text, 'ImagePulledRecord');
  const isRecord =
    typeof imageRef === 'string' &&
    typeof lastUpdatedTime === 'string' &&
    isObject(credentialMapping) &&
    Object.values(credentialMapping).every(isObject);
  if (!isRecord) throw new SyntaxError('it is no ImagePulledRecord');
  return {
    imageRef,
    lastUpdatedTime,
    credentialMapping: credentialMapping as PulledRecord['credentialMapping'],
  };
}

/** Below `image_manager` of the kubelet's folder, as upstream. */
export function createPullRecords(files: Files, kubeletRoot: string): PullRecords {
  const pulling = `${kubeletRoot}/image_manager/pulling`;
  const pulled = `${kubeletRoot}/image_manager/pulled`;

  async function write(folder: string, key: string, record: object): Promise<void> {
    const path = `${folder}/${nameOf(key)}`;
    await files.makeDirectory(folder, 0o700);
    await files.write(`${path}.tmp`, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    await files.rename(`${path}.tmp`, path);
  }

  async function read<T>(path: string, read: (text: Buffer) => T): Promise<T | undefined> {
    const text = await files.readIfThere(path);
    if (text === undefined) return undefined;
    try {
      return read(text);
    } catch (error) {
      throw new Error(`${path} can't be read: ${(error as Error).message}`, { cause: error });
    }
  }

  async function readAll<T>(folder: string, readOne: (text: Buffer) => T): Promise<T[]> {
    const found: T[] = [];
    for (const name of (await files.list(folder)).filter(isRecordName)) {
      const record = await read(`${folder}/${name}`, readOne).catch(() => undefined);
      if (record !== undefined) found.push(record);
    }
    return found;
  }

  const imageOf = (text: Buffer): string => String(parsed(text, 'ImagePullIntent')['image']);
  return {
    intents: () => readAll(pulling, imageOf),
    hasIntent: async (image) => (await read(`${pulling}/${nameOf(image)}`, imageOf)) === image,
    writeIntent: (image) => write(pulling, image, { kind: 'ImagePullIntent', apiVersion, image }),
    removeIntent: (image) => files.remove(`${pulling}/${nameOf(image)}`),
    pulled: (imageRef) => read(`${pulled}/${nameOf(imageRef)}`, pulledRecordOf),
    pulledRefs: async () => (await readAll(pulled, pulledRecordOf)).map(({ imageRef }) => imageRef),
    writePulled: ({ imageRef, lastUpdatedTime, credentialMapping }) =>
      write(pulled, imageRef, {
        kind: 'ImagePulledRecord',
        apiVersion,
        lastUpdatedTime,
        imageRef,
        credentialMapping,
      }),
    removePulled: (imageRef) => files.remove(`${pulled}/${nameOf(imageRef)}`),
  };
}

/** Of a node that touches no file. */
export function createMemoryPullRecords(): PullRecords {
  const intents = new Set<string>();
  const pulled = new Map<string, PulledRecord>();
  return {
    intents: async () => [...intents],
    hasIntent: async (image) => intents.has(image),
    writeIntent: async (image) => void intents.add(image),
    removeIntent: async (image) => void intents.delete(image),
    pulled: async (imageRef) => pulled.get(imageRef),
    pulledRefs: async () => [...pulled.keys()],
    writePulled: async (record) => void pulled.set(record.imageRef, record),
    removePulled: async (imageRef) => void pulled.delete(imageRef),
  };
}
