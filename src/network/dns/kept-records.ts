// What a node's DNS last knew, in a file: names resolve after the agent's restart, also while the server is away.
import { endpointslices, namespaces, services } from '../../api/generated/resources.ts';
import { isObject } from '../../apimachinery/json-access.ts';
import type { Clock } from '../../base/clock.ts';
import { inSlices, Slice, Turns } from '../../base/turns.ts';
import type { Informer, InformerFactory } from '../../client/cache/informer.ts';
import { ObjectStore, objectKey } from '../../client/cache/object-store.ts';
import { sha256Running } from '../../component-base/content-hash.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Files } from '../../os/files.ts';
import type { ClusterView } from './dns-records.ts';
import { clusterView } from './dns-view.ts';
import { type Records, recordsText } from './records-text.ts';

export interface KeptRecordsOptions {
  readonly file: string;
  readonly files: Pick<Files, 'readIfThere' | 'write' | 'rename'>;
  /** Before its `start`. */
  readonly informers: Pick<InformerFactory, 'informer'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface KeptRecords {
  /** What the file says. Undefined: there is none, or it is damaged. */
  read(): Promise<ClusterView | undefined>;
  /** Writes what is new. */
  stop(): Promise<void>;
}

const maxBytes = 64 << 20;
/** Changes come in crowds. */
const settleMs = 1_000;
const everyMs = 10_000;

type Is = (value: unknown) => boolean;
const isText: Is = (value) => typeof value === 'string';
const orNone =
  (is: Is): Is =>
  (value) =>
    value === undefined || value === null || is(value);
const listOf =
  (is: Is): Is =>
  (value) =>
    Array.isArray(value) && value.every(is);
const shape =
  (fields: Readonly<Record<string, Is>>): Is =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, is]) => is(value[name]));

const metadata = { name: isText, namespace: orNone(isText), labels: orNone((value) => isObject(value)) };
const ports = orNone(
  listOf(shape({ name: orNone(isText), protocol: orNone(isText), port: orNone(Number.isInteger) })),
);
const isRecords = shape({
  services: listOf(
    shape({
      metadata: shape(metadata),
      spec: shape({
        type: orNone(isText),
        clusterIP: orNone(isText),
        clusterIPs: orNone(listOf(isText)),
        externalName: orNone(isText),
        ports,
      }),
    }),
  ),
  slices: listOf(
    shape({
      metadata: shape(metadata),
      ports,
      endpoints: orNone(
        listOf(
          shape({
            addresses: listOf(isText),
            hostname: orNone(isText),
            conditions: shape({ ready: orNone((value) => typeof value === 'boolean') }),
          }),
        ),
      ),
    }),
  ),
  namespaces: listOf(shape({ metadata: shape(metadata) })),
});

function digestOf(bytes: Uint8Array): string {
  const digest = sha256Running();
  digest.update(bytes);
  return digest.hex();
}

const firstLine = (text: string): string => text.slice(0, text.indexOf('\n'));

/** Throws Error that says what is wrong. */
function parsed(bytes: Buffer): Records {
  const end = bytes.indexOf('\n');
  const [, sum] = /^porthole-dns 1 ([\da-f]{64})$/.exec(bytes.toString('latin1', 0, Math.max(end, 0))) ?? [];
  if (sum === undefined) throw new Error('it does not begin as such a file does');
  const text = bytes.subarray(end + 1);
  if (digestOf(text) !== sum) throw new Error('its checksum is another one');
  const value: unknown = JSON.parse(text.toString());
  if (!isRecords(value)) throw new Error('it does not hold records');
  return value as Records;
}

function storeOf<T>(objects: readonly T[]): ObjectStore<T> {
  const store = new ObjectStore<T>();
  for (const object of objects) store.set(objectKey(object), object);
  return store;
}

export function keepRecords(options: KeptRecordsOptions): KeptRecords {
  const { file, files, clock, log } = options;
  const of = <T>(informer: Informer<T>): Informer<T> => {
    informer.addHandler({ added: changed, updated: changed, deleted: changed });
    return informer;
  };
  let cancel: (() => void) | undefined;
  const turns = new Turns((run) => clock.timer(0, run));
  let lastMs = Number.NEGATIVE_INFINITY;
  /** With the sum of what is in the file. */
  let last = '';
  let writing: Promise<void> = Promise.resolve();
  const lists = {
    services: of(options.informers.informer(services)),
    slices: of(options.informers.informer(endpointslices)),
    namespaces: of(options.informers.informer(namespaces)),
  };

  async function write(): Promise<void> {
    cancel = undefined;
    if (!Object.values(lists).every((list) => list.hasSynced())) return changed();
    lastMs = clock.monotonic();
    const records: Records = {
      services: lists.services.lister.list(),
      slices: lists.slices.lister.list(),
      namespaces: lists.namespaces.lister.list(),
    };
    try {
      const text = await inSlices(recordsText(records, maxBytes), new Slice(turns, () => clock.monotonic()));
      if (firstLine(text) === last) return;
      await files.write(`${file}.new`, text, { mode: 0o600 });
      await files.rename(`${file}.new`, file);
      last = firstLine(text);
    } catch (error) {
      log.warn({ error, file }, 'what DNS knows is not kept over a restart of this agent');
    }
  }

  function changed(): void {
    cancel ??= clock.timer(Math.max(settleMs, lastMs + everyMs - clock.monotonic()), () => {
      writing = writing.then(write);
    });
  }

  return {
    read: async () => {
      try {
        const bytes = await files.readIfThere(file, { maxBytes });
        if (bytes === undefined) return undefined;
        const records = parsed(bytes);
        last = firstLine(bytes.toString('latin1', 0, 200));
        return clusterView({
          services: storeOf(records.services),
          slices: storeOf(records.slices),
          namespaces: storeOf(records.namespaces),
        });
      } catch (error) {
        log.warn({ error, file }, 'what DNS knew before can not be read; it starts without');
        return undefined;
      }
    },
    stop: async () => {
      const due = cancel !== undefined;
      cancel?.();
      await writing;
      if (due) await write();
      cancel?.();
    },
  };
}
