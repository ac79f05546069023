// What DNS keeps, as the text of its file: pure, in steps. A user's Services are hundreds of megabytes if the store holds them: a
// namespace has its share of the file, and the agent answers while it is made.
import type { Namespace, Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import type { Steps } from '../../base/turns.ts';
import { sha256Running } from '../../component-base/content-hash.ts';

export interface Records {
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly namespaces: readonly Namespace[];
}

/** Only what DNS asks for. */
const ofService = ({ metadata: { name, namespace }, spec }: Service): Service => ({
  metadata: { name, namespace },
  spec: {
    type: spec.type,
    clusterIP: spec.clusterIP,
    clusterIPs: spec.clusterIPs,
    externalName: spec.externalName,
    ports: spec.ports?.map(({ name: portName, port, protocol }) => ({ name: portName, port, protocol })),
  } as Service['spec'],
});
const serviceLabel = 'kubernetes.io/service-name';
const ofSlice = ({ metadata, addressType, ports, endpoints }: EndpointSlice): EndpointSlice =>
  ({
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      labels: { [serviceLabel]: metadata.labels?.[serviceLabel] },
    },
    addressType,
    ports: ports?.map(({ name, port, protocol }) => ({ name, port, protocol })),
    endpoints: endpoints?.map(({ addresses, hostname, conditions }) => ({
      addresses,
      hostname,
      conditions: { ready: conditions?.ready },
    })),
  }) as EndpointSlice;
const ofNamespace = ({ metadata: { name } }: Namespace): Namespace => ({ metadata: { name }, spec: {} });

/** Some 20,000 Services and their slices. What a namespace has beyond it is not known while the server is away. */
const mostOfNamespace = 4 << 20;
const stepSize = 64 << 10;

class Shares {
  readonly #used = new Map<string, number>();
  readonly #full = new Set<string>();
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** Nothing more of it is looked at. */
  isFull(namespace: string): boolean {
    return this.#full.has(namespace) || this.#left <= 0;
  }

  take(namespace: string, length: number): boolean {
    const used = (this.#used.get(namespace) ?? 0) + length;
    if (used > mostOfNamespace || length > this.#left) this.#full.add(namespace);
    if (this.isFull(namespace)) return false;
    this.#used.set(namespace, used);
    this.#left -= length;
    return true;
  }
}

/** A line with the sum of what follows it. At most `most` bytes, some hundred beside. */
export function* recordsText(records: Records, most: number): Steps<string> {
  const digest = sha256Running();
  const pieces: string[] = [];
  const shares = new Shares(most - 1000);
  let piece = '';
  const end = (): void => {
    digest.update(Buffer.from(piece));
    pieces.push(piece);
    piece = '';
  };
  const lists = [
    ['namespaces', records.namespaces, ofNamespace],
    ['services', records.services, ofService],
    ['slices', records.slices, ofSlice],
  ] as const;
  for (const [i, [field, objects, of]] of lists.entries()) {
    piece += `${i === 0 ? '{' : ','}"${field}":[`;
    let comma = '';
    for (const object of objects) {
      const { name = '', namespace = name } = object.metadata;
      if (shares.isFull(namespace)) continue;
      const text = JSON.stringify((of as (one: typeof object) => unknown)(object));
      if (!shares.take(namespace, Buffer.byteLength(text) + 1)) continue;
      piece += comma + text;
      comma = ',';
      if (piece.length < stepSize) continue;
      end();
      yield;
    }
    piece += ']';
  }
  piece += '}';
  end();
  return `porthole-dns 1 ${digest.hex()}\n${pieces.join('')}`;
}
