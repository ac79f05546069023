// Every namespace has the config map `kube-root-ca.crt`, by which pods know the API server.
import { configmaps, namespaces } from '../api/generated/resources.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import { isStatusError, StatusError } from '../apimachinery/errors.ts';
import { declareMetrics, exponentialBuckets } from '../component-base/metrics.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  watching,
} from '../controller-runtime/define-controller.ts';

const mapName = 'kube-root-ca.crt';
const descriptionAnnotation = 'kubernetes.io/description';
const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

const declared = declareMetrics((metrics) => ({
  syncs: metrics.counter(
    'root_ca_cert_publisher_sync_total',
    'Number of namespace syncs happened in root ca cert publisher.',
    ['code'],
  ),
  duration: metrics.histogram(
    'root_ca_cert_publisher_sync_duration_seconds',
    'Number of namespace syncs happened in root ca cert publisher.',
    ['code'],
    exponentialBuckets(0.001, 2, 15),
  ),
}));

/** As upstream: 200, or what the server refused with; 500 for any other failure. */
const codeOf = (error: unknown): string => String(error instanceof StatusError ? error.status.code : 500);

async function counted(context: ControllerContext, sync: () => Promise<void>): Promise<undefined> {
  const { syncs, duration } = declared(context.metrics);
  const began = context.clock.monotonic();
  let code = '200';
  try {
    await sync();
  } catch (error) {
    code = codeOf(error);
    throw error;
  } finally {
    syncs.inc({ code });
    duration.observe({ code }, (context.clock.monotonic() - began) / 1000);
  }
}

export interface ChangingText {
  now(): string;
  /** The answer ends it. Absent: it never changes. */
  readonly onChange?: (listener: () => void) => () => void;
}

async function publish(context: ControllerContext, name: string, rootCa: string): Promise<void> {
  const namespace = context.read(namespaces).get(name);
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
  const data = { 'ca.crt': rootCa };
  const current = context.read(configmaps).get(mapName, name);
  if (current === undefined) {
    const annotations = { [descriptionAnnotation]: description };
    await context.write
      .create(configmaps, { metadata: { name: mapName, namespace: name, annotations }, data })
      .catch((error: unknown) => {
        if (!isStatusError(error, 'AlreadyExists') && !isStatusError(error, 'Forbidden')) throw error;
      });
    return;
  }
  const isPublished = current.metadata.annotations?.[descriptionAnnotation] === description;
  if (isPublished && semanticEqual(current.data, data)) return;
  const annotations = { ...current.metadata.annotations, [descriptionAnnotation]: description };
  await context.write.update(configmaps, {
    ...current,
    metadata: { ...current.metadata, annotations },
    data,
  });
}

/** `rootCa` is the PEM of the certificates that vouch for the server. */
export const rootCaCertificatePublisherController = (rootCa: ChangingText): Controller =>
  defineController({
    name: 'root-ca-certificate-publisher-controller',
    queue: 'root_ca_cert_publisher',
    serviceAccount: 'root-ca-cert-publisher',
    for: namespaces,
    access: [may(['create', 'update'], configmaps)],
    watches: [
      watching(configmaps, ({ metadata }) => (metadata.name === mapName ? [metadata.namespace ?? ''] : [])),
    ],
    start: ({ read, enqueue }) =>
      rootCa.onChange?.(() => {
        for (const { metadata } of read(namespaces).list()) enqueue(metadata.name);
      }),
    reconcile: ({ name }, context) => counted(context, () => publish(context, name, rootCa.now())),
  });
